// The status of a CustomResourceDefinition: whether its names are accepted, and whether it is established. Computed by
// the server when it stores the definition; in Kubernetes a controller does so a moment later.

import type { CustomResourceDefinition } from '../../api/kinds.ts';
import { type Loose, mapOf, mapsOf, stringsOf } from '../kinds/loose.ts';

type Status = NonNullable<CustomResourceDefinition['status']>;
type Condition = NonNullable<Status['conditions']>[number];

/** Names taken in a group, by other definitions and by built-in kinds. */
export interface TakenNames {
  /** Plural, singular and short names. */
  readonly resources: ReadonlySet<string>;
  /** Kinds and list kinds. */
  readonly kinds: ReadonlySet<string>;
}

export function namesTakenBy(
  definitions: Iterable<CustomResourceDefinition>,
  except: CustomResourceDefinition,
): TakenNames {
  const resources = new Set<string>();
  const kinds = new Set<string>();
  for (const { metadata, spec, status } of definitions) {
    if (spec.group !== except.spec.group || metadata.name === except.metadata.name) continue;
    const { plural, singular, shortNames = [], kind, listKind } = status?.acceptedNames ?? spec.names;
    for (const name of [plural, singular, ...shortNames]) if (name) resources.add(name);
    for (const name of [kind, listKind]) if (name) kinds.add(name);
  }
  return { resources, kinds };
}

/** `now` as an RFC 3339 timestamp. Conditions that do not change keep their time. */
export function definitionStatus(crd: CustomResourceDefinition, taken: TakenNames, now: string): Status {
  const { names } = crd.spec;
  const before = crd.status;
  const conflict = firstConflict(names, taken);
  const established =
    before?.conditions?.some((each) => each.type === 'Established' && each.status === 'True') ?? false;
  const accepted: Condition = conflict
    ? { type: 'NamesAccepted', status: 'False', reason: conflict.reason, message: conflict.message }
    : { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' };
  const served: Condition =
    conflict && !established
      ? { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' }
      : {
          type: 'Established',
          status: 'True',
          reason: 'InitialNamesAccepted',
          message: 'the initial names have been accepted',
        };
  return {
    storedVersions: [],
    ...before,
    conditions: [accepted, served].map((condition) => withTime(condition, before?.conditions, now)),
    acceptedNames: conflict ? (before?.acceptedNames ?? { plural: '', kind: '' }) : names,
  };
}

/** Whoever writes the definition, the server records in its status that objects may be stored in the storage version. */
export function recordStoredVersion(crd: Loose): void {
  const stored = mapsOf(mapOf(crd.spec)?.versions).find((version) => version.storage === true)?.name;
  const known = stringsOf(crd.status?.storedVersions);
  if (typeof stored !== 'string' || known.includes(stored)) return;
  crd.status = { ...crd.status, storedVersions: [...known, stored] };
}

/** The definitions that are served: those whose names were accepted. */
export function isEstablished(crd: CustomResourceDefinition): boolean {
  return (
    crd.status?.conditions?.some((each) => each.type === 'Established' && each.status === 'True') ?? false
  );
}

function firstConflict(
  names: CustomResourceDefinition['spec']['names'],
  taken: TakenNames,
): { reason: string; message: string } | undefined {
  const inUse = (name: string): string => `"${name}" is already in use`;
  if (taken.resources.has(names.plural)) return { reason: 'PluralConflict', message: inUse(names.plural) };
  if (names.singular && taken.resources.has(names.singular)) {
    return { reason: 'SingularConflict', message: inUse(names.singular) };
  }
  const short = names.shortNames?.find((name) => taken.resources.has(name));
  if (short) return { reason: 'ShortNamesConflict', message: inUse(short) };
  if (taken.kinds.has(names.kind)) return { reason: 'KindConflict', message: inUse(names.kind) };
  if (names.listKind && taken.kinds.has(names.listKind)) {
    return { reason: 'ListKindConflict', message: inUse(names.listKind) };
  }
  return undefined;
}

function withTime(condition: Condition, before: readonly Condition[] | undefined, now: string): Condition {
  const same = before?.find((each) => each.type === condition.type && each.status === condition.status);
  return { ...condition, lastTransitionTime: same?.lastTransitionTime ?? now };
}
