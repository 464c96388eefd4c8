import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type PersistentVolumeClaim, persistentVolumeClaims } from '../../../api/kinds.ts';
import {
  ANN_PROVISIONING_REQUEST,
  ANN_SELECTED_NODE,
  ANN_SELECTED_NODE_ALPHA,
  FINALIZER_PROVISIONING,
} from '../../../api/well-known.ts';
import { testServer } from '../../../apiserver/testing/test-server.ts';
import type { KubeClient } from '../../../runtime/kube/kube.ts';
import { isConflict, KubeError } from '../../../runtime/kube/kube-error.ts';
import { dropFromClaim, keepOnClaim } from './claim-intents.ts';
import { type Intent, intentOn } from './intent.ts';

const name = { name: 'data', namespace: 'default' };
const spec = {
  accessModes: ['ReadWriteOnce'],
  storageClassName: 'fast',
  resources: { requests: { storage: '1Gi' } },
};
const intent = { uid: 'u', digest: 'd', asked: 1, since: 'then', spec } as unknown as Intent;
const { signal } = new AbortController();

async function world(t: TestContext, metadata: object = {}) {
  const server = await testServer(t);
  const kube = server.client(server.adminUser);
  const claim = await kube.create(persistentVolumeClaims, { metadata: { ...name, ...metadata }, spec });
  const touch = () =>
    kube.patch(
      persistentVolumeClaims,
      name,
      { metadata: { labels: { at: `${touches++}` } } },
      { type: 'merge' },
    );
  let touches = 0;
  const read = () => kube.get(persistentVolumeClaims, name);
  return { kube, claim, touch, read };
}

type World = Awaited<ReturnType<typeof world>>;

/** A client whose updates are preceded by this. */
const before = (kube: KubeClient, act: (attempt: number) => Promise<unknown>): KubeClient => {
  let attempts = 0;
  const update = async (...args: Parameters<KubeClient['update']>) => {
    await act(++attempts);
    return kube.update(...args);
  };
  return { get: kube.get.bind(kube), update } as unknown as KubeClient;
};

test('[PROV-5] an intent is kept on the claim as it was read, beside what is there', async (t) => {
  const { kube, claim, read } = await world(t, { finalizers: ['test/a'], annotations: { a: 'b' } });
  const kept = await keepOnClaim(kube, claim, intent, signal);
  assert.deepEqual(kept?.metadata.finalizers, [...(claim.metadata.finalizers ?? []), FINALIZER_PROVISIONING]);
  assert.equal(kept.metadata.annotations?.a, 'b');
  assert.equal(intentOn(await read())?.digest, 'd');
  const again = await keepOnClaim(kube, kept, { ...intent, asked: 2 }, signal);
  assert.deepEqual(again?.metadata.finalizers, kept.metadata.finalizers, 'once');
  assert.equal(intentOn(await read())?.asked, 2);
});

const changes: { name: string; change: (made: World) => Promise<unknown> }[] = [
  { name: 'changed', change: ({ touch }) => touch() },
  { name: 'gone', change: ({ kube }) => removed(kube) },
];
for (const { name: title, change } of changes) {
  test(`[PROV-5] no intent is kept on a claim that is ${title} since it was read`, async (t) => {
    const made = await world(t);
    await change(made);
    assert.equal(await keepOnClaim(made.kube, made.claim, intent, signal), undefined);
  });
}

test('[PROV-5] no intent is kept on a claim that is being deleted', async (t) => {
  const { kube, read } = await world(t, { finalizers: ['test/a'] });
  await kube.delete(persistentVolumeClaims, name);
  assert.equal(await keepOnClaim(kube, await read(), intent, signal), undefined);
  assert.equal(intentOn(await read()), undefined);
});

test('[PROV-5] an intent that the server does not answer about is an error', async (t) => {
  const { kube, claim } = await world(t);
  const refusing = before(kube, () => {
    throw new KubeError({ code: 500, reason: 'InternalError', message: 'no' });
  });
  await assert.rejects(keepOnClaim(refusing, claim, intent, signal), /no/);
});

const nodes = { [ANN_SELECTED_NODE]: 'n', [ANN_SELECTED_NODE_ALPHA]: 'n' };
for (const reschedule of [true, false]) {
  test(`[PROV-6] an intent is dropped, and the selected node ${reschedule ? 'with it' : 'stays'}`, async (t) => {
    const { kube, claim, read } = await world(t, {
      finalizers: ['test/a'],
      annotations: { a: 'b', ...nodes },
    });
    await keepOnClaim(kube, claim, intent, signal);
    const left = await dropFromClaim(kube, await read(), { reschedule, signal });
    assert.deepEqual(left?.metadata.annotations, reschedule ? { a: 'b' } : { a: 'b', ...nodes });
    assert.deepEqual(left.metadata.finalizers, claim.metadata.finalizers);
    const after = await read();
    assert.equal(after.metadata.resourceVersion, left.metadata.resourceVersion);
    assert.equal(after.metadata.annotations?.[ANN_PROVISIONING_REQUEST], undefined);
    const again = await dropFromClaim(kube, after, { reschedule, signal });
    assert.equal(
      again?.metadata.resourceVersion,
      after.metadata.resourceVersion,
      'there is nothing to write',
    );
  });
}

