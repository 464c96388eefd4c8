import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type ConfigMap, configMaps } from '../../api/kinds.ts';
import { testServer } from '../../apiserver/testing/test-server.ts';
import type { KubeClient } from './kube.ts';
import { isConflict } from './kube-error.ts';
import { SharedFinalizer } from './shared-finalizer.ts';

const OURS = 'example.com/ours';
const target = { namespace: 'default', name: 'm' };
const signal = AbortSignal.timeout(20_000);

async function world(t: TestContext) {
  const server = await testServer(t);
  const kube = server.client(server.adminUser);
  const object = await kube.create(configMaps, { metadata: { ...target, finalizers: ['a/b', OURS] } });
  const known: ConfigMap[] = [];
  const finalizerOf = (client: KubeClient) =>
    new SharedFinalizer({
      kube: client,
      resource: configMaps,
      finalizer: OURS,
      objects: {
        wrote(written) {
          known.push(written);
          return written;
        },
      },
    });
  return { kube, object, known, finalizerOf, stored: () => kube.get(configMaps, target) };
}

test('it is held from a write of this process until its removal is sent', async (t) => {
  const { kube, object, known, finalizerOf, stored } = await world(t);
  const finalizer = finalizerOf(kube);
  assert.equal(finalizer.isHeld(object), false, 'an earlier process may have sent a removal');
  const renewed = await finalizer.renew(object, { signal });
  assert.equal(finalizer.isHeld(renewed), true);
  assert.equal(finalizer.isOn(renewed), true);
  finalizer.gone(renewed);
  assert.equal(finalizer.isHeld(renewed), false);
  const again = await finalizer.renew(renewed, { signal });
  finalizer.forgetHeld();
  assert.equal(finalizer.isHeld(again), false);
  const last = await finalizer.renew(again, { signal });
  await finalizer.release(last, signal);
  assert.equal(finalizer.isHeld(last), false);
  const left = await stored();
  assert.deepEqual(left.metadata.finalizers, ['a/b']);
  assert.equal(known.at(-1)?.metadata.resourceVersion, left.metadata.resourceVersion);
});

test('a release over an old version removes nothing, and the object as it is then is known', async (t) => {
  const { kube, object, known, finalizerOf, stored } = await world(t);
  await kube.patch(configMaps, target, { data: { changed: 'yes' } }, { type: 'merge' });
  await assert.rejects(finalizerOf(kube).release(object, signal), isConflict);
  const left = await stored();
  assert.deepEqual(left.metadata.finalizers, ['a/b', OURS]);
  assert.deepEqual(
    known.map(({ metadata }) => metadata.resourceVersion),
    [left.metadata.resourceVersion],
  );
});

test('it is settled once no removal is in flight, whether that failed or not', async (t) => {
  const { kube, object, finalizerOf } = await world(t);
  const answer = Promise.withResolvers<never>();
  const finalizer = finalizerOf({ ...kube, patch: () => answer.promise });
  const events: string[] = [];
  const released = finalizer.release(object, signal).catch(({ message }) => events.push(message));
  const settled = finalizer.settled('default/m').then(() => events.push('settled'));
  await finalizer.settled('default/another');
  assert.deepEqual(events, []);
  answer.reject(new Error('timed out'));
  await Promise.all([released, settled]);
  assert.deepEqual(events.toSorted(), ['settled', 'timed out']);
  await finalizer.settled('default/m');
});
