// From any state that users, crashes and other programs can leave behind, the binder converges to a legal one. The real
// binder on the real API server, under virtual time; every crash is right before or right after a write.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fc from 'fast-check';
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '../../api/kinds.ts';
import { serviceAccountUser } from '../../apiserver/auth/users.ts';
import { testServer } from '../../apiserver/testing/test-server.ts';
import { createEventRecorder } from '../../runtime/events/create-event-recorder.ts';
import { createInformers } from '../../runtime/informer/create-informers.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { silentLog } from '../../runtime/log/log.ts';
import { seededRandom } from '../../runtime/random.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { matchVolume, mismatch } from '../matching/match-volume.ts';
import { claim, volume } from '../testing/objects.ts';
import { createBinder } from './binder.ts';
import { isBindCompleted, isWaiting } from './decide-claim.ts';

interface GivenClaim {
  size: string;
  className: string;
  volumeName: number | undefined;
  completed: boolean;
  phase: string;
  mode: string;
}
interface GivenVolume {
  size: string;
  className: string;
  claim: { index: number; uid: 'none' | 'right' | 'wrong' } | undefined;
  byController: boolean;
  provisioned: boolean;
  phase: string;
  policy: string;
  mode: string;
}
/** What happens at the binder's nth write. */
type Fault = { write: number; kind: 'crash-before' | 'crash-after' | 'lost-answer' };

const size = fc.constantFrom('1Gi', '2Gi', '5Gi');
const className = fc.constantFrom('manual', 'manual', '');
const mode = fc.constantFrom('Filesystem', 'Filesystem', 'Filesystem', 'Block');
const givenClaim: fc.Arbitrary<GivenClaim> = fc.record({
  size,
  className,
  volumeName: fc.option(fc.nat(4), { nil: undefined }),
  completed: fc.boolean(),
  phase: fc.constantFrom('Pending', 'Pending', 'Bound', 'Lost'),
  mode,
});
const givenVolume: fc.Arbitrary<GivenVolume> = fc.record({
  size,
  className,
  claim: fc.option(fc.record({ index: fc.nat(4), uid: fc.constantFrom('none', 'right', 'wrong') }), {
    nil: undefined,
  }),
  byController: fc.boolean(),
  provisioned: fc.boolean(),
  phase: fc.constantFrom('Pending', 'Available', 'Bound', 'Released', 'Failed'),
  policy: fc.constantFrom('Retain', 'Delete'),
  mode,
});
const fault: fc.Arbitrary<Fault> = fc.record({
  write: fc.nat(6),
  kind: fc.constantFrom('crash-before', 'crash-after', 'lost-answer'),
});

interface State {
  claims: PersistentVolumeClaim[];
  volumes: PersistentVolume[];
}

const cleanUps: (() => unknown)[] = [];
after(async () => {
  for (const cleanUp of cleanUps) await cleanUp();
});
const scope = { after: (cleanUp: () => unknown) => cleanUps.push(cleanUp) };
const template = await testServer(scope as never);
const image = template.image();

/** Long enough for every backoff to expire several times. */
const LONG_MS = 300_000;

class World {
  readonly clock = new VirtualClock();
  readonly #server: Awaited<ReturnType<typeof testServer>>;
  readonly #admin: KubeClient;

  private constructor(server: Awaited<ReturnType<typeof testServer>>, clock: VirtualClock) {
    this.#server = server;
    this.#admin = server.client(server.adminUser);
    this.clock = clock;
  }

  static async create(): Promise<World> {
    const clock = new VirtualClock();
    const cleanUp = { after: () => {} };
    return new World(await testServer(cleanUp, { clock, image, pki: template.pki }), clock);
  }

