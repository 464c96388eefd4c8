// The resizer against the API server and a scripted driver: the resulting objects.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  namespaces,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  secrets,
} from '../../api/kinds.ts';
import { ANN_RETRY } from '../../api/well-known.ts';
import type { ControllerExpandVolumeRequest } from '../../csi/generated/csi/v1/csi_pb.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { DEFAULT_RESIZER_FLAGS } from './resizer-flags.ts';
import {
  conditionsOf,
  DRIVER,
  forgottenReport,
  isResizedTo,
  type ResizerWorld,
  resizerWorld,
  soon,
} from './testing/resizer-world.ts';

const GiB = 1n << 30n;
const sizesAsked = ({ driver }: ResizerWorld): bigint[] =>
  driver
    .callsOf<ControllerExpandVolumeRequest>('ControllerExpandVolume')
    .map(({ capacityRange }) => (capacityRange?.requiredBytes ?? 0n) / GiB);
const alone = { driver: { nodeExpansionRequired: false } };
const stateIs =
  (state: string) =>
  ({ status }: PersistentVolumeClaim): boolean =>
    status?.allocatedResourceStatuses?.storage === state;
const PRE_RESIZE = 'volume.alpha.kubernetes.io/pre-resize-capacity';
const NOT_REQUIRED = 'volume.kubernetes.io/node-expansion-not-required';

