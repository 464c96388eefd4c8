// The selection of a list, a watch or a deletecollection: namespace, name, label and field selectors, compiled into one
// predicate. An unsupported field is rejected, as in Kubernetes.

import type { KubeObject } from '../../../api/object.ts';
import {
  type FieldRequirement,
  matchesFields,
  matchesLabels,
  type ParsedSelector,
  parseFieldSelector,
  parseLabelSelector,
  SelectorError,
} from '../../../api/selectors.ts';
import type { Kind } from '../../kind.ts';
import type { Version } from '../../storage/version.ts';
import { present } from '../presentation.ts';
import { badRequest } from '../status.ts';

export interface SelectionInput {
  kind: Kind;
  namespace: string | undefined;
  name?: string;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
}

export interface CompiledSelection {
  /** The common prefix of the keys of all selected objects. */
  readonly prefix: string;
  /** Set when only this one key can match. */
  readonly onlyKey: string | undefined;
  /** Whether all objects of the kind are selected. */
  readonly everything: boolean;
  /** Whether anything besides the prefix restricts the selection. */
  readonly selective: boolean;
  matches(version: Version): boolean;
}

export function compileSelection(input: SelectionInput): CompiledSelection {
  const { kind, namespace } = input;
  const labels = parse(input.labelSelector, parseLabelSelector, 'unable to parse requirement: ');
  const fields = parse(input.fieldSelector, parseFieldSelector, '') ?? [];
  for (const { field } of fields) {
    if (field !== 'metadata.name' && field !== 'metadata.namespace' && !kind.selectable.includes(field)) {
      throw badRequest(`field label not supported: ${field}`);
    }
  }
  const name = input.name || fields.find(({ field, equals }) => field === 'metadata.name' && equals)?.value;
  const byNamespace = fields.find(({ field, equals }) => field === 'metadata.namespace' && equals)?.value;
  const inNamespace = namespace ?? (kind.namespaced ? byNamespace : undefined);
  const prefix = kind.namespaced && inNamespace !== undefined ? `${inNamespace}/` : '';
  const pinned = name !== undefined && (!kind.namespaced || prefix !== '');
  const checks = predicates(kind, labels, fields, name);
  return {
    prefix,
    onlyKey: pinned ? `${prefix}${name}` : undefined,
    everything: prefix === '' && checks.length === 0,
    selective: checks.length > 0,
    matches: (version) => version.key.startsWith(prefix) && checks.every((check) => check(version)),
  };
}

function predicates(
  kind: Kind,
  labels: ParsedSelector | undefined,
  fields: readonly FieldRequirement[],
  name: string | undefined,
): ((version: Version) => boolean)[] {
  const checks: ((version: Version) => boolean)[] = [];
  if (name !== undefined) {
    checks.push(({ key }) => key === name || (key.endsWith(name) && key.at(-name.length - 1) === '/'));
  }
  if (fields.length > 0) {
    checks.push((version) => {
      const { object } = present(version, kind);
      return matchesFields(fields, (field) => fieldOf(object, field, kind));
    });
  }
  if (labels !== undefined && (labels.requirements.length > 0 || labels.nothing)) {
    checks.push(({ object }) => matchesLabels(labels, object.metadata.labels));
  }
  return checks;
}

function fieldOf(object: KubeObject, field: string, kind: Kind): string {
  if (field === 'metadata.name') return object.metadata.name;
  if (field === 'metadata.namespace') return object.metadata.namespace ?? '';
  return kind.selectableField(object, field);
}

function parse<T>(text: string | undefined, parser: (text: string) => T, what: string): T | undefined {
  if (text === undefined || text === '') return undefined;
  try {
    return parser(text);
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    throw badRequest(error.message.startsWith(what) ? error.message : `${what}${error.message}`);
  }
}
