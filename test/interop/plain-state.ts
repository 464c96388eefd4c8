// Objects without what differs from run to run: UIDs (replaced by whose they are, wherever they stand), versions and
// times. What is left of two runs can be compared.

import type { KubeObject } from '../../src/api/object.ts';

/** `Kind namespace/name` to the object. */
export type PlainState = Record<string, unknown>;

const DROPPED = new Set(['uid', 'resourceVersion', 'creationTimestamp', 'managedFields', 'generation']);
const UID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const TIME = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/;

export function plainState(objects: readonly KubeObject[]): PlainState {
  const owners = new Map(objects.map((object) => [object.metadata.uid, nameOf(object)]));
  const withoutUids = (text: string): string => {
    let plain = text;
    for (const [uid, owner] of owners) plain = plain.replaceAll(uid, `<UID of ${owner}>`);
    return plain.replaceAll(UID, '<UID of something gone>');
  };
  const plain = (value: unknown, key = ''): unknown => {
    if (typeof value === 'string') return TIME.test(value) ? '<time>' : withoutUids(value);
    if (Array.isArray(value)) return value.map((item) => plain(item));
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value)
      .filter(([name, inner]) => !isDropped(name, inner, key))
      .map(([name, inner]) => [withoutUids(name), plain(inner, name)] as const)
      .filter(([, inner]) => !isNothing(inner))
      .sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(entries);
  };
  return Object.fromEntries(objects.map((object) => [withoutUids(nameOf(object)), plain(object)]));
}

function isDropped(name: string, value: unknown, parent: string): boolean {
  if (parent === 'metadata' && DROPPED.has(name)) return true;
  // Which version of its claim a volume was bound to, and of its set's state a status tells.
  return (name === 'resourceVersion' && typeof value === 'string') || name === 'observedGeneration';
}

/** A field that Go programs cannot tell from one that is not there: some write it, some leave it out. */
function isNothing(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return value === null || value === '' || value === 0 || value === false;
}

function nameOf({ kind, metadata: { namespace, name } }: KubeObject): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}