describe('a claim that grows', () => {
  test('[SIDE-1] is expanded on the controller alone where no node is needed', async (t) => {
    const world = await resizerWorld(t, { driver: { nodeExpansionRequired: false } });
    await world.bound('data');
    await world.start();
    await world.request('data', '2Gi');
    const claim = await world.claim('data', isResizedTo('2Gi'));
    assert.equal(claim.status?.allocatedResources?.storage, '2Gi');
    assert.equal(claim.metadata.annotations?.[NOT_REQUIRED], 'true');
    const volume = await world.volume('data');
    assert.equal(volume.spec.capacity?.storage, '2Gi');
    assert.equal(world.driver.volumes.get('vol-data')?.capacityBytes, 2n * GiB);
    await world.told('data', 'Resizing');
    await world.told('data', 'VolumeResizeSuccessful');
    const [call] = world.driver.callsOf<ControllerExpandVolumeRequest>('ControllerExpandVolume');
    assert.deepEqual(
      [call?.volumeId, call?.capacityRange?.requiredBytes, call?.volumeCapability?.accessType.case],
      ['vol-data', 2n * GiB, 'mount'],
    );
  });

  test('[SIDE-1] whose volume was written during the call gets its size with a second call', async (t) => {
    const world = await resizerWorld(t, { driver: { nodeExpansionRequired: false } });
    await world.bound('data');
    let writes = 0;
    await world.start(({ kube }) => ({
      kube: {
        ...kube,
        async patch(...call: Parameters<KubeClient['patch']>) {
          const [{ plural }] = call;
          if (plural === persistentVolumes.plural && writes++ === 0) {
            const label = { metadata: { labels: { written: 'by-others' } } };
            await world.admin.patch(persistentVolumes, { name: 'pv-data' }, label, { type: 'merge' });
          }
          return kube.patch(...call);
        },
      },
    }));
    await world.request('data', '2Gi');
    await world.claim('data', isResizedTo('2Gi'));
    const { metadata, spec } = await world.volume('data');
    assert.deepEqual([metadata.labels?.written, spec.capacity?.storage], ['by-others', '2Gi']);
    assert.deepEqual(sizesAsked(world), [2n, 2n], 'for the same size');
  });

  test('[SIDE-1] waits for the node where one is needed, and reports success only then', async (t) => {
    const world = await resizerWorld(t);
    await world.bound('data');
    await world.start();
    await world.request('data', '2Gi');
    const waiting = await world.claim('data', stateIs('NodeResizePending'));
    assert.deepEqual(conditionsOf(waiting), ['FileSystemResizePending', 'Resizing']);
    assert.equal(waiting.status?.capacity?.storage, '1Gi');
    const volume = await world.volume('data');
    assert.equal(volume.spec.capacity?.storage, '2Gi');
    assert.equal(volume.metadata.annotations?.[PRE_RESIZE], '1Gi');
    await world.told('data', 'FileSystemResizeRequired');
    await world.writeStatus('data', {
      capacity: { storage: '2Gi' },
      conditions: [],
      allocatedResourceStatuses: { storage: null },
    });
    await world.volumes.waitFor('pv-data', (each) => each?.metadata.annotations?.[PRE_RESIZE] === undefined);
    assert.equal(world.driver.callsOf('ControllerExpandVolume').length, 1);
  });

  test('[SIDE-1] whose volume still has the earlier size of the last time is expanded with one call', async (t) => {
    const world = await resizerWorld(t);
    await world.bound('data', { annotations: { [PRE_RESIZE]: '500Mi' } });
    await world.request('data', '2Gi');
    await world.start();
    await world.claim('data', stateIs('NodeResizePending'));
    assert.equal((await world.volume('data')).metadata.annotations?.[PRE_RESIZE], '1Gi');
    assert.deepEqual(sizesAsked(world), [2n]);
  });

  test('[SIDE-1] grows before the resizer starts, and while it is away', async (t) => {
    const world = await resizerWorld(t, alone);
    await world.bound('early');
    await world.request('early', '2Gi');
    const first = await world.start();
    await world.claim('early', isResizedTo('2Gi'));
    await first.stop();
    await world.request('early', '3Gi');
    await world.start();
    await world.claim('early', isResizedTo('3Gi'));
  });

  test('[SIDE-1] gets the larger size that the driver returned', async (t) => {
    const world = await resizerWorld(t, alone);
    world.driver.script('ControllerExpandVolume', { answer: { capacityBytes: 4n * GiB } });
    await world.bound('data');
    await world.start();
    await world.request('data', '3Gi');
    await world.claim('data', isResizedTo('4Gi'));
    assert.equal((await world.volume('data')).spec.capacity?.storage, '4Gi');
  });

  test('[SIDE-1] fails when the driver returns less than requested', async (t) => {
    const world = await resizerWorld(t, alone);
    world.driver.script('ControllerExpandVolume', { answer: { capacityBytes: 0n } });
    await world.bound('data');
    await world.start();
    await world.request('data', '2Gi');
    await world.told('data', 'VolumeResizeFailed', /0 bytes; 2147483648 were requested/);
    await world.claim('data', isResizedTo('2Gi'));
  });

  test('[SIDE-1] again while it grows: one after the other', async (t) => {
    const world = await resizerWorld(t, alone);
    const held = Promise.withResolvers<void>();
    world.driver.script('ControllerExpandVolume', { until: held.promise });
    await world.bound('data');
    await world.start();
    await world.request('data', '2Gi');
    await world.driver.until(() => sizesAsked(world).length === 1);
    await world.request('data', '3Gi');
    held.resolve();
    await world.claim('data', isResizedTo('3Gi'));
    assert.deepEqual(sizesAsked(world), [2n, 3n]);
    assert.equal(world.driver.mostAtOnce.get('vol-data'), 1);
  });

  test('[SIDE-1] of another driver is left alone', async (t) => {
    const world = await resizerWorld(t, alone);
    await world.bound('ours');
    await world.bound('theirs', { csi: { driver: 'other.csi.test' } });
    await world.start();
    await world.request('theirs', '2Gi');
    await world.request('ours', '2Gi');
    await world.claim('ours', isResizedTo('2Gi'));
    assert.deepEqual(
      world.driver
        .callsOf<ControllerExpandVolumeRequest>('ControllerExpandVolume')
        .map(({ volumeId }) => volumeId),
      ['vol-ours'],
    );
  });

  test('[SIDE-1] of a driver that grows volumes on the node alone goes to the node without a call', async (t) => {
    const world = await resizerWorld(t, { driver: { controller: [], node: ['EXPAND_VOLUME'] } });
    await world.bound('data');
    await world.start();
    await world.request('data', '2Gi');
    await world.claim('data', stateIs('NodeResizePending'));
    assert.equal((await world.volume('data')).spec.capacity?.storage, '2Gi');
    assert.deepEqual(sizesAsked(world), []);
  });

  test('[SIDE-1] is followed without states where the gate is off', async (t) => {
    const world = await resizerWorld(t, {
      resizer: {
        featureGates: { ...DEFAULT_RESIZER_FLAGS.featureGates, RecoverVolumeExpansionFailure: false },
      },
    });
    await world.bound('data');
    await world.start();
    await world.request('data', '2Gi');
    const claim = await world.claim('data', (each) => conditionsOf(each).includes('FileSystemResizePending'));
    assert.deepEqual(conditionsOf(claim), ['FileSystemResizePending']);
    assert.equal(claim.status?.allocatedResources, undefined);
    assert.equal(claim.status?.allocatedResourceStatuses, undefined);
    assert.equal((await world.volume('data')).metadata.annotations?.[PRE_RESIZE], undefined);
  });
});

