// What the snapshot controller does before objects of another replica become its own.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  persistentVolumeClaims,
  persistentVolumes,
  volumeGroupSnapshotClasses,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../api/kinds.ts';
import { keyOf, type Resource } from '../../api/object.ts';
import { FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE, FINALIZER_GROUP_SNAPSHOT_BOUND } from '../../api/well-known.ts';
import { manualInformers } from '../../runtime/informer/testing/manual-informers.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { memoryLog } from '../../runtime/log/log.ts';
import { createMetrics } from '../../runtime/metrics/metrics.ts';
import { seededRandom } from '../../runtime/random.ts';
import type { Owns } from '../../runtime/sharding/shares.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import type { ControllerPorts } from '../controller.ts';
import { objectsLike } from '../testing/wake-rows.ts';
import { createSnapshotController, SNAPSHOT_CONTROLLER_DEFAULTS } from './snapshot-controller.ts';

const claim = objectsLike('c', {
  metadata: {
    namespace: 'ns',
    resourceVersion: '1',
    labels: { app: 'db' },
    finalizers: [FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE],
  },
});
const going = { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } };
const group = (name: string, namespace = 'ns') =>
  objectsLike(name, {
    metadata: { namespace, resourceVersion: '1' },
    spec: { source: { selector: { matchLabels: { app: 'db' } } } },
  })();

function gainWorld() {
  const informers = manualInformers();
  const clock = new VirtualClock();
  const patched: string[] = [];
  const gains: { prepare(before: Owns): Promise<void>; look(): void } = {
    prepare: async () => {},
    look() {},
  };
  const world = { informers, clock, patched, gains, owns: true, list: async (): Promise<object> => ({}) };
  const kube: Record<string, (resource: Resource, object: { name: string }) => Promise<unknown>> = {
    list: () => world.list(),
    get: async ({ plural }) => {
      if (plural === persistentVolumeClaims.plural) return claim(going);
      throw new KubeError({ code: 404, reason: 'NotFound', message: 'none' });
    },
    patch: async ({ plural }, { name }) => {
      patched.push(`${plural} ${name}`);
      return plural === persistentVolumeClaims.plural ? claim(going) : group(name);
    },
  };
  const shares = {
    term: 1,
    owns: () => world.owns,
    enter: () => (world.owns ? { leave() {} } : undefined),
    beforeGain: (prepare: typeof gains.prepare) => void Object.assign(gains, { prepare }),
    onGain: (look: () => void) => void Object.assign(gains, { look }),
  };
  const ports = {
    kube,
    informers,
    clock,
    shares,
    recorder: { event() {}, flush: async () => {} },
    random: seededRandom('gain'),
    log: memoryLog(),
    metrics: createMetrics(),
  } as unknown as ControllerPorts;
  const controller = createSnapshotController(ports, { ...SNAPSHOT_CONTROLLER_DEFAULTS, workers: 1 });
  return Object.assign(world, { controller, kube });
}

test('before a gain the caches of snapshots, contents, claims and groups are brought up to date', async () => {
  const { informers, gains } = gainWorld();
  const refreshed: string[] = [];
  const kinds = [
    volumeSnapshots,
    volumeSnapshotContents,
    persistentVolumeClaims,
    volumeGroupSnapshots,
    volumeGroupSnapshotContents,
  ];
  for (const kind of kinds)
    Object.assign(informers.of<never>(kind as never), {
      refresh: async () => void refreshed.push(kind.plural),
    });
  await gains.prepare(() => false);
  assert.deepEqual(refreshed.toSorted(), kinds.map(({ plural }) => plural).toSorted());
});