  async populate(claims: readonly GivenClaim[], volumes: readonly GivenVolume[]): Promise<void> {
    const uids: string[] = [];
    for (const [index, given] of claims.entries()) uids.push(await this.#createClaim(given, index));
    for (const [index, given] of volumes.entries()) await this.#createVolume(given, index, uids);
  }

  /** Runs one binder until it crashes or is idle; returns the number of its writes. */
  async runBinder(faults: readonly Fault[]): Promise<number> {
    const stop = new AbortController();
    const own = this.#server.client(serviceAccountUser('kube-system', 'persistent-volume-binder'));
    let writes = 0;
    const kube: KubeClient = {
      ...own,
      update: async (resource, object, options) => {
        const planned = faults.find(({ write }) => write === writes);
        writes++;
        if (planned?.kind === 'crash-before') {
          stop.abort(new Error('crash'));
          throw stop.signal.reason;
        }
        const answer = await own.update(resource, object, options);
        if (planned?.kind === 'crash-after') {
          stop.abort(new Error('crash'));
          throw stop.signal.reason;
        }
        if (planned) throw new KubeError({ reason: 'Unreachable', code: 0, message: 'the answer was lost' });
        return answer;
      },
    };
    const common = { clock: this.clock, random: seededRandom(1), log: silentLog, kube };
    const informers = createInformers(common);
    const recorder = createEventRecorder({ ...common, component: 'binder', signal: stop.signal });
    const running = createBinder({ ...common, informers, recorder }).run(stop.signal);
    informers.start(stop.signal);
    await this.clock.advance(LONG_MS);
    stop.abort();
    await this.#drive(running);
    return writes;
  }

  async state(): Promise<State> {
    const { items: claims } = await this.#drive(this.#admin.list(persistentVolumeClaims));
    const { items: volumes } = await this.#drive(this.#admin.list(persistentVolumes));
    return { claims, volumes };
  }

  async end(): Promise<void> {
    await this.#drive(this.#server.stop());
  }

  async #createClaim(given: GivenClaim, index: number): Promise<string> {
    const { volumeName, completed } = given;
    const draft = claim(
      `c${index}`,
      {
        storageClassName: given.className,
        resources: { requests: { storage: given.size } },
        volumeMode: given.mode,
        ...(volumeName !== undefined && { volumeName: `v${volumeName}` }),
      },
      completed ? { annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } } : {},
    );
    const created = await this.#drive(this.#admin.create(persistentVolumeClaims, draft));
    const marked = { ...created, status: { ...created.status, phase: given.phase } };
    const status = { subresource: 'status' };
    await this.#drive(this.#admin.update(persistentVolumeClaims, marked, status));
    return created.metadata.uid;
  }

  async #createVolume(given: GivenVolume, index: number, uids: readonly string[]): Promise<void> {
    const uid = { none: undefined, wrong: 'wrong', right: uids[given.claim?.index ?? 0] }[
      given.claim?.uid ?? 'none'
    ];
    const draft = volume(
      `v${index}`,
      {
        storageClassName: given.className,
        capacity: { storage: given.size },
        volumeMode: given.mode,
        persistentVolumeReclaimPolicy: given.policy,
        ...(given.claim && {
          claimRef: { name: `c${given.claim.index}`, namespace: 'default', ...(uid && { uid }) },
        }),
      },
      {
        annotations: {
          ...(given.byController && { 'pv.kubernetes.io/bound-by-controller': 'yes' }),
          ...(given.provisioned && { 'pv.kubernetes.io/provisioned-by': 'd' }),
        },
      },
    );
    const created = await this.#drive(this.#admin.create(persistentVolumes, draft));
    const marked = { ...created, status: { ...created.status, phase: given.phase } };
    await this.#drive(this.#admin.update(persistentVolumes, marked, { subresource: 'status' }));
  }

  async #drive<T>(promise: Promise<T>): Promise<T> {
    return (await this.clock.runUntil(promise, LONG_MS)) as T;
  }
}

