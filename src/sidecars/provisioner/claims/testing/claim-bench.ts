// For tests of single steps on a claim: a real API server, ledger, planner and attempts; the driver is a list of
// responses.

import type { TestContext } from 'node:test';
import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type StorageClass,
  storageClasses,
} from '../../../../api/kinds.ts';
import { testServer } from '../../../../apiserver/testing/test-server.ts';
import { loopbackTransport } from '../../../../csi/client/loopback-transport.ts';
import { CsiError } from '../../../../csi/csi-error.ts';
import type { Volume } from '../../../../csi/generated/csi/v1/csi_pb.ts';
import { parseDriverName } from '../../../../csi/names/driver-name.ts';
import { createInformers } from '../../../../runtime/informer/create-informers.ts';
import { ReadYourWrites } from '../../../../runtime/informer/read-your-writes.ts';
import { ifThere } from '../../../../runtime/kube/if-there.ts';
import { memoryLog } from '../../../../runtime/log/log.ts';
import { createMetrics } from '../../../../runtime/metrics/metrics.ts';
import { seededRandom } from '../../../../runtime/random.ts';
import { realClock } from '../../../../runtime/time/clock.ts';
import type { GrpcCode } from '../../../../wire/grpc/grpc-code.ts';
import type { Driver } from '../../../common/identify-driver.ts';
import { intentOn } from '../../intents/intent.ts';
import { createIntentLedger } from '../../intents/intent-ledger.ts';
import type { ProvisionerContext } from '../../provisioner-context.ts';
import { DEFAULT_PROVISIONER_FLAGS } from '../../provisioner-flags.ts';
import { provisionerMetrics } from '../../provisioner-metrics.ts';
import { watchGrants } from '../../sources/reference-grants.ts';
import { TopologyIndex } from '../../topology/topology-index.ts';
import { indexByHandle } from '../../volumes/volume-use.ts';
import { Attempts } from '../attempts.ts';
import { type ClaimRun, type ClaimWork, inputsOf } from '../claim-work.ts';
import type { ProvisionRun } from '../provision-claim.ts';
import { createVolumePlanner } from '../volume-planner.ts';

const DRIVER = parseDriverName('d.test');
/** What CreateVolume does: creates the volume, fails, or fails after creating it. */
export type Answer = 'made' | GrpcCode | { after: GrpcCode };

/** `parameters`: of the class. */
export async function claimBench(t: TestContext, parameters: Record<string, string> = {}) {
  const server = await testServer(t);
  const kube = server.client(server.adminUser);
  const stop = new AbortController();
  t.after(() => stop.abort());
  const { signal } = stop;
  const log = memoryLog();
  const clock = realClock;
  const random = seededRandom('bench');
  const informers = createInformers({ kube, clock, random, log });
  const claims = informers.of(persistentVolumeClaims);
  const events: string[] = [];
  const driver: Driver = {
    name: DRIVER,
    plugin: { services: new Set(), volumeExpansion: new Set() },
    controller: new Set(['CREATE_DELETE_VOLUME']),
    group: new Set(),
  };
  const flags = DEFAULT_PROVISIONER_FLAGS;
  /** The driver's volumes by name. */
  const made = new Set<string>();
  const answers: Answer[] = [];
  const calls: string[] = [];
  /** What CreateVolume got as secrets. */
  const given: (Record<string, string> | undefined)[] = [];
  const context: ProvisionerContext = {
    ...{ kube, informers, driver, clock, random, log, flags },
    ...{ env: {}, namespace: 'kube-system', nodeName: undefined, kubeWith: () => kube },
    csi: loopbackTransport([], { clock, log }),
    metrics: createMetrics(),
    topology: new TopologyIndex(),
    byHandle: indexByHandle(informers, DRIVER),
    grants: watchGrants(informers, flags),
    loop: { clock, random, log },
    recorder: {
      event: (_subject, _type, reason, message) => void events.push(`${reason}: ${message}`),
      flush: async () => {},
    },
    results: provisionerMetrics(createMetrics()),
    capacityChanged() {},
    calls: {
      async create({ name = '' }, secrets) {
        calls.push('create');
        given.push(secrets?.reveal());
        const answer = answers.shift() ?? 'made';
        if (typeof answer === 'string' && answer !== 'made')
          throw new CsiError({ code: answer, message: 'no' });
        made.add(name);
        if (answer !== 'made') throw new CsiError({ code: answer.after, message: 'no' });
        return {
          volumeId: `vol-${name}`,
          capacityBytes: 0n,
          volumeContext: {},
          accessibleTopology: [],
        } as unknown as Volume;
      },
      async delete(volumeId) {
        calls.push('delete');
        made.delete(volumeId.slice('vol-'.length));
      },
      freeCapacity: () => Promise.reject(new Error('not asked here')),
    },
  };
  const ledger = createIntentLedger(context, { found() {}, left() {} });
  const attempts = new Attempts(context);
  const work: ClaimWork = {
    ...context,
    ...{ ledger, attempts },
    claims: new ReadYourWrites(claims),
    planner: createVolumePlanner({ ...context, topology: undefined }),
    releaseSource() {},
  };
  informers.start(signal);
  await informers.synced(signal);
  await ledger.open(signal);
  void ledger.run(signal);
  const storageClass: StorageClass = await kube.create(storageClasses, {
    metadata: { name: 'fast' },
    provisioner: DRIVER,
    parameters,
  });

  const read = (name: string): Promise<PersistentVolumeClaim | undefined> =>
    ifThere(kube.get(persistentVolumeClaims, { name, namespace: 'default' }, { signal }));

  /** A run as the reconciler starts it, from the server's objects. */
  async function run(uid: string, name = 'data'): Promise<ClaimRun> {
    const claim = await read(name);
    const volumeName = `pvc-${uid}`;
    return {
      ...{ work, uid, claim, driver: DRIVER, storageClass, signal },
      key: `default/${name}`,
      volume: { name: volumeName, claimUid: attempts.claimUidOf(volumeName, uid) },
      attempt: { inLedger: ledger.get(uid), onClaim: claim && intentOn(claim), known: attempts.of(uid) },
      inputs: inputsOf(claim, storageClass, true),
    };
  }

  return {
    ...{ kube, ledger, attempts, answers, calls, given, made, events, run, read, signal },
    provision: async (uid: string): Promise<ProvisionRun> => (await run(uid)) as ProvisionRun,
    async makeClaim(metadata: object = {}): Promise<PersistentVolumeClaim> {
      const claim = await kube.create(persistentVolumeClaims, {
        metadata: { name: 'data', namespace: 'default', ...metadata },
        spec: {
          accessModes: ['ReadWriteOnce'],
          storageClassName: 'fast',
          resources: { requests: { storage: '1Gi' } },
        },
      });
      await claims.waitFor('default/data', (each) => each?.metadata.uid === claim.metadata.uid, signal);
      return claim;
    },
    /** Resolves when the cache of claims shows the claim so. */
    seen: (holds: (claim: PersistentVolumeClaim | undefined) => boolean) =>
      claims.waitFor('default/data', holds, signal),
    recorded: async () => (await kube.list(persistentVolumes)).items.map(({ metadata }) => metadata.name),
  };
}
