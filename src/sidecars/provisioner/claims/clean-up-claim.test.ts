import assert from 'node:assert/strict';
import { test } from 'node:test';
import { persistentVolumeClaims, persistentVolumes, secrets } from '../../../api/kinds.ts';
import { ANN_SELECTED_NODE } from '../../../api/well-known.ts';
import { cleanUpClaim } from './clean-up-claim.ts';
import { provisionClaim } from './provision-claim.ts';
import { type Answer, claimBench } from './testing/claim-bench.ts';

const name = { name: 'data', namespace: 'default' };
const secret = { name: 'key', namespace: 'default' };
const withSecret = {
  'csi.storage.k8s.io/provisioner-secret-name': secret.name,
  'csi.storage.k8s.io/provisioner-secret-namespace': secret.namespace,
};

/** A claim whose first call created a volume without a record, and which is being deleted now. */
async function unrecorded(...given: Parameters<typeof claimBench>) {
  const bench = await claimBench(...given);
  await bench.kube.create(secrets, { metadata: secret, data: { k: Buffer.from('v').toString('base64') } });
  const { uid } = (await bench.makeClaim()).metadata;
  bench.answers.push({ after: 'DEADLINE_EXCEEDED' });
  await provisionClaim(await bench.provision(uid));
  await bench.kube.delete(persistentVolumeClaims, name);
  return { ...bench, uid };
}

interface Row {
  name: string;
  answers: Answer[];
  kind: 'requeueAfter' | 'failed';
  known: string;
  volumes: 0 | 1;
}
const table: Row[] = [
  {
    name: 'the volume is found and deleted',
    answers: ['made'],
    kind: 'requeueAfter',
    known: 'nothing-left',
    volumes: 0,
  },
  {
    name: 'a refusal says that there is none',
    answers: ['NOT_FOUND'],
    kind: 'requeueAfter',
    known: 'nothing-left',
    volumes: 1,
  },
  { name: 'a failure says nothing', answers: ['INTERNAL'], kind: 'failed', known: 'asking', volumes: 1 },
  { name: 'nor does no answer', answers: ['UNAVAILABLE'], kind: 'failed', known: 'asking', volumes: 1 },
];
for (const row of table) {
  test(`[PROV-5] after an uncertain call for a claim that goes: ${row.name}`, async (t) => {
    const bench = await unrecorded(t);
    bench.answers.push(...row.answers);
    const outcome = await cleanUpClaim(await bench.run(bench.uid), { isRecorded: false });
    assert.equal(outcome.kind, row.kind);
    assert.equal(bench.attempts.of(bench.uid)?.is, row.known);
    assert.equal(bench.made.size, row.volumes);
    // The claim stays until the next run, and the call was counted before it was sent.
    const { onClaim } = (await bench.run(bench.uid)).attempt;
    assert.equal(onClaim?.asked, 2);
    assert.equal(
      bench.events.some((event) => event.startsWith('ProvisioningCleanupFailed')),
      row.kind === 'failed',
    );
  });
}

interface Change {
  name: string;
  /** What the class asks for, call by call: the last is the clean-up's first. */
  asks: ('wrong' | 'right')[];
  answers: Answer[];
  /** The process ends before this call. */
  restartBefore?: number;
  volumes: 0 | 1;
}
const lost: Answer = { after: 'DEADLINE_EXCEEDED' };
const changes: Change[] = [
  {
    name: 'the first is refused, and the second had made it',
    asks: ['wrong', 'right', 'wrong'],
    answers: ['UNAVAILABLE', lost, 'INVALID_ARGUMENT', 'made'],
    volumes: 0,
  },
  {
    name: 'both are refused, which proves nothing',
    asks: ['wrong', 'right', 'right'],
    answers: ['UNAVAILABLE', lost, 'INVALID_ARGUMENT', 'ALREADY_EXISTS'],
    volumes: 1,
  },
  {
    name: 'the second is refused, and the first had made it',
    asks: ['wrong', 'right', 'right'],
    answers: [lost, 'ALREADY_EXISTS', 'ALREADY_EXISTS', 'made'],
    volumes: 0,
  },
  {
    name: 'after a restart a refusal of either proves nothing',
    asks: ['wrong', 'right', 'wrong'],
    answers: ['UNAVAILABLE', lost, 'INVALID_ARGUMENT'],
    restartBefore: 2,
    volumes: 1,
  },
  {
    name: 'the class changes back before the claim is deleted',
    asks: ['wrong', 'right', 'wrong', 'wrong'],
    answers: ['UNAVAILABLE', lost, 'INVALID_ARGUMENT', 'INVALID_ARGUMENT', 'made'],
    volumes: 0,
  },
  {
    name: 'a restart between them, and the class is as it was at first again',
    asks: ['wrong', 'right', 'wrong'],
    answers: [lost, 'ALREADY_EXISTS', 'made'],
    restartBefore: 1,
    volumes: 0,
  },
];
for (const { name: title, asks, answers, restartBefore, volumes } of changes) {
  test(`[PROV-5] after uncertain calls with different parameters: ${title}`, async (t) => {
    const bench = await claimBench(t);
    const { uid } = (await bench.makeClaim()).metadata;
    bench.answers.push(...answers);
    for (const [call, type] of asks.entries()) {
      if (call === restartBefore) bench.attempts.forget(() => true);
      const run = await bench.provision(uid);
      const asking = { ...run, storageClass: { ...run.storageClass, parameters: { type } } };
      if (call < asks.length - 1) {
        await provisionClaim(asking);
        continue;
      }
      await bench.kube.delete(persistentVolumeClaims, name);
      const deleted = { ...asking, ...(await bench.run(uid)), storageClass: asking.storageClass };
      const outcome = await cleanUpClaim(deleted, { isRecorded: false });
      assert.equal(outcome.kind, volumes === 0 ? 'requeueAfter' : 'failed');
    }
    assert.equal(bench.made.size, volumes);
    assert.equal(bench.attempts.of(uid)?.is, volumes === 0 ? 'nothing-left' : 'asking');
    assert.deepEqual(bench.answers, []);
  });
}