test('[PROV-6] a selected node without an intent is removed for the scheduler', async (t) => {
  const { kube, claim } = await world(t, { annotations: nodes });
  const left = await dropFromClaim(kube, claim, { reschedule: true, signal });
  assert.deepEqual(left?.metadata.annotations ?? {}, {});
});

async function removed(kube: KubeClient): Promise<void> {
  await kube.patch(persistentVolumeClaims, name, { metadata: { finalizers: null } }, { type: 'merge' });
  await kube.delete(persistentVolumeClaims, name);
}

async function kept(t: TestContext): Promise<World & { held: PersistentVolumeClaim }> {
  const made = await world(t);
  const held = await keepOnClaim(made.kube, made.claim, intent, signal);
  assert.ok(held);
  return { ...made, held };
}
const options = { reschedule: false, signal };

test('[PROV-5] an intent is dropped although others write the claim meanwhile', async (t) => {
  const { kube, touch, read, held } = await kept(t);
  const busy = before(kube, async (attempt) => attempt < 5 && (await touch()));
  const left = await dropFromClaim(busy, held, options);
  assert.equal(left?.metadata.labels?.at, '3');
  assert.equal(intentOn(await read()), undefined);
});

for (const [what, another] of [
  ['of another call', { asked: 2 }],
  ['for another request', { digest: 'e' }],
] as const) {
  test(`[PROV-5] an intent ${what}, which another replica has written meanwhile, is not dropped`, async (t) => {
    const { kube, read, held } = await kept(t);
    const busy = before(kube, async (attempt) => {
      if (attempt === 1) await keepOnClaim(kube, await read(), { ...intent, ...another }, signal);
    });
    await assert.rejects(dropFromClaim(busy, held, options), isConflict);
    const { digest, asked } = intentOn(await read()) ?? {};
    assert.deepEqual({ digest, asked }, { digest: 'd', asked: 1, ...another });
  });
}

test('[PROV-6] a claim that gets an intent meanwhile is not returned to the scheduler', async (t) => {
  const { kube, claim, read } = await world(t, { annotations: nodes });
  const busy = before(kube, async () => keepOnClaim(kube, await read(), intent, signal));
  await assert.rejects(dropFromClaim(busy, claim, { reschedule: true, signal }), isConflict);
  assert.equal((await read()).metadata.annotations?.[ANN_SELECTED_NODE], 'n');
});

test('[PROV-6] a claim whose intent is gone meanwhile is returned to the scheduler', async (t) => {
  const { kube, claim, read } = await world(t, { annotations: nodes });
  const held = await keepOnClaim(kube, claim, intent, signal);
  assert.ok(held);
  const busy = before(kube, async (attempt) => {
    if (attempt === 1) await dropFromClaim(kube, held, options);
  });
  await dropFromClaim(busy, held, { reschedule: true, signal });
  assert.equal((await read()).metadata.annotations?.[ANN_SELECTED_NODE], undefined);
});

test('[PROV-5] a claim that others write all the time keeps its intent, and that is an error', async (t) => {
  const { kube, touch, read, held } = await kept(t);
  let attempts = 0;
  const busy = before(kube, (attempt) => {
    attempts = attempt;
    return touch();
  });
  await assert.rejects(dropFromClaim(busy, held, options), (error) => error instanceof KubeError);
  assert.equal(attempts, 5);
  assert.ok(intentOn(await read()));
});

test('[PROV-5] an error that is no conflict is not tried again', async (t) => {
  const { kube, held } = await kept(t);
  const refusing = before(kube, (attempt) => {
    assert.equal(attempt, 1);
    throw new KubeError({ code: 500, reason: 'InternalError', message: 'no' });
  });
  await assert.rejects(dropFromClaim(refusing, held, options), /no/);
});

test('[PROV-5] a claim that is gone, or another by now, has no intent to drop', async (t) => {
  const { kube, held, read } = await kept(t);
  await removed(kube);
  assert.equal(await dropFromClaim(kube, held, options), undefined);
  const next = await kube.create(persistentVolumeClaims, { metadata: name, spec });
  assert.equal(await dropFromClaim(kube, held, options), undefined);
  assert.equal((await read()).metadata.resourceVersion, next.metadata.resourceVersion);
});
