import assert from 'node:assert/strict';
import { test } from 'node:test';
import { persistentVolumeClaims, persistentVolumes } from '../../../api/kinds.ts';
import { ANN_SELECTED_NODE, FINALIZER_PROVISIONING } from '../../../api/well-known.ts';
import { KubeError } from '../../../runtime/kube/kube-error.ts';
import { intentOn } from '../intents/intent.ts';
import { provisionClaim } from './provision-claim.ts';
import { type Answer, claimBench } from './testing/claim-bench.ts';

test('[PROV-5] a volume that is made and recorded leaves no intent, and the claim is not written', async (t) => {
  const bench = await claimBench(t);
  const { metadata } = await bench.makeClaim();
  assert.deepEqual(await provisionClaim(await bench.provision(metadata.uid)), { kind: 'done' });
  assert.deepEqual(await bench.recorded(), [`pvc-${metadata.uid}`]);
  assert.equal(bench.ledger.get(metadata.uid), undefined);
  assert.equal((await bench.read('data'))?.metadata.resourceVersion, metadata.resourceVersion);
});

interface Row {
  name: string;
  /** The results of the calls, one run per call. */
  answers: Answer[];
  /** The outcome of the last run. */
  outcome: { kind: string; slow?: boolean };
  known: string | undefined;
  /** Number of calls in the claim's intent. */
  asked: number | undefined;
  volumes: 0 | 1;
}
const table: Row[] = [
  {
    name: 'a first call that fails for certain',
    answers: ['INTERNAL'],
    outcome: { kind: 'failed', slow: false },
    known: undefined,
    asked: undefined,
    volumes: 0,
  },
  {
    name: 'a request that the driver refuses',
    answers: ['INVALID_ARGUMENT'],
    outcome: { kind: 'failed', slow: true },
    known: undefined,
    asked: undefined,
    volumes: 0,
  },
  {
    name: 'a size that the driver refuses is retried at the ordinary pace',
    answers: ['OUT_OF_RANGE'],
    outcome: { kind: 'failed', slow: false },
    known: undefined,
    asked: undefined,
    volumes: 0,
  },
  {
    name: 'a name that is taken is retried at the ordinary pace',
    answers: ['ALREADY_EXISTS'],
    outcome: { kind: 'failed', slow: false },
    known: undefined,
    asked: undefined,
    volumes: 0,
  },
  {
    name: 'a call without a certain end',
    answers: [{ after: 'DEADLINE_EXCEEDED' }],
    outcome: { kind: 'failed', slow: false },
    known: 'asking',
    asked: 1,
    volumes: 0,
  },
  {
    name: 'a failure after such a call proves nothing',
    answers: [{ after: 'DEADLINE_EXCEEDED' }, 'INTERNAL'],
    outcome: { kind: 'failed', slow: false },
    known: 'asking',
    asked: 2,
    volumes: 0,
  },
  {
    name: 'a refusal after such a call does',
    answers: ['UNAVAILABLE', 'INVALID_ARGUMENT'],
    outcome: { kind: 'failed', slow: true },
    known: undefined,
    asked: undefined,
    volumes: 0,
  },
  {
    name: 'asking again finds the volume',
    answers: [{ after: 'UNAVAILABLE' }, 'made'],
    outcome: { kind: 'done' },
    known: 'recorded',
    asked: 2,
    volumes: 1,
  },
];
for (const { name, answers, outcome, known, asked, volumes } of table) {
  test(`[PROV-6] ${name}`, async (t) => {
    const bench = await claimBench(t);
    const { uid } = (await bench.makeClaim()).metadata;
    bench.answers.push(...answers);
    let ended: object = {};
    for (const _ of answers) ended = await provisionClaim(await bench.provision(uid));
    assert.deepEqual({ ...ended, ...outcome }, ended);
    assert.equal(bench.attempts.of(uid)?.is, known);
    assert.equal(bench.ledger.get(uid), undefined);
    const claim = await bench.read('data');
    assert.equal(claim && intentOn(claim)?.asked, asked);
    assert.equal((await bench.recorded()).length, volumes);
    assert.equal(bench.calls.length, answers.length);
  });
}

