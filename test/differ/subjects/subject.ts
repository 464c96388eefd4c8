// What the requests are about: a kind with a sample object, and values worth writing to its fields. A value is neither
// called good nor bad: the real server decides. For every field named here a few values that fit no type are added.

import type { Edit, Json, JsonObject } from '../exchange.ts';

export interface Subject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly subresources?: readonly string[];
  /** Everything but apiVersion, kind and the name. */
  readonly sample: JsonObject;
  /** Values by path. */
  readonly values: Readonly<Record<string, readonly Json[]>>;
  /** For a kind whose name follows from its content. */
  readonly make?: (name: string) => JsonObject;
  /** Each object costs a server much: changes of its fields are dry runs. */
  readonly heavy?: boolean;
}

export const NAMESPACE = 'differ';

export function collectionOf({ apiVersion, plural, namespaced }: Subject): string {
  const base = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return namespaced ? `${base}/namespaces/${NAMESPACE}/${plural}` : `${base}/${plural}`;
}

export const nameOf = (object: JsonObject): string => String((object.metadata as JsonObject).name);

/** The label selects the objects of one case. */
export function objectOf(subject: Subject, name: string): JsonObject {
  if (subject.make) return subject.make(name);
  const { apiVersion, kind, sample } = subject;
  const metadata = { name, labels: { case: name }, ...(sample.metadata as JsonObject | undefined) };
  return { apiVersion, kind, ...sample, metadata };
}

/** Of every kind. */
export const METADATA: Subject['values'] = {
  'metadata/labels/tier': ['a', 'UPPER', 'not valid!', 5],
  'metadata/labels/a~1b~1c': ['x'],
  'metadata/annotations/note': ['hello', 'two\nlines'],
  'metadata/annotations/not valid': ['x'],
  'metadata/finalizers': [['example.com/hold'], ['plain'], ['foregroundDeletion'], ['a/b', 'a/b']],
  'metadata/ownerReferences': [
    [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'u-1' }],
    [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner' }],
    [
      { apiVersion: 'v1', kind: 'ConfigMap', name: 'one', uid: 'u-1', controller: true },
      { apiVersion: 'v1', kind: 'ConfigMap', name: 'two', uid: 'u-2', controller: true },
    ],
  ],
  'metadata/managedFields': [[{}]],
  'metadata/generation': [7],
  'metadata/deletionTimestamp': ['2030-01-01T00:00:00Z', 'soon'],
  unknownField: ['x'],
};

/** Undefined removes the field. */
const OF_NO_TYPE: readonly (Json | undefined)[] = [undefined, null, '', [], {}, -1, 'x'.repeat(300)];

/** Every single change that the tables name. */
export function editsOf({ values }: Subject): Edit[] {
  const edits: Edit[] = [];
  for (const [path, own] of Object.entries({ ...METADATA, ...values })) {
    const seen = new Set<string>();
    for (const value of [...own, ...OF_NO_TYPE]) {
      const text = JSON.stringify(value) ?? '';
      if (seen.has(text)) continue;
      seen.add(text);
      edits.push(value === undefined ? { path } : { path, value });
    }
  }
  return edits;
}