test('[PROV-5] a clean-up that has to ask for something else says so in the intent', async (t) => {
  const bench = await unrecorded(t);
  const run = await bench.run(bench.uid);
  const attempt = { ...run.attempt, known: undefined };
  const storageClass = { ...run.storageClass, parameters: { type: 'other' } } as typeof run.storageClass;
  bench.answers.push('INVALID_ARGUMENT');
  await cleanUpClaim({ ...run, attempt, storageClass }, { isRecorded: false });
  bench.attempts.forget(() => true);
  bench.answers.push('INVALID_ARGUMENT');
  const outcome = await cleanUpClaim(await bench.run(bench.uid), { isRecorded: false });
  assert.equal(outcome.kind, 'failed', 'what was asked for in between may have made a volume');
});

test('[PROV-5] a claim that still needs its volume according to the server keeps it, although the cache shows no claim', async (t) => {
  const bench = await claimBench(t);
  const { uid } = (await bench.makeClaim()).metadata;
  bench.answers.push({ after: 'DEADLINE_EXCEEDED' });
  await provisionClaim(await bench.provision(uid));
  const run = await bench.run(uid);
  const outcome = await cleanUpClaim(
    { ...run, claim: undefined, attempt: { ...run.attempt, onClaim: undefined } },
    { isRecorded: false },
  );
  assert.equal(outcome.kind, 'failed');
  assert.deepEqual(bench.calls, ['create']);
  assert.equal(bench.made.size, 1);
});

interface Recorded {
  name: string;
  claimUid?: string;
  csi?: { driver?: string; volumeHandle?: string };
  /** The PersistentVolume appears during the call. */
  isLate?: boolean;
  /** The claim is known to have its volume: only whether a further one was made is uncertain. */
  isRecorded?: boolean;
  calls: string[];
}
const asked = ['create', 'create'];
const deleted = [...asked, 'delete'];
const records: Recorded[] = [
  { name: 'by its own claim', calls: ['create'] },
  { name: 'by a claim that it was given to', claimUid: 'another', calls: ['create'] },
  { name: 'by its own claim during the call', isLate: true, calls: asked },
  { name: 'by another claim during the call', claimUid: 'another', isLate: true, calls: asked },
  { name: 'by its own claim for certain', isRecorded: true, calls: asked },
  { name: 'by another claim for certain', claimUid: 'another', isRecorded: true, calls: asked },
  { name: 'with another handle', csi: { volumeHandle: 'vol-other' }, isRecorded: true, calls: deleted },
  { name: 'for another driver', csi: { driver: 'e.test' }, calls: deleted },
];
for (const { name: title, claimUid, csi, isLate = false, isRecorded = false, calls } of records) {
  const isKept = calls !== deleted;
  test(`[PROV-5] a volume is ${isKept ? 'not deleted' : 'deleted'} that turns out to be recorded ${title}`, async (t) => {
    const bench = await unrecorded(t);
    const record = () =>
      bench.kube.create(persistentVolumes, {
        metadata: { name: `pvc-${bench.uid}` },
        spec: {
          capacity: { storage: '1Gi' },
          accessModes: ['ReadWriteOnce'],
          claimRef: { ...name, uid: claimUid ?? bench.uid },
          csi: { driver: 'd.test', volumeHandle: `vol-pvc-${bench.uid}`, ...csi },
        },
      });
    if (!isLate) await record();
    const run = await bench.run(bench.uid);
    const { create } = run.work.calls;
    const createLate: typeof create = async (...args) => {
      const made = await create(...args);
      await record();
      return made;
    };
    const work = isLate ? { ...run.work, calls: { ...run.work.calls, create: createLate } } : run.work;
    const outcome = await cleanUpClaim({ ...run, work }, { isRecorded });
    assert.equal(outcome.kind, 'requeueAfter');
    assert.deepEqual(bench.calls, calls);
    assert.equal(bench.made.size, isKept ? 1 : 0);
    assert.equal(bench.attempts.of(bench.uid)?.is, isRecorded ? 'recorded' : 'nothing-left');
  });
}