test('[PROV-6] no capacity at the selected node returns the claim to the scheduler, with one write', async (t) => {
  const bench = await claimBench(t);
  const { uid } = (await bench.makeClaim({ annotations: { [ANN_SELECTED_NODE]: 'n1' } })).metadata;
  bench.answers.push('RESOURCE_EXHAUSTED');
  assert.deepEqual(await provisionClaim(await bench.provision(uid)), { kind: 'done' });
  assert.equal((await bench.read('data'))?.metadata.annotations?.[ANN_SELECTED_NODE], undefined);
});

test('[PROV-5] no volume is created from an outdated version of a claim', async (t) => {
  const bench = await claimBench(t);
  const { uid } = (await bench.makeClaim()).metadata;
  bench.answers.push({ after: 'UNAVAILABLE' });
  await provisionClaim(await bench.provision(uid));
  const stale = await bench.provision(uid);
  const name = { name: 'data', namespace: 'default' };
  await bench.kube.patch(
    persistentVolumeClaims,
    name,
    { metadata: { labels: { a: 'b' } } },
    { type: 'merge' },
  );
  const outcome = await provisionClaim(stale);
  assert.equal(outcome.kind === 'failed' && outcome.quiet, true);
  assert.equal(bench.calls.length, 1);
  assert((await bench.read('data'))?.metadata.finalizers?.includes(FINALIZER_PROVISIONING));
});

const nameOfClaim = { name: 'data', namespace: 'default' };
const volumeOf = (uid: string, claimUid: string) => ({
  metadata: { name: `pvc-${uid}` },
  spec: {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    claimRef: { ...nameOfClaim, uid: claimUid },
    csi: { driver: 'd.test', volumeHandle: `vol-pvc-${uid}` },
  },
});

test('[PROV-5] a volume whose record exists already is provisioned', async (t) => {
  const bench = await claimBench(t);
  const { uid } = (await bench.makeClaim()).metadata;
  // The write of the record succeeded and its answer was lost.
  await bench.kube.create(persistentVolumes, volumeOf(uid, uid));
  assert.deepEqual(await provisionClaim(await bench.provision(uid)), { kind: 'done' });
  assert.deepEqual(bench.calls, ['create']);
  assert.equal(bench.made.size, 1);
  assert.equal(bench.ledger.get(uid), undefined);
});

for (const isDeleted of [true, false])
  test(`[PROV-5] a volume is not provisioned whose claim has a record with another handle, ${isDeleted ? 'and is deleted again' : 'and is kept in mind when it cannot be deleted'}`, async (t) => {
    const bench = await claimBench(t);
    const { uid } = (await bench.makeClaim()).metadata;
    const draft = volumeOf(uid, uid);
    draft.spec.csi.volumeHandle = 'earlier';
    const run = await bench.provision(uid);
    await bench.kube.create(persistentVolumes, draft);
    const refuse = () => Promise.reject(new Error('not now'));
    const calls = { ...run.work.calls, ...(!isDeleted && { delete: refuse }) };
    const outcome = await provisionClaim({ ...run, work: { ...run.work, calls } });
    assert(outcome.kind === 'failed' && outcome.slow === isDeleted);
    assert.match(
      bench.events.join(),
      new RegExp(
        `ProvisioningFailed: .* exists .* with volume earlier of driver d.test, not with volume vol-pvc-${uid}; `,
      ),
    );
    assert.doesNotMatch(bench.events.join(), /ProvisioningSucceeded/);
    assert.equal(bench.made.size, isDeleted ? 0 : 1);
    const { attempt } = await bench.run(uid);
    assert.equal(attempt.known?.is, isDeleted ? undefined : 'asking');
    assert.equal(attempt.onClaim?.asked, isDeleted ? undefined : 1);
    assert.equal(attempt.inLedger, undefined);
  });