/** Both sides reference each other, by name and UID. */
function isPair(claim: PersistentVolumeClaim, volume: PersistentVolume | undefined): boolean {
  return (
    volume !== undefined &&
    isBindCompleted(claim) &&
    claim.spec.volumeName === volume.metadata.name &&
    volume.spec.claimRef?.uid === claim.metadata.uid
  );
}

function checkLegal({ claims, volumes }: State): void {
  const volumeNamed = (name: string | undefined) => volumes.find(({ metadata }) => metadata.name === name);
  for (const claim of claims) {
    const { name } = claim.metadata;
    const own = volumeNamed(claim.spec.volumeName);
    switch (claim.status?.phase) {
      case 'Bound':
        assert.ok(isPair(claim, own), `${name} says Bound and is not`);
        assert.ok(claim.status.capacity, `${name} is bound without a capacity`);
        break;
      case 'Lost':
        assert.ok(isBindCompleted(claim), `${name} was never bound and says Lost`);
        assert.ok(!isPair(claim, own), `${name} has its volume and says Lost`);
        assert.ok(own === undefined || own.spec.claimRef, `${name} says Lost, and its volume is free`);
        break;
      case 'Pending':
        assert.ok(!isBindCompleted(claim), `${name} was bound and says Pending`);
        assert.ok(!isWaiting(claim) || !matchVolume(claim, volumes), `${name} waits although a volume fits`);
        if (own && !own.spec.claimRef) assert.ok(mismatch(own, claim), `${name} could have what it asks for`);
        break;
      default:
        assert.fail(`${name} has phase ${claim.status?.phase}`);
    }
  }
  for (const volume of volumes) {
    const { name } = volume.metadata;
    const { claimRef } = volume.spec;
    const claim = claims.find(({ metadata }) => metadata.uid === claimRef?.uid);
    switch (volume.status?.phase) {
      case 'Bound':
        // A claim whose volumeName was removed by someone still has its data there.
        assert.ok(claim, `${name} says Bound, and its claim is gone`);
        assert.ok(claim.spec.volumeName === name || !claim.spec.volumeName, `${name}: its claim has another`);
        break;
      case 'Available':
        assert.ok(!claimRef?.uid || (claim && !claim.spec.volumeName), `${name} says Available`);
        assert.ok(!claim || !isPair(claim, volume), `${name} has a claim and says Available`);
        break;
      case 'Released':
      case 'Failed':
        assert.ok(claimRef?.uid, `${name} says ${volume.status.phase} and names nobody`);
        assert.ok(!claim || !isPair(claim, volume), `${name} is released under its claim`);
        break;
      case 'Pending':
        // Named by UID for a claim that cannot have it, or does not look for a volume.
        assert.ok(claim && !claim.spec.volumeName, `${name} was not looked at`);
        break;
      default:
        assert.fail(`${name} has phase ${volume.status?.phase}`);
    }
  }
}

test('the binder converges to a valid state from any state, through crashes and lost responses', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(givenClaim, { maxLength: 4 }),
      fc.array(givenVolume, { maxLength: 4 }),
      fc.array(fc.array(fault, { maxLength: 2 }), { maxLength: 3 }),
      async (claims, volumes, faults) => {
        const world = await World.create();
        try {
          await world.populate(claims, volumes);
          const before = await world.state();
          for (const planned of faults) await world.runBinder(planned);
          await world.runBinder([]);
          const end = await world.state();
          checkLegal(end);
          for (const each of before.claims) {
            const had = before.volumes.find((volume) => isPair(each, volume));
            if (!had) continue;
            const has = end.claims.find(({ metadata }) => metadata.uid === each.metadata.uid);
            assert.equal(has?.spec.volumeName, had.metadata.name, 'a binding was changed');
            assert.equal(has?.status?.phase, 'Bound', 'a binding was lost');
          }
          assert.equal(await world.runBinder([]), 0, 'it is not at rest');
        } finally {
          await world.end();
        }
      },
    ),
    { numRuns: 200 },
  );
});
