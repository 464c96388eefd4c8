// Almost valid objects of every kind, through every kind of write: whatever a client sends, the response is a defined
// API error, never an internal server error.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiVersionOf, type KubeObject } from '../api/object.ts';
import type { KubeClient } from '../runtime/kube/kube.ts';
import { KubeError } from '../runtime/kube/kube-error.ts';
import type { Random } from '../runtime/ports.ts';
import { seededRandom } from '../runtime/random.ts';
import type { Kind } from './kind.ts';
import { builtinKinds } from './kinds/index.ts';
import type { Schema } from './schema.ts';
import { testServer } from './testing/test-server.ts';

/** BERTH_FUZZ_SEED and BERTH_FUZZ_OBJECTS select another seed and number of objects. */
const SEED = process.env.BERTH_FUZZ_SEED ?? 'bad input';
const OBJECTS_PER_KIND = Number(process.env.BERTH_FUZZ_OBJECTS ?? 25);

const TEXTS = ['a', '', '1Gi', '10.0.0.1', 'ReadWriteOnce', '2020-01-01T00:00:00Z', 'x/y', 'é'];
const KEYS = [
  'name',
  'spec',
  'metadata',
  'kind',
  'csi',
  'volumes',
  'containers',
  'requests',
  'key',
  'driver',
  'items',
];

function pick<T>(random: Random, values: readonly T[]): T {
  return values[random.int(values.length)] as T;
}

function junk(random: Random, depth = 0): unknown {
  const shapes = depth > 3 ? 5 : 7;
  switch (random.int(shapes)) {
    case 0:
      return null;
    case 1:
      return random.int(2) === 0;
    case 2:
      return random.int(1000) - 500;
    case 3:
    case 4:
      return pick(random, TEXTS);
    case 5:
      return Array.from({ length: random.int(3) }, () => junk(random, depth + 1));
    default:
      return Object.fromEntries(
        Array.from({ length: random.int(4) }, () => [pick(random, KEYS), junk(random, depth + 1)]),
      );
  }
}

/** A value that mostly follows the schema. */
function nearly(schema: Schema | undefined, random: Random, depth = 0): unknown {
  if (schema === undefined || depth > 7 || random.next() < 0.12) return junk(random);
  const { additionalProperties: values } = schema;
  switch (schema.type) {
    case 'object': {
      const chosen = Object.entries(schema.properties ?? {}).filter(() => random.next() < 0.35);
      const object = Object.fromEntries(chosen.map(([key, each]) => [key, nearly(each, random, depth + 1)]));
      return typeof values === 'object' ? { ...object, k: nearly(values, random, depth + 1) } : object;
    }
    case 'array':
      return Array.from({ length: random.int(3) }, () => nearly(schema.items, random, depth + 1));
    case 'integer':
    case 'number':
      return random.int(110) - 10;
    case 'boolean':
      return random.int(2) === 0;
    default:
      return pick(random, TEXTS);
  }
}

/** Every kind of write with the same object. */
function writes(client: KubeClient, kind: Kind, object: KubeObject): (() => Promise<unknown>)[] {
  const { name, namespace } = object.metadata;
  const called = namespace === undefined ? { name } : { name, namespace };
  const { metadata: _, ...rest } = object;
  const creation = () => client.create(kind, object);
  if (kind.virtual) return [creation];
  const own = { ...object, metadata: called };
  return [
    creation,
    () => client.update(kind, own),
    () => client.patch(kind, called, rest, { type: 'merge' }),
    () => client.patch(kind, called, rest, { type: 'strategic' }),
    () => client.patch(kind, called, own, { type: 'apply', fieldManager: 'test', force: true }),
    ...(kind.subresources.includes('status')
      ? [() => client.update(kind, own, { subresource: 'status' })]
      : []),
  ];
}

for (const kind of builtinKinds) {
  test(`nothing that looks like a ${apiVersionOf(kind)} ${kind.kind} breaks the server`, async (t) => {
    const random = seededRandom(`${SEED} ${apiVersionOf(kind)} ${kind.kind}`);
    const server = await testServer(t);
    const client = server.client(server.adminUser);
    for (let count = 0; count < OBJECTS_PER_KIND; count++) {
      const value = nearly({ type: 'object', ...kind.schema() }, random);
      const base = typeof value === 'object' && value !== null ? value : {};
      const place = kind.namespaced ? { namespace: 'default' } : {};
      const metadata = { name: `n${count % 5}`, ...place };
      const object = { ...base, apiVersion: apiVersionOf(kind), kind: kind.kind, metadata } as KubeObject;
      for (const write of writes(client, kind, object)) {
        await write().catch((error: unknown) => {
          assert.ok(
            // kube-apiserver answers an apply of a wrong type with 500 and without a reason, and so do we.
            error instanceof KubeError && (error.code < 500 || error.reason === 'Unknown'),
            `${error instanceof Error ? error.stack : error}\n${JSON.stringify(object)}`,
          );
        });
      }
    }
  });
}
