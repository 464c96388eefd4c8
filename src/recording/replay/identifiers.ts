// The values in CSI messages that differ from one run to the next although they stand for the same thing: identifiers that the
// driver hands out, names that the caller chose, and paths of a machine. Pure.

import { emptyMessage } from '../../wire/protobuf/create.ts';
import type { DescField, DescMessage, DescMethod, Message } from '../../wire/protobuf/descriptor.ts';
import { setFields } from '../../wire/protobuf/set-fields.ts';
import { TimestampSchema } from '../../wire/protobuf/well-known.ts';

/** What an identifier is of. A name is chosen by the caller, the others by the driver. */
export type IdKind = 'volume' | 'snapshot' | 'group' | 'node' | 'token' | 'name';

const KINDS: Readonly<Record<string, IdKind>> = {
  volume_id: 'volume',
  source_volume_id: 'volume',
  source_volume_ids: 'volume',
  snapshot_id: 'snapshot',
  snapshot_ids: 'snapshot',
  group_snapshot_id: 'group',
  node_id: 'node',
  published_node_ids: 'node',
  starting_token: 'token',
  next_token: 'token',
};

const PATHS: ReadonlySet<string> = new Set(['target_path', 'staging_target_path', 'volume_path']);
const NAMED =
  /^csi\.v1\.(CreateVolumeRequest|CreateSnapshotRequest|CreateVolumeGroupSnapshotRequest|GetCapacityRequest)$/;

export function kindOf(schema: DescMessage, field: DescField): IdKind | undefined {
  if (field.kind !== 'string') return undefined;
  if (field.name === 'name') return NAMED.test(schema.typeName) ? 'name' : undefined;
  return KINDS[field.name];
}

export function isPath({ name }: DescField): boolean {
  return PATHS.has(name);
}

export interface Place {
  readonly schema: DescMessage;
  readonly field: DescField;
}

/** A copy of the message in which each string, also in lists and maps, is what `change` returns. */
export function rewritten(
  schema: DescMessage,
  message: Message,
  change: (text: string, place: Place) => string,
): Message {
  if (schema === TimestampSchema) return message;
  const copy = emptyMessage(schema);
  for (const { field, value } of setFields(schema, message)) {
    const place = { schema, field };
    const item = (each: unknown): unknown => {
      if (field.kind === 'message' && field.message) return rewritten(field.message, each as Message, change);
      return typeof each === 'string' ? change(each, place) : each;
    };
    const changed =
      field.kind === 'map'
        ? Object.fromEntries(Object.entries(value as object).map(([key, each]) => [key, item(each)]))
        : field.isRepeated
          ? (value as unknown[]).map(item)
          : item(value);
    if (field.oneof === undefined) copy[field.localName] = changed;
    else copy[field.oneof] = { case: field.localName, value: changed };
  }
  return copy;
}

export interface Identifier {
  readonly kind: IdKind;
  readonly value: string;
}

/** All identifiers in a message, in the order of its fields. */
export function identifiersIn(schema: DescMessage, message: Message): Identifier[] {
  const found: Identifier[] = [];
  const visit = (inner: DescMessage, each: Message): void => {
    for (const { field, value } of setFields(inner, each)) {
      const items = field.isRepeated ? (value as unknown[]) : [value];
      if (field.kind === 'message' && field.message) {
        for (const item of items) visit(field.message, item as Message);
      } else {
        const kind = kindOf(inner, field);
        if (kind) for (const item of items) found.push({ kind, value: item as string });
      }
    }
  };
  visit(schema, message);
  return found;
}

/** Calls that change nothing: they may be asked more or less often than they were. */
export function isRead({ name }: Pick<DescMethod, 'name'>): boolean {
  return /^(Get|List|Probe|Validate|NodeGet|ControllerGet|GroupControllerGet)/.test(name);
}

/** The object that a call is about, for people: the name or the first identifier. */
export function subjectOf(method: DescMethod, request: Message | undefined): string {
  const all = request ? identifiersIn(method.input, request) : [];
  return (all.find(({ kind }) => kind === 'name') ?? all.find(({ kind }) => kind !== 'token'))?.value ?? '';
}

/**
 * Replaces the first of each pair by the second inside of texts, in one pass: what was put in is not looked at again. Of two that
 * begin at the same place the longer one counts.
 */
export function replacer(pairs: Iterable<readonly [string, string]>): (text: string) => string {
  const to = new Map(pairs);
  if (to.size === 0) return (text) => text;
  // Most messages have no text to look into.
  let any: RegExp | undefined;
  return (text) => {
    any ??= anyOf(to.keys());
    return text.replace(any, (found) => to.get(found) ?? found);
  };
}

function anyOf(keys: Iterable<string>): RegExp {
  const longestFirst = [...keys].sort((a, b) => b.length - a.length);
  return new RegExp(longestFirst.map((key) => key.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|'), 'g');
}
