import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServedResource } from '../../runtime/kube/kube.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { emptyNamespace } from './empty-namespace.ts';

const VERBS = ['list', 'delete', 'deletecollection'];
const resource = (plural: string, change: Partial<ServedResource> = {}): ServedResource => ({
  group: 'g',
  version: 'v1',
  plural,
  kind: plural,
  namespaced: true,
  verbs: VERBS,
  ...change,
});

interface Held {
  name: string;
  finalizers?: string[];
  deletionTimestamp?: string;
}

/** A namespace that holds these; objects with finalizers stay. */
function world(
  objects: Record<string, Held[]>,
  kinds: ServedResource[],
  errors: Record<string, number> = {},
) {
  const calls: string[] = [];
  const removed = (held: Held[]) => held.filter(({ finalizers }) => finalizers?.length);
  const fail = (plural: string) => {
    const code = errors[plural];
    if (code !== undefined)
      throw new KubeError({ code, reason: code === 404 ? 'NotFound' : 'Forbidden', message: `no ${plural}` });
  };
  const kube = {
    async list({ plural }: ServedResource) {
      calls.push(`list ${plural}`);
      fail(plural);
      return {
        items: (objects[plural] ?? []).map((metadata) => ({
          metadata: { uid: `uid-${metadata.name}`, ...metadata },
        })),
      };
    },
    async deleteCollection({ plural }: ServedResource) {
      calls.push(`deletecollection ${plural}`);
      objects[plural] = removed(objects[plural] ?? []);
    },
    async delete(
      { plural }: ServedResource,
      { name }: { name: string },
      { preconditions }: { preconditions: { uid: string } },
    ) {
      calls.push(`delete ${plural} ${name} ${preconditions.uid}`);
      if (name === 'gone') throw new KubeError({ code: 404, reason: 'NotFound', message: 'gone' });
      objects[plural] = (objects[plural] ?? []).filter(
        (each) => each.name !== name || each.finalizers?.length,
      );
    },
  };
  const discovery = { servedResources: async () => ({ resources: kinds, unknown: ['lost/v1'] }) };
  return {
    calls,
    run: () => emptyNamespace({ kube, discovery } as never, 'ns', new AbortController().signal),
  };
}

test('what has no finalizers is gone at once, and the rest is counted', async () => {
  const { run, calls } = world(
    {
      as: [{ name: 'one' }, { name: 'two', finalizers: ['x', 'y'] }, { name: 'three', finalizers: ['x'] }],
      bs: [{ name: 'one' }],
    },
    [resource('as'), resource('bs', { group: '' }), resource('empty')],
  );
  assert.deepEqual(await run(), {
    left: [{ resource: 'as.g', count: 2 }],
    finalizers: [
      { finalizer: 'x', count: 2 },
      { finalizer: 'y', count: 1 },
    ],
    unknown: ['lost/v1'],
    failures: [],
  });
  assert.equal(calls.filter((call) => call === 'list empty').length, 1, 'one look at a kind without objects');
});

test('objects that are being deleted already are not deleted again', async () => {
  const { run, calls } = world({ as: [{ name: 'a', deletionTimestamp: 'now', finalizers: ['x'] }] }, [
    resource('as', { group: '' }),
  ]);
  assert.deepEqual((await run()).left, [{ resource: 'as.', count: 1 }]);
  assert.deepEqual(calls, ['list as']);
});

test('a kind without deletecollection is emptied one by one, as the objects that were seen', async () => {
  const { run, calls } = world(
    { as: [{ name: 'a' }, { name: 'going', deletionTimestamp: 'now', finalizers: ['x'] }, { name: 'gone' }] },
    [resource('as', { verbs: ['list', 'delete'] })],
  );
  await run();
  assert.deepEqual(calls, ['list as', 'delete as a uid-a', 'delete as gone uid-gone', 'list as']);
});

test('kinds of the cluster, and those that cannot be listed or deleted, are left alone', async () => {
  const { run, calls } = world({}, [
    resource('of-the-cluster', { namespaced: false }),
    resource('unlisted', { verbs: ['delete'] }),
    resource('undeletable', { verbs: ['list'] }),
  ]);
  assert.deepEqual(await run(), { left: [], finalizers: [], unknown: ['lost/v1'], failures: [] });
  assert.deepEqual(calls, []);
});

test('a kind that is gone has nothing left; one that cannot be read is told, and others are emptied', async () => {
  const { run } = world(
    { as: [{ name: 'a', finalizers: ['x'] }] },
    [resource('removed'), resource('refused'), resource('as')],
    { removed: 404, refused: 403 },
  );
  const { left, failures } = await run();
  assert.deepEqual(left, [{ resource: 'as.g', count: 1 }]);
  assert.equal(failures.length, 1);
  assert.match(failures[0] ?? '', /no refused/);
});
