import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { parse } from 'yaml';
import {
  type CSIDriver,
  type CSIDriverDesign,
  type CustomResourceDefinition,
  csiDriverDesigns,
  csiDrivers,
  customResourceDefinitions,
  events,
  pods,
} from '../../api/kinds.ts';
import type { Draft } from '../../api/object.ts';
import { ANN_INLINE_HANDLES } from '../../api/well-known.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { ControllerPorts } from '../controller.ts';
import { createGarbageCollector } from '../garbage-collector/garbage-collector.ts';
import { manualPorts } from '../testing/manual-ports.ts';
import { pod } from '../testing/objects.ts';
import { startControllers } from '../testing/start-controllers.ts';
import { createCsiDriverMapping } from './csi-driver-mapping.ts';
import { decideMapping } from './decide-mapping.ts';

const NAME = 'driver.example';
const stamp = { resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };

const design = (spec: CSIDriverDesign['spec'], uid = 'u'): CSIDriverDesign => ({
  apiVersion: 'csi.storage.k8s.io/v1alpha1',
  kind: 'CSIDriver',
  metadata: { name: NAME, uid, ...stamp },
  spec,
});

const today = (spec: CSIDriver['spec'], ownerUid?: string): CSIDriver => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'CSIDriver',
  metadata: {
    name: NAME,
    uid: 'today',
    ...stamp,
    ...(ownerUid && {
      ownerReferences: [
        { apiVersion: 'csi.storage.k8s.io/v1alpha1', kind: 'CSIDriver', name: NAME, uid: ownerUid },
      ],
    }),
  },
  spec,
});

const persistent = { attachRequired: true, podInfoOnMount: false, volumeLifecycleModes: ['Persistent'] };

test('[INL-3] how a CSIDriver of the CRD maps to one of storage.k8s.io', () => {
  const table: {
    name: string;
    design?: CSIDriverDesign;
    today?: CSIDriver;
    steps: string[];
    spec?: CSIDriver['spec'];
  }[] = [
    { name: 'nothing is omitted: today’s defaults', design: design({}), steps: ['create'], spec: persistent },
    {
      name: 'every field is mapped',
      design: design({ attachRequired: false, podInfoOnMountVersion: 'v1', lifecycle: 'ephemeral' }),
      steps: ['create'],
      spec: { attachRequired: false, podInfoOnMount: true, volumeLifecycleModes: ['Ephemeral'] },
    },
    {
      name: 'an unknown version of pod information is said and means none',
      design: design({ podInfoOnMountVersion: 'v7' }),
      steps: ['UnknownPodInfoVersion', 'create'],
      spec: persistent,
    },
    { name: 'mapped already', design: design({}), today: today(persistent, 'u'), steps: [] },
    {
      name: 'pod information can be changed',
      design: design({ podInfoOnMountVersion: 'v1' }),
      today: today(persistent, 'u'),
      steps: ['patch'],
    },
    {
      name: 'the lifecycle cannot: made anew',
      design: design({ lifecycle: 'ephemeral' }),
      today: today(persistent, 'u'),
      steps: ['delete'],
    },
    {
      name: 'nor can attachRequired',
      design: design({ attachRequired: false }),
      today: today(persistent, 'u'),
      steps: ['delete'],
    },
    {
      name: 'made for an earlier object of that name',
      design: design({}, 'new'),
      today: today(persistent, 'u'),
      steps: ['delete'],
    },
    {
      name: 'today’s own object wins',
      design: design({ lifecycle: 'ephemeral' }),
      today: today(persistent),
      steps: ['CSIDriverIgnored'],
    },
    { name: 'gone: the garbage collector follows', today: today(persistent, 'u'), steps: [] },
  ];
  for (const row of table) {
    const steps = decideMapping(row.design, row.today);
    const found = steps.map((step) => (step.do === 'event' ? step.reason : step.do));
    assert.deepEqual(found, row.steps, row.name);
    for (const step of steps)
      if (step.do === 'create') assert.deepEqual(step.object.spec, row.spec, row.name);
  }
});

test('[INL-3] the mapped object says as the other one which handles inline volumes may name', () => {
  const annotationsFor = (given: CSIDriverDesign): object[] =>
    decideMapping(given, undefined).flatMap((step) =>
      step.do === 'create' ? [step.object.metadata.annotations ?? {}] : [],
    );
  const plain = design({ lifecycle: 'ephemeral' });
  const annotations = { [ANN_INLINE_HANDLES]: 'allowed' };
  assert.deepEqual(annotationsFor(plain), [{}]);
  assert.deepEqual(annotationsFor({ ...plain, metadata: { ...plain.metadata, annotations } }), [annotations]);
});

async function start(t: TestContext, create = createCsiDriverMapping) {
  const started = await startControllers(t, [
    { account: 'csidriver-mapping-controller', create },
    { account: 'generic-garbage-collector', create: createGarbageCollector },
  ]);
  const file = new URL('../../../deploy/crds/csi.storage.k8s.io_csidrivers.yaml', import.meta.url);
  const definition = parse(await readFile(file, 'utf8')) as Draft<CustomResourceDefinition>;
  await started.kube.create(customResourceDefinitions, definition);
  await started.settled(
    customResourceDefinitions,
    definition.metadata.name ?? '',
    (object) =>
      object?.status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') ??
      false,
  );
  return started;
}