describe('what goes wrong', () => {
  test('[SIDE-1] a driver that fails is asked again, and the claim says why meanwhile', async (t) => {
    const world = await resizerWorld(t, alone);
    const held = Promise.withResolvers<void>();
    world.driver.script(
      'ControllerExpandVolume',
      { fail: 'INTERNAL', message: 'array is busy' },
      { until: held.promise },
    );
    await world.bound('data');
    await world.start();
    await world.request('data', '2Gi');
    const claim = await world.claim('data', (each) => conditionsOf(each).includes('ControllerResizeError'));
    assert.equal(claim.status?.allocatedResourceStatuses?.storage, 'ControllerResizeInProgress');
    assert.match(
      claim.status?.conditions?.find(({ type }) => type === 'ControllerResizeError')?.message ?? '',
      /array is busy/,
    );
    await world.told('data', 'VolumeResizeFailed', /array is busy/);
    held.resolve();
    await world.claim('data', isResizedTo('2Gi'));
  });

  test('[SIDE-1] a retry that somebody asks for does not wait for the backoff', async (t) => {
    const world = await resizerWorld(t, {
      ...alone,
      resizer: { retryIntervalStartMs: 600_000, retryIntervalMaxMs: 600_000 },
    });
    world.driver.script('ControllerExpandVolume', { fail: 'INTERNAL', message: 'array is busy' });
    await world.bound('data');
    await world.start();
    await world.request('data', '2Gi');
    await world.told('data', 'VolumeResizeFailed', /array is busy/);
    await world.admin.patch(
      persistentVolumeClaims,
      { name: 'data', namespace: 'default' },
      { metadata: { annotations: { [ANN_RETRY]: 'now' } } },
      { type: 'merge' },
    );
    await world.claim('data', isResizedTo('2Gi'));
  });

  test('[SIDE-1] what went wrong stays to be read until the node has finished, as officially', async (t) => {
    const world = await resizerWorld(t);
    world.driver.script('ControllerExpandVolume', { fail: 'INTERNAL', message: 'array is busy' });
    await world.bound('data');
    await world.start();
    await world.request('data', '2Gi');
    const claim = await world.claim('data', stateIs('NodeResizePending'));
    assert.deepEqual(conditionsOf(claim).sort(), [
      'ControllerResizeError',
      'FileSystemResizePending',
      'Resizing',
    ]);
  });

  test('[SIDE-1] a call without an answer is repeated with its size, though less is asked for now', async (t) => {
    const world = await resizerWorld(t, alone);
    world.driver.always('ControllerExpandVolume', { failAfter: 'DEADLINE_EXCEEDED' });
    await world.bound('data');
    await world.start();
    await world.request('data', '9Gi');
    await world.driver.until(() => sizesAsked(world).length > 2);
    await world.request('data', '2Gi');
    const before = sizesAsked(world).length;
    await world.driver.until(() => sizesAsked(world).length > before + 1);
    world.driver.always('ControllerExpandVolume', undefined);
    await world.claim('data', isResizedTo('9Gi'));
    assert.deepEqual([...new Set(sizesAsked(world))], [9n]);
  });

  test('[SIDE-1] a refusal that an earlier resizer reports only now is rejected, because this one has called since', async (t) => {
    const world = await resizerWorld(t, alone);
    const report = Promise.withResolvers<() => Promise<unknown>>();
    world.driver.script('ControllerExpandVolume', { fail: 'OUT_OF_RANGE' });
    await world.bound('data');
    const earlier = await world.start(
      ({ kube }) => ({
        kube: {
          ...kube,
          patch(...call: Parameters<KubeClient['patch']>) {
            if (!JSON.stringify(call[2]).includes('ControllerResizeInfeasible')) return kube.patch(...call);
            const [resource, name, patch, options] = call;
            report.resolve(() => kube.patch(resource, name, patch, { ...options, signal: soon() }));
            return new Promise(() => {});
          },
        },
      }),
      { abandoned: true },
    );
    await world.request('data', '9Gi');
    const sendReport = await report.promise;
    await earlier.stop();
    world.driver.always('ControllerExpandVolume', { failAfter: 'DEADLINE_EXCEEDED' });
    await world.start();
    await world.driver.until(() => sizesAsked(world).length > 1);
    await assert.rejects(sendReport(), { code: 409 });
    await world.request('data', '2Gi');
    const before = sizesAsked(world).length;
    await world.driver.until(() => sizesAsked(world).length > before);
    world.driver.always('ControllerExpandVolume', undefined);
    await world.claim('data', isResizedTo('9Gi'));
    assert.deepEqual([...new Set(sizesAsked(world))], [9n]);
  });

  test('[SIDE-1] an infeasible size is recovered by lowering the request', async (t) => {
    const world = await resizerWorld(t, { ...alone, resizer: { retryIntervalMaxMs: 600_000 } });
    world.driver.script('ControllerExpandVolume', { fail: 'OUT_OF_RANGE', message: 'too large' });
    await world.bound('data');
    await world.start();
    await world.request('data', '9Gi');
    const refused = await world.claim('data', stateIs('ControllerResizeInfeasible'));
    assert.equal(refused.status?.allocatedResources?.storage, '9Gi');
    await world.request('data', '2Gi');
    const claim = await world.claim('data', isResizedTo('2Gi'));
    assert.equal(claim.status?.allocatedResources?.storage, '2Gi');
    assert.deepEqual(sizesAsked(world), [9n, 2n]);
  });

  test('[SIDE-1] the driver is never asked while the claim says that nothing is under way, whatever the cache shows', async (t) => {
    const world = await resizerWorld(t, alone);
    const { faults, statesAtCalls } = forgottenReport(t, world, 'ControllerExpandVolume');
    world.driver.script('ControllerExpandVolume', { fail: 'OUT_OF_RANGE' });
    await world.bound('data');
    await world.start(faults);
    await world.request('data', '9Gi');
    await world.claim('data', isResizedTo('9Gi'));
    assert.deepEqual(
      statesAtCalls.map((status) => status?.allocatedResourceStatuses?.storage),
      ['ControllerResizeInProgress', 'ControllerResizeInProgress'],
    );
  });

  test('[SIDE-1] an infeasible size is retried at the maximum interval only', async (t) => {
    const world = await resizerWorld(t, { ...alone, resizer: { retryIntervalMaxMs: 600_000 } });
    world.driver.always('ControllerExpandVolume', { fail: 'INVALID_ARGUMENT' });
    await world.bound('data');
    await world.bound('other');
    await world.start();
    await world.request('data', '9Gi');
    await world.claim('data', stateIs('ControllerResizeInfeasible'));
    world.driver.always('ControllerExpandVolume', undefined);
    await world.request('other', '2Gi');
    await world.claim('other', isResizedTo('2Gi'));
    assert.deepEqual(sizesAsked(world), [9n, 2n]);
  });

  test('[SIDE-1] a final failure lets the request be lowered', async (t) => {
    const world = await resizerWorld(t, alone);
    world.driver.always('ControllerExpandVolume', { fail: 'INTERNAL' });
    await world.bound('data');
    await world.start();
    await world.request('data', '9Gi');
    await world.driver.until(() => sizesAsked(world).length > 0);
    await world.request('data', '2Gi');
    await world.driver.until(() => sizesAsked(world).includes(2n));
    world.driver.always('ControllerExpandVolume', undefined);
    await world.claim('data', isResizedTo('2Gi'));
  });

  test('[SIDE-1] infeasible on the node: the driver confirms it, then the node may try again', async (t) => {
    const world = await resizerWorld(t);
    await world.bound('data');
    await world.start();
    await world.request('data', '2Gi');
    await world.claim('data', stateIs('NodeResizePending'));
    await world.writeStatus('data', { allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' } });
    await world.driver.until(() => sizesAsked(world).length === 2);
    await world.claim('data', stateIs('NodeResizePending'));
  });

  test('[SIDE-1] a write conflict is not reported to the user', async (t) => {
    const world = await resizerWorld(t, alone);
    const held = Promise.withResolvers<void>();
    world.driver.script('ControllerExpandVolume', { until: held.promise });
    await world.bound('data');
    await world.start();
    await world.request('data', '2Gi');
    await world.driver.until(() => sizesAsked(world).length === 1);
    const { status } = await world.claim('data', stateIs('ControllerResizeInProgress'));
    await world.writeStatus('data', {
      conditions: [...(status?.conditions ?? []), { type: 'Theirs', status: 'True' }],
    });
    held.resolve();
    const claim = await world.claim('data', ({ status }) => status?.capacity?.storage === '2Gi');
    assert.deepEqual(conditionsOf(claim), ['Theirs']);
    assert.deepEqual(sizesAsked(world), [2n]);
  });

  for (const nodeExpansionRequired of [false, true]) {
    const how = nodeExpansionRequired ? 'up to the node' : 'on the controller';
    test(`[SIDE-1] expansion works with an API server that drops allocatedResources ${how}`, async (t) => {
      const world = await resizerWorld(t, { driver: { nodeExpansionRequired } });
      await world.bound('data');
      await world.start(({ kube }) => ({
        kube: {
          ...kube,
          patch: (resource: never, name: never, patch: { status?: object }, options: never) => {
            const { allocatedResources, allocatedResourceStatuses, ...status } = (patch.status ?? {}) as {
              allocatedResources?: object;
              allocatedResourceStatuses?: object;
            };
            return kube.patch(resource, name, patch.status ? { ...patch, status } : patch, options);
          },
        },
      }));
      await world.request('data', '2Gi');
      if (nodeExpansionRequired) {
        await world.claim('data', (each) => conditionsOf(each).includes('FileSystemResizePending'));
      } else await world.claim('data', isResizedTo('2Gi'));
      assert.deepEqual(sizesAsked(world), [2n]);
      assert.equal((await world.volume('data')).spec.capacity?.storage, '2Gi');
    });
  }

  test('[SIDE-1] the expansion of a claim that is being deleted is still finished', async (t) => {
    const world = await resizerWorld(t, alone);
    const held = Promise.withResolvers<void>();
    world.driver.script('ControllerExpandVolume', { until: held.promise, fail: 'UNAVAILABLE' });
    await world.bound('data');
    await world.start();
    await world.request('data', '2Gi');
    await world.driver.until(() => sizesAsked(world).length === 1);
    // Its protection finalizer keeps it while a pod uses it.
    await world.admin.delete(persistentVolumeClaims, { name: 'data', namespace: 'default' });
    held.resolve();
    await world.claim('data', isResizedTo('2Gi'));
  });

  for (const [name, driver] of [
    ['neither expands nor modifies', { controller: ['CREATE_DELETE_VOLUME'] }],
    ['has no controller service', { plugin: [] }],
  ] as const) {
    test(`[SIDE-1] a driver that ${name} is refused with a message`, async (t) => {
      const world = await resizerWorld(t, { driver: driver as never });
      await assert.rejects(
        async () => (await world.start()).ended,
        new RegExp(`driver ${DRIVER} .*(EXPAND_VOLUME|no controller service)`),
      );
    });
  }
});

describe('a driver, about a volume that is in use,', () => {
  const user = (name: string, claimName: string) => ({
    metadata: { name, namespace: 'default' },
    spec: {
      nodeName: 'node-a',
      containers: [{ name: 'main', image: 'busybox' }],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
    },
  });
  const remove = (world: ResizerWorld, name: string) =>
    world.admin.delete(pods, { name, namespace: 'default' }, { gracePeriodSeconds: 0 });

  test('[SIDE-1] is not asked again before the pod is gone', async (t) => {
    const world = await resizerWorld(t, alone);
    world.driver.script('ControllerExpandVolume', { fail: 'FAILED_PRECONDITION', message: 'in use' });
    await world.bound('data');
    await world.admin.create(pods, user('web', 'data') as never);
    await world.start();
    await world.request('data', '2Gi');
    await world.told('data', 'VolumeResizeFailed', /only while no pod uses it, and pod web does/);
    assert.deepEqual(sizesAsked(world), [2n]);
    await remove(world, 'web');
    await world.claim('data', isResizedTo('2Gi'));
    assert.deepEqual(sizesAsked(world), [2n, 2n]);
  });

  test('[SIDE-1] is not asked at all while a pod uses the volume, when it says so itself', async (t) => {
    const world = await resizerWorld(t, { driver: { nodeExpansionRequired: false, expansion: ['OFFLINE'] } });
    await world.bound('data');
    await world.admin.create(pods, user('web', 'data') as never);
    await world.start();
    await world.request('data', '2Gi');
    const claim = await world.claim('data', (each) => conditionsOf(each).includes('ControllerResizeError'));
    assert.match(claim.status?.conditions?.[0]?.message ?? '', /pod web does/);
    assert.deepEqual(sizesAsked(world), []);
    await remove(world, 'web');
    await world.claim('data', isResizedTo('2Gi'));
  });

  test('[SIDE-1] is asked again though a pod uses the volume, when it grows volumes in use', async (t) => {
    const world = await resizerWorld(t, { driver: { nodeExpansionRequired: false, expansion: ['ONLINE'] } });
    world.driver.script('ControllerExpandVolume', { fail: 'FAILED_PRECONDITION', message: 'not now' });
    await world.bound('data');
    await world.admin.create(pods, user('web', 'data') as never);
    await world.start();
    await world.request('data', '2Gi');
    await world.claim('data', isResizedTo('2Gi'));
    assert.deepEqual(sizesAsked(world), [2n, 2n]);
  });

  test('[SIDE-1] is asked every time with --handle-volume-inuse-error=false', async (t) => {
    const world = await resizerWorld(t, { ...alone, resizer: { handleVolumeInuseError: false } });
    world.driver.script(
      'ControllerExpandVolume',
      { fail: 'FAILED_PRECONDITION' },
      { fail: 'FAILED_PRECONDITION' },
    );
    await world.bound('data');
    await world.admin.create(pods, user('web', 'data') as never);
    await world.start();
    await world.request('data', '2Gi');
    await world.claim('data', isResizedTo('2Gi'));
    assert.equal(sizesAsked(world).length, 3);
  });
});

describe('secrets', () => {
  const reference = { name: 'grow', namespace: 'vault' };

  test('[SEC-1] [SIDE-1] reach ControllerExpandVolume, and nobody else', async (t) => {
    const world = await resizerWorld(t, alone);
    await world.admin.create(namespaces, { metadata: { name: 'vault' } });
    await world.bound('data', { csi: { controllerExpandSecretRef: reference } });
    await world.start();
    await world.request('data', '2Gi');
    await world.told('data', 'VolumeResizeFailed', /secret vault\/grow does not exist/);
    assert.deepEqual(sizesAsked(world), []);
    world.driver.script('ControllerExpandVolume', {
      fail: 'INTERNAL',
      message: 'bad password hunter2-not-shown',
    });
    await world.admin.create(secrets, {
      metadata: reference,
      data: { password: Buffer.from('hunter2-not-shown').toString('base64') },
    });
    await world.claim('data', isResizedTo('2Gi'));
    const [call] = world.driver.callsOf<ControllerExpandVolumeRequest>('ControllerExpandVolume');
    assert.deepEqual(call?.secrets, { password: 'hunter2-not-shown' });
    await world.told('data', 'VolumeResizeFailed', /bad password/);
    const shown = JSON.stringify([world.events.list(), world.claims.list(), world.volumes.list()]);
    assert.doesNotMatch(shown + JSON.stringify(world.log.lines), /hunter2-not-shown/);
  });
});