test('[PROV-5] the longer the cache does not show a record, the less often it is looked for', async (t) => {
  const bench = await claimBench(t);
  const { uid } = (await bench.makeClaim()).metadata;
  bench.answers.push({ after: 'UNAVAILABLE' });
  await provisionClaim(await bench.provision(uid));
  const run = await bench.provision(uid);
  await bench.kube.create(persistentVolumes, volumeOf(uid, uid));
  const outcome = await provisionClaim(run);
  assert(outcome.kind === 'failed' && outcome.quiet);
  assert.deepEqual(outcome.backoff, { startMs: 50, maxMs: 1_000 });
  assert.deepEqual(bench.calls, ['create']);
});

const records = [
  { what: 'recorded by now is kept', isSame: true, isGiven: false },
  { what: 'given to another claim by now is kept', isSame: true, isGiven: true },
  { what: 'made beside the recorded one is deleted again', isSame: false, isGiven: false },
];
for (const { what, isSame, isGiven } of records) {
  test(`[PROV-5] a volume that its claim does not want any more and that was ${what}`, async (t) => {
    const bench = await claimBench(t);
    const { uid } = (await bench.makeClaim()).metadata;
    const run = await bench.provision(uid);
    const calls = {
      ...run.work.calls,
      async create(...args: Parameters<typeof run.work.calls.create>) {
        const made = await run.work.calls.create(...args);
        const draft = volumeOf(uid, isGiven ? 'another' : uid);
        if (!isSame) draft.spec.csi.volumeHandle = 'earlier';
        await bench.kube.create(persistentVolumes, draft);
        await bench.kube.delete(persistentVolumeClaims, nameOfClaim);
        await bench.seen((claim) => claim?.metadata.deletionTimestamp !== undefined);
        return made;
      },
    };
    const outcome = await provisionClaim({ ...run, work: { ...run.work, calls } });
    assert.equal(outcome.kind, isSame ? 'done' : 'failed');
    assert.equal(bench.made.size, isSame ? 1 : 0);
    assert.equal(bench.ledger.get(uid), undefined);
    assert.equal(bench.attempts.claimUidOf(`pvc-${uid}`, uid), isGiven ? 'another' : uid);
  });
}

for (const calls of [['create'], ['create', 'create']])
  test(`[PROV-5] a record of the same name for another claim is left alone, and tried again slowly: call ${calls.length}`, async (t) => {
    const bench = await claimBench(t);
    const { uid } = (await bench.makeClaim()).metadata;
    for (const _ of calls.slice(1)) {
      bench.answers.push('UNAVAILABLE');
      await provisionClaim(await bench.provision(uid));
    }
    await bench.kube.create(persistentVolumes, volumeOf(uid, 'another'));
    const outcome = await provisionClaim(await bench.provision(uid));
    assert.equal(outcome.kind === 'failed' && outcome.slow, true);
    assert.match(bench.events.join(), /PersistentVolume pvc-.* exists and is for another claim/);
    assert.deepEqual(bench.calls, calls, 'the volume may be what that record is about');
  });

test('[PROV-5] a volume that may not be recorded is kept, and its own intent does not end the backoff', async (t) => {
  const bench = await claimBench(t);
  const { uid } = (await bench.makeClaim()).metadata;
  const run = await bench.provision(uid);
  const forbidden = new KubeError({ code: 403, reason: 'Forbidden', message: 'may not create volumes' });
  const kube = Object.create(run.work.kube, { create: { value: () => Promise.reject(forbidden) } });
  const outcome = await provisionClaim({ ...run, work: { ...run.work, kube } });
  assert(outcome.kind === 'failed' && !outcome.slow);
  assert.equal(outcome.inputs, run.inputs);
  assert.match(
    bench.events.join(),
    /volume vol-\S+ cannot be recorded, trying again: .*may not create volumes/,
  );
  assert.deepEqual([bench.made.size, bench.attempts.of(uid)?.is], [1, 'asking']);
  assert.deepEqual(await provisionClaim(await bench.provision(uid)), { kind: 'done' });
  assert.equal(bench.made.size, 1);
});