const inline = (name: string) => pod(name, { volumes: [{ name: 'v', csi: { driver: NAME } }] });

test('[INL-3] an object of the CRD decides how inline volumes are admitted, follows its changes, and is gone with it', async (t) => {
  const { kube, settled } = await start(t);
  const modesAre = (modes: string) =>
    settled(csiDrivers, NAME, (object) => object?.spec.volumeLifecycleModes?.join() === modes);
  await kube.create(csiDriverDesigns, { metadata: { name: NAME }, spec: { lifecycle: 'persistent' } });
  await modesAre('Persistent');
  await assert.rejects(kube.create(pods, inline('p')), /declares only Persistent/);
  const change = { spec: { lifecycle: 'ephemeral', podInfoOnMountVersion: 'v1' } };
  await kube.patch(csiDriverDesigns, { name: NAME }, change, { type: 'merge' });
  const mapped = await modesAre('Ephemeral');
  assert.equal(mapped?.spec.podInfoOnMount, true);
  await kube.create(pods, inline('q'));
  await kube.patch(
    csiDriverDesigns,
    { name: NAME },
    { spec: { podInfoOnMountVersion: null } },
    { type: 'merge' },
  );
  const patched = await settled(csiDrivers, NAME, (object) => object?.spec.podInfoOnMount === false);
  assert.equal(patched?.metadata.uid, mapped?.metadata.uid, 'changed in place where it can be');
  await kube.delete(csiDriverDesigns, { name: NAME });
  await settled(csiDrivers, NAME, (object) => object === undefined);
});

test('[INL-3] where both exist today’s object stays as it is, with a warning on the other; once it is gone, the other counts', async (t) => {
  const { kube, informers, settled } = await start(t);
  await kube.create(csiDrivers, { metadata: { name: NAME }, spec: { volumeLifecycleModes: ['Persistent'] } });
  await kube.create(csiDriverDesigns, { metadata: { name: NAME }, spec: { lifecycle: 'ephemeral' } });
  const all = informers.of(events);
  await all.synced();
  const warning = await new Promise<string | undefined>((resolve) => {
    all.subscribe({ added: ({ reason, message }) => reason === 'CSIDriverIgnored' && resolve(message) });
  });
  assert.match(warning ?? '', /differ in volumeLifecycleModes/);
  const kept = await kube.get(csiDrivers, { name: NAME });
  assert.deepEqual(kept.spec.volumeLifecycleModes, ['Persistent']);
  await kube.delete(csiDrivers, { name: NAME });
  await settled(csiDrivers, NAME, (object) => object?.spec.volumeLifecycleModes?.join() === 'Ephemeral');
});

test('[INL-3] a CSIDriver that cannot be created is a warning on the other object; one that appears meanwhile is not', async (t) => {
  const failures = [
    new KubeError({ reason: 'AlreadyExists', code: 409, message: 'somebody was faster' }),
    new KubeError({ reason: 'Forbidden', code: 403, message: 'not allowed' }),
  ];
  const create = (ports: ControllerPorts) =>
    createCsiDriverMapping({
      ...ports,
      kube: {
        ...ports.kube,
        create: (resource, ...rest) => {
          const failure = (resource as unknown) === csiDrivers ? failures.shift() : undefined;
          return failure ? Promise.reject(failure) : ports.kube.create(resource, ...rest);
        },
      },
    });
  const { kube, informers, settled } = await start(t, create);
  await kube.create(csiDriverDesigns, { metadata: { name: NAME }, spec: { lifecycle: 'ephemeral' } });
  while (failures.length > 1) await setImmediate();
  // The watch shows a change: the next attempt is made.
  await kube.patch(csiDriverDesigns, { name: NAME }, { metadata: { labels: { a: 'b' } } }, { type: 'merge' });
  await settled(csiDrivers, NAME, (object) => object?.spec.volumeLifecycleModes?.join() === 'Ephemeral');
  const all = informers.of(events);
  await all.synced();
  const messages = await new Promise<string[]>((resolve) => {
    const look = () => {
      const found = all.list().filter(({ reason }) => reason === 'CSIDriverNotMapped');
      if (found.length > 0) resolve(found.map(({ message = '' }) => message));
    };
    all.subscribe({ added: look });
    look();
  });
  assert.equal(messages.length, 1);
  assert.match(
    messages[0] ?? '',
    /cannot create CSIDriver driver.example of storage.k8s.io\/v1: .*not allowed/,
  );
});

test('[INL-3] a CSIDriver that the cache never showed is created again once somebody has deleted it', async (t) => {
  let created = 0;
  const { informers, clock, ports } = manualPorts({ create: async () => void created++ });
  informers.change(csiDriverDesigns, undefined, design({}));
  const stop = new AbortController();
  t.after(() => stop.abort());
  void createCsiDriverMapping(ports).run(stop.signal);
  await clock.advance(1);
  assert.equal(created, 1);
  // The watch of CSIDrivers is silent: neither the first one nor its end is shown.
  await clock.advance(1_000);
  assert.ok(created > 1, 'nobody wakes the loop');
  const before = created;
  informers.change(csiDrivers, undefined, today(persistent, 'u'));
  await clock.advance(600_000);
  assert.equal(created, before, 'it ends once the cache shows it');
});