interface Going {
  name: string;
  /** What the server has of the claim by now. */
  change: (bench: Awaited<ReturnType<typeof claimBench>>, uid: string) => Promise<unknown>;
  node?: string;
  isKept: boolean;
}
const patch = (bench: Awaited<ReturnType<typeof claimBench>>, change: object) =>
  bench.kube.patch(persistentVolumeClaims, name, change, { type: 'merge' });
const annotations = { [ANN_SELECTED_NODE]: 'n1' };
const goings: Going[] = [
  { name: 'the claim waits for it', change: async () => {}, isKept: true },
  {
    name: 'the claim is bound to it',
    change: (bench, uid) => patch(bench, { spec: { volumeName: `pvc-${uid}` } }),
    isKept: true,
  },
  {
    name: 'the claim is bound to another',
    change: (bench) => patch(bench, { spec: { volumeName: 'other' } }),
    isKept: false,
  },
  {
    name: 'the claim is this node’s',
    change: (bench) => patch(bench, { metadata: { annotations } }),
    node: 'n1',
    isKept: true,
  },
  {
    name: 'the claim is another node’s',
    change: (bench) => patch(bench, { metadata: { annotations } }),
    node: 'n2',
    isKept: false,
  },
  {
    name: 'a new claim has its name',
    change: async (bench) => {
      await patch(bench, { metadata: { finalizers: null } });
      await bench.kube.delete(persistentVolumeClaims, name);
      await bench.makeClaim();
    },
    isKept: false,
  },
];
for (const { name: title, change, node, isKept } of goings) {
  test(`[PROV-5] a volume without a record is ${isKept ? 'kept' : 'deleted'} when the server says: ${title}`, async (t) => {
    const bench = await claimBench(t);
    const { uid } = (await bench.makeClaim()).metadata;
    bench.answers.push({ after: 'DEADLINE_EXCEEDED' });
    await provisionClaim(await bench.provision(uid));
    const run = await bench.run(uid);
    await change(bench, uid);
    await cleanUpClaim(
      {
        ...run,
        claim: undefined,
        ...(node && { node: { name: node } as NonNullable<typeof run.node> }),
      },
      { isRecorded: false },
    );
    assert.deepEqual(bench.calls, isKept ? ['create'] : ['create', 'create', 'delete']);
    assert.equal(bench.made.size, isKept ? 1 : 0);
  });
}

test('[PROV-5] an uncertain call beside a recorded volume ends with the record', async (t) => {
  const bench = await claimBench(t);
  const { uid } = (await bench.makeClaim()).metadata;
  const run = await bench.run(uid);
  assert.equal((await cleanUpClaim(run, { isRecorded: true })).kind, 'requeueAfter');
  const volumeName = `pvc-${uid}`;
  const recorded = { is: 'recorded', volumeName, handle: undefined, onClaim: true };
  assert.deepEqual(bench.attempts.of(uid), recorded, 'so that the claim is written once more');
  assert.deepEqual(bench.calls, []);
});

const secretCases: {
  name: string;
  change: object | undefined;
  given: object | undefined;
  calls: number;
  kind: string;
}[] = [
  { name: 'with its secret', change: {}, given: { k: 'v' }, calls: 2, kind: 'requeueAfter' },
  // It may refuse because the secret is missing: that proves nothing.
  { name: 'without a secret that is gone', change: undefined, given: undefined, calls: 2, kind: 'failed' },
  {
    name: 'not with a secret that cannot be read',
    change: { data: { k: Buffer.from([0xff]).toString('base64') } },
    given: { k: 'v' },
    calls: 1,
    kind: 'failed',
  },
];
for (const { name: title, change, given, calls, kind } of secretCases) {
  test(`[PROV-5] after a crash the driver is asked again ${title}`, async (t) => {
    const bench = await unrecorded(t, withSecret);
    if (change) await bench.kube.patch(secrets, secret, change, { type: 'merge' });
    else await bench.kube.delete(secrets, secret);
    bench.answers.push('INVALID_ARGUMENT');
    const run = await bench.run(bench.uid);
    const attempt = { ...run.attempt, known: undefined };
    const outcome = await cleanUpClaim({ ...run, attempt }, { isRecorded: false });
    assert.deepEqual(bench.given.at(-1), given);
    assert.equal(bench.calls.length, calls);
    assert.equal(outcome.kind, kind);
  });
}