const goings: {
  name: string;
  change: (bench: Awaited<ReturnType<typeof claimBench>>) => Promise<unknown>;
}[] = [
  {
    name: 'its claim is deleted',
    change: ({ kube }) => kube.delete(persistentVolumeClaims, nameOfClaim),
  },
  {
    name: 'its claim waits for its finalizers',
    change: async ({ kube }) => {
      const finalizers = ['test/kept'];
      await kube.patch(persistentVolumeClaims, nameOfClaim, { metadata: { finalizers } }, { type: 'merge' });
      await kube.delete(persistentVolumeClaims, nameOfClaim);
    },
  },
  {
    name: 'its claim gets another volume',
    change: ({ kube }) =>
      kube.patch(persistentVolumeClaims, nameOfClaim, { spec: { volumeName: 'other' } }, { type: 'merge' }),
  },
];
for (const { name, change } of goings) {
  test(`[PROV-5] a volume is deleted again when, while it is made, ${name}`, async (t) => {
    const bench = await claimBench(t);
    const { uid } = (await bench.makeClaim()).metadata;
    const run = await bench.provision(uid);
    const calls = {
      ...run.work.calls,
      async create(...args: Parameters<typeof run.work.calls.create>) {
        const made = await run.work.calls.create(...args);
        await change(bench);
        await bench.seen((claim) => claim?.metadata.resourceVersion !== run.claim.metadata.resourceVersion);
        return made;
      },
    };
    await provisionClaim({ ...run, work: { ...run.work, calls } });
    assert.deepEqual(bench.calls, ['create', 'delete']);
    assert.deepEqual(await bench.recorded(), []);
    assert.match(
      bench.events.join(),
      /the claim went away while its volume was made; volume .* was deleted again/,
    );
  });
}

test('[PROV-5] a volume is recorded when its claim names it already', async (t) => {
  const bench = await claimBench(t);
  const { uid } = (await bench.makeClaim()).metadata;
  const run = await bench.provision(uid);
  const spec = { volumeName: `pvc-${uid}` };
  await bench.kube.patch(persistentVolumeClaims, nameOfClaim, { spec }, { type: 'merge' });
  await bench.seen((claim) => claim?.spec.volumeName !== undefined);
  assert.deepEqual(await provisionClaim(run), { kind: 'done' });
  assert.deepEqual(await bench.recorded(), [`pvc-${uid}`]);
});

for (const isLost of [false, true]) {
  const protecting = isLost ? 'the answer to its protection is lost' : 'it is protected';
  test(`[PROV-7] [SCL-1] a source is looked at when ${protecting} only after the claim was deleted`, async (t) => {
    const bench = await claimBench(t);
    const run = await bench.provision((await bench.makeClaim()).metadata.uid);
    const { planner } = run.work;
    const order: string[] = [];
    async function protect(): Promise<void> {
      await bench.kube.patch(
        persistentVolumeClaims,
        nameOfClaim,
        { metadata: { finalizers: null } },
        { type: 'merge' },
      );
      await bench.kube.delete(persistentVolumeClaims, nameOfClaim);
      await bench.seen((claim) => claim === undefined);
      order.push('protected');
      if (isLost) throw new Error('the answer was lost');
    }
    const source = { content: { kind: 'snapshot', id: 'h' } as const, protect };
    const plan: typeof planner.plan = async (...args) => ({ ...(await planner.plan(...args)), source });
    // With sharding the intent is written on the claim.
    const ledger = Object.assign(Object.create(run.work.ledger), { begin: async () => false });
    const releaseSource = () => void order.push('looked at');
    const ended = provisionClaim({
      ...run,
      work: { ...run.work, planner: { ...planner, plan }, ledger, releaseSource },
    });
    if (isLost) await assert.rejects(ended, /lost/);
    else assert.equal((await ended).kind, 'failed');
    assert.deepEqual(order, ['protected', 'looked at']);
  });
}
