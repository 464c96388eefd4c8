// Compares two messages field by field, as their meaning demands: lists that are sets are compared as sets, entries of a listing
// by the object that they are about. What differs between any two runs is left out: times, tokens, free space. Pure.

import type { DescMessage, Message } from '../../wire/protobuf/descriptor.ts';
import { type JsonObject, type JsonValue, toJson } from '../../wire/protobuf/json.ts';

export interface FieldDifference {
  /** `volume.capacityBytes`; `code` for the result as a whole. */
  readonly field: string;
  readonly recorded: JsonValue | undefined;
  readonly now: JsonValue | undefined;
}

const IGNORED: ReadonlySet<string> = new Set([
  'creationTime',
  'nextToken',
  'startingToken',
  'vendorVersion',
  'manifest',
  'availableCapacity',
  'available',
  'used',
  'secrets',
]);
/** Text of a volume's condition, whose `abnormal` is what counts. */
const IGNORED_PATHS = /volumeCondition\.message$/;
/** Facts about the pod and the claim that the caller adds. */
const ADDED_BY_CALLER =
  /^csi\.(storage\.k8s|kubernetes)\.io\/(pvc?\/|pv\/|pod\.|serviceAccount\.|volumesnapshot|ephemeral$)/;

export interface CompareOptions {
  /** Of a listing: whether this entry, by its identifier, is to be compared. Others are somebody else's. */
  knows(id: string): boolean;
  /** The answer is one page of a listing. */
  isPage?: boolean;
  /** Paths of the machine are not compared: they are another pod's. */
  ignorePaths?: boolean;
}

export function compareMessages(
  schema: DescMessage,
  messages: { recorded: Message; now: Message },
  options: CompareOptions,
): FieldDifference[] {
  const found: FieldDifference[] = [];
  compareObjects(toJson(schema, messages.recorded), toJson(schema, messages.now), '');
  return found;

  function compareObjects(recorded: JsonObject, now: JsonObject, outer: string): void {
    const isPaged = options.isPage || recorded.nextToken !== undefined || now.nextToken !== undefined;
    for (const name of new Set([...Object.keys(recorded), ...Object.keys(now)])) {
      if (IGNORED.has(name) || ADDED_BY_CALLER.test(name)) continue;
      if (options.ignorePaths && /^(targetPath|stagingTargetPath|volumePath)$/.test(name)) continue;
      const path = outer === '' ? name : `${outer}.${name}`;
      if (IGNORED_PATHS.test(path)) continue;
      if (name === 'entries') compareEntries(listOf(recorded[name]), listOf(now[name]), { path, isPaged });
      else compareValues(recorded[name], now[name], path);
    }
  }

  function compareValues(recorded: JsonValue | undefined, now: JsonValue | undefined, path: string): void {
    if (isObject(recorded) && isObject(now)) compareObjects(recorded, now, path);
    else if (isList(recorded) || isList(now)) compareSets(listOf(recorded), listOf(now), path);
    else if (recorded !== now) found.push({ field: path, recorded, now });
  }

  function compareSets(recorded: readonly JsonValue[], now: readonly JsonValue[], path: string): void {
    // One item each: what is in them is compared, which says more.
    if (recorded.length === 1 && now.length === 1) {
      compareValues(recorded[0], now[0], `${path}[0]`);
      return;
    }
    const without = (from: readonly JsonValue[], other: readonly JsonValue[]): JsonValue[] => {
      const known = new Set(other.map(canonical));
      return from.filter((item) => !known.has(canonical(item)));
    };
    for (const item of without(recorded, now)) found.push({ field: path, recorded: item, now: undefined });
    for (const item of without(now, recorded)) found.push({ field: path, recorded: undefined, now: item });
  }

  function compareEntries(
    recorded: readonly JsonValue[],
    now: readonly JsonValue[],
    { path, isPaged }: { path: string; isPaged: boolean },
  ): void {
    const entries = (list: readonly JsonValue[]): Map<string, JsonValue> =>
      new Map(list.map((entry) => [entryId(entry), entry] as const).filter(([id]) => options.knows(id)));
    const before = entries(recorded);
    const after = entries(now);
    for (const id of new Set([...before.keys(), ...after.keys()])) {
      const [one, other] = [before.get(id), after.get(id)];
      // Pages are cut where the driver wants.
      if (isPaged && (one === undefined || other === undefined)) continue;
      if (one === undefined || other === undefined)
        found.push({ field: `${path}[${id}]`, recorded: one, now: other });
      else compareValues(one, other, `${path}[${id}]`);
    }
  }
}

function entryId(entry: JsonValue): string {
  const { volume, snapshot } = entry as { volume?: JsonObject; snapshot?: JsonObject };
  return String(volume?.volumeId ?? snapshot?.snapshotId ?? '');
}

function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return isList(value) ? value : [];
}

/** Equal for equal values, whatever the order of fields and of times that are not compared. */
function canonical(value: JsonValue): string {
  return JSON.stringify(value, (key, each: unknown) => {
    if (IGNORED.has(key)) return undefined;
    if (typeof each !== 'object' || each === null || Array.isArray(each)) return each;
    return Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