test('after a gain a group that could not be cut before keeps its claims until it is planned anew', async (t) => {
  const world = gainWorld();
  const { informers, clock, patched, gains, controller } = world;
  informers.change(persistentVolumeClaims, undefined, claim());
  informers.change(volumeGroupSnapshots, undefined, group('g'));
  const stop = new AbortController();
  t.after(() => stop.abort());
  // The selector finds nothing.
  world.list = async () => ({ items: [] });
  void controller.run(stop.signal);
  await clock.advance(1);
  assert.deepEqual(patched, ['volumegroupsnapshots g'], 'the error is shown');

  world.owns = false;
  informers.change(persistentVolumeClaims, claim(), claim(going));
  await clock.advance(1);
  world.owns = true;
  // The only worker is busy with another group.
  world.list = () => new Promise(() => {});
  informers.change(volumeGroupSnapshots, undefined, group('other', 'other'));
  await clock.advance(1);
  await gains.prepare(() => false);
  gains.look();
  await clock.advance(1);
  assert.deepEqual(patched, ['volumegroupsnapshots g'], 'the claim keeps its finalizer');
});

for (const [what, before, released] of [
  ['a group snapshot that was another replica’s lets go of', false, ['persistentvolumeclaims c2']],
  ['a group snapshot that stayed this replica’s keeps', true, []],
] as const)
  test(`after a gain ${what} the claims that it was planned with`, async (t) => {
    const world = gainWorld();
    const { informers, clock, patched, gains, controller, kube } = world;
    const bound = (name: string, labels: object = { app: 'db' }) =>
      objectsLike(name, {
        metadata: { ...claim().metadata, name, uid: `uid-${name}`, labels },
        spec: { volumeName: `pv-${name}` },
        status: { phase: 'Bound' },
      })();
    for (const name of ['c1', 'c2']) {
      const claimRef = { name, namespace: 'ns', uid: `uid-${name}` };
      const csi = { driver: 'd', volumeHandle: `h-${name}` };
      const volume = objectsLike(`pv-${name}`, { spec: { claimRef, csi } })();
      informers.change(persistentVolumes, undefined, volume);
      informers.change(persistentVolumeClaims, undefined, bound(name));
    }
    const groupClass = { metadata: { name: 'class', uid: 'u' }, driver: 'd', deletionPolicy: 'Delete' };
    informers.change(volumeGroupSnapshotClasses, undefined, groupClass);
    const { metadata, spec } = group('g');
    const planned = {
      metadata: { ...metadata, finalizers: [FINALIZER_GROUP_SNAPSHOT_BOUND] },
      spec: { ...spec, volumeGroupSnapshotClassName: 'class' },
    };
    informers.change(volumeGroupSnapshots, undefined, planned);
    world.list = async () => ({ items: informers.of(persistentVolumeClaims).list() });
    let creations = 0;
    Object.assign(kube, {
      get: async (resource: Resource, object: { name: string }) =>
        informers.of(resource).get(keyOf({ metadata: object })),
      async patch(resource: Resource, object: { name: string }) {
        patched.push(`${resource.plural} ${object.name}`);
        return informers.of(resource).get(keyOf({ metadata: object }));
      },
      async create() {
        creations++;
        throw new Error('the request is lost');
      },
    });
    const stop = new AbortController();
    t.after(() => stop.abort());
    void controller.run(stop.signal);
    await clock.advance(1);
    assert.equal(creations, 1, 'it was planned with both claims');

    // Another replica plans it without the second claim.
    world.owns = false;
    informers.change(persistentVolumeClaims, bound('c2'), bound('c2', {}));
    const content = objectsLike('groupsnapcontent-uid-g', {
      spec: {
        driver: 'd',
        source: { volumeHandles: ['h-c1'] },
        volumeGroupSnapshotRef: { name: 'g', namespace: 'ns', uid: 'uid-g' },
      },
    })();
    informers.change(volumeGroupSnapshotContents, undefined, content);
    await clock.advance(1);
    patched.length = 0;
    await gains.prepare((key) => key === 'namespace/ns' && before);
    world.owns = true;
    gains.look();
    await clock.advance(1);
    assert.deepEqual(
      patched.filter((each) => each.startsWith(persistentVolumeClaims.plural)),
      released,
    );
  });
