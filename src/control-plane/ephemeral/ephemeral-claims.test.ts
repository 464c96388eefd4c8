import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { events, persistentVolumeClaims, pods } from '../../api/kinds.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { createGarbageCollector } from '../garbage-collector/garbage-collector.ts';
import { createClaimProtection } from '../protection/claim-protection.ts';
import { manualPorts } from '../testing/manual-ports.ts';
import { claim, pod } from '../testing/objects.ts';
import { type Started, startControllers } from '../testing/start-controllers.ts';
import { createEphemeralClaims } from './ephemeral-claims.ts';

const start = (t: TestContext): Promise<Started> =>
  startControllers(t, [
    { account: 'ephemeral-volume-controller', create: createEphemeralClaims },
    { account: 'generic-garbage-collector', create: createGarbageCollector },
    { account: 'pvc-protection-controller', create: createClaimProtection },
  ]);

const scratch = {
  name: 'scratch',
  ephemeral: {
    volumeClaimTemplate: {
      metadata: { labels: { app: 'x' }, annotations: { note: 'y' } },
      spec: claim('template').spec,
    },
  },
};
const named = (name: string) => ({ name, namespace: 'default' });

test('a pod gets a claim from its template, which is deleted with it', async (t) => {
  const started = await start(t);
  const { kube } = started;
  const owner = await kube.create(pods, pod('p', { volumes: [{ name: 'e', emptyDir: {} }, scratch] }));
  const made = await started.settled(
    persistentVolumeClaims,
    'default/p-scratch',
    (object) => object !== undefined,
  );
  assert.deepEqual(made?.metadata.labels, { app: 'x' });
  assert.equal(made?.metadata.annotations?.note, 'y');
  assert.equal(made?.spec.storageClassName, 'manual');
  assert.deepEqual(made?.metadata.ownerReferences, [
    {
      apiVersion: 'v1',
      kind: 'Pod',
      name: 'p',
      uid: owner.metadata.uid,
      controller: true,
      blockOwnerDeletion: true,
    },
  ]);
  assert.equal((await kube.list(persistentVolumeClaims)).items.length, 1);
  await kube.delete(pods, named('p'));
  await started.settled(persistentVolumeClaims, 'default/p-scratch', (object) => object === undefined);
});

test('a claim of that name that is not the pod’s is not taken; once it is gone the pod gets its own', async (t) => {
  const started = await start(t);
  const { kube } = started;
  const foreign = await kube.create(persistentVolumeClaims, claim('p-scratch'));
  await kube.create(pods, pod('p', { volumes: [scratch] }));
  const all = started.informers.of(events);
  await all.synced();
  const message = await new Promise((resolve) => {
    all.subscribe({ added: (event) => event.reason === 'FailedBinding' && resolve(event.message) });
  });
  assert.equal(
    message,
    'ephemeral volume scratch: PVC default/p-scratch was not created for pod default/p (pod is not owner)',
  );
  await kube.delete(persistentVolumeClaims, named('p-scratch'));
  await started.settled(
    persistentVolumeClaims,
    'default/p-scratch',
    (object) => object !== undefined && object.metadata.uid !== foreign.metadata.uid,
  );
});

test('a claim with another owner that the cache never showed makes room for the pod’s own', async (t) => {
  let refusals = 0;
  const started = await startControllers(t, [
    {
      account: 'ephemeral-volume-controller',
      create: (ports) => {
        /** As if a claim were there at the first attempt, and gone a moment later. */
        const create: typeof ports.kube.create = async (resource, ...rest) => {
          if (resource.plural !== 'persistentvolumeclaims' || refusals > 0)
            return ports.kube.create(resource, ...rest);
          refusals++;
          throw new KubeError({ code: 409, reason: 'AlreadyExists', message: 'it is there' });
        };
        const get = async () => ({ metadata: { name: 'p-scratch', namespace: 'default', uid: 'x' } });
        return createEphemeralClaims({
          ...ports,
          kube: Object.assign(Object.create(ports.kube), { create, get }),
        });
      },
    },
  ]);
  await started.kube.create(pods, pod('p', { volumes: [scratch] }));
  await started.settled(persistentVolumeClaims, 'default/p-scratch', (object) => object !== undefined);
  assert.equal(refusals, 1);
});

test('a claim of its own that the cache never showed is created again once it is deleted', async (t) => {
  const live: object[] = [];
  let creations = 0;
  const kube = {
    async create(_: object, draft: object) {
      creations++;
      if (live.length > 0)
        throw new KubeError({ code: 409, reason: 'AlreadyExists', message: 'it is there' });
      live.push(draft);
      return draft;
    },
    get: async () => live[0],
  };
  const { informers, clock, ports } = manualPorts(kube);
  const waiting = pod('p', { volumes: [scratch] });
  informers.change(pods, undefined, { ...waiting, metadata: { ...waiting.metadata, uid: 'uid-p' } });
  const stop = new AbortController();
  t.after(() => stop.abort());
  void createEphemeralClaims(ports).run(stop.signal);
  await clock.advance(1);
  assert.equal(live.length, 1);
  // The watch of claims is silent: neither the claim nor its end is shown.
  live.pop();
  await clock.advance(1_000);
  assert.equal(live.length, 1, 'nobody wakes the loop');

  informers.change(persistentVolumeClaims, undefined, live[0]);
  const before = creations;
  await clock.advance(600_000);
  assert.equal(creations, before, 'it ends once the cache shows the claim');
});

test('pods that are ending get nothing', async (t) => {
  const started = await start(t);
  const { kube } = started;
  await started.restart(async () => {
    await kube.create(pods, pod('p', { volumes: [scratch] }, { finalizers: ['example.com/hold'] }));
    await kube.delete(pods, named('p'));
    await kube.create(pods, pod('q', { volumes: [scratch] }));
  });
  await started.settled(persistentVolumeClaims, 'default/q-scratch', (object) => object !== undefined);
  assert.equal((await kube.list(persistentVolumeClaims)).items.length, 1);
  await kube.patch(pods, named('p'), { metadata: { finalizers: null } }, { type: 'merge' });
});
