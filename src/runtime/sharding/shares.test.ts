import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../api/object.ts';
import { done, type Outcome, type Run } from '../queue/loop.ts';
import { type Shares, sharedReconcile } from './shares.ts';

/** A loop over one object, of which the cache and the server have these versions. */
function start() {
  const self = { cached: 2 as number | undefined, stored: 2, owned: true, term: 1, reads: 0, runs: 0 };
  const object = (version: number) =>
    ({ metadata: { name: 'a', namespace: 'default', resourceVersion: `${version}` } }) as KubeObject;
  let deleted: (object: KubeObject) => void = () => {};
  const informer = {
    get: () => (self.cached === undefined ? undefined : object(self.cached)),
    subscribe(handlers: { deleted: typeof deleted }) {
      deleted = handlers.deleted;
    },
  };
  const kube = {
    async get() {
      self.reads++;
      return object(self.stored);
    },
  };
  const shares = {
    enter: () => (self.owned ? { leave() {} } : undefined),
    get term() {
      return self.term;
    },
  };
  const reconcile = sharedReconcile(
    shares as unknown as Shares,
    { ownerKey: (key) => key, confirm: { kube, informer } as never },
    async () => {
      self.runs++;
      return done;
    },
  );
  return Object.assign(self, {
    run: () => reconcile('default/a', { signal: new AbortController().signal } as Run),
    forget() {
      deleted(object(0));
    },
  });
}

const delayOf = (outcome: Outcome): number | undefined =>
  outcome.kind === 'requeueAfter' ? outcome.delayMs : undefined;

async function delays(self: ReturnType<typeof start>, count: number): Promise<(number | undefined)[]> {
  const found = [];
  for (let index = 0; index < count; index++) found.push(delayOf(await self.run()));
  return found;
}

test('[SCL-1] an object is read from the server once per term before it is worked on', async () => {
  const self = start();
  assert.deepEqual(await delays(self, 2), [undefined, undefined]);
  self.term = 2;
  await self.run();
  assert.deepEqual([self.reads, self.runs], [2, 3]);
});

test('[SCL-1] the longer a cache stays behind, the less often the server is asked', async () => {
  const self = start();
  self.stored = 3;
  assert.deepEqual(await delays(self, 7), [50, 100, 200, 400, 800, 1_000, 1_000]);
  assert.deepEqual([self.reads, self.runs], [7, 0]);
});

const ends: { what: string; end(self: ReturnType<typeof start>): unknown }[] = [
  {
    what: 'has caught up',
    async end(self) {
      self.cached = 3;
      assert.equal(delayOf(await self.run()), undefined);
      Object.assign(self, { stored: 4, term: 2 });
    },
  },
  {
    what: 'shows that the object is gone',
    end: (self) => self.forget(),
  },
  {
    what: 'is of no matter, since another replica has the object',
    async end(self) {
      self.owned = false;
      assert.equal((await self.run()).kind, 'done');
      self.owned = true;
    },
  },
];
for (const { what, end } of ends) {
  test(`[SCL-1] the wait begins anew once the cache ${what}`, async () => {
    const self = start();
    self.stored = 3;
    assert.deepEqual(await delays(self, 2), [50, 100]);
    await end(self);
    assert.deepEqual(await delays(self, 2), [50, 100]);
  });
}
