import assert from 'node:assert/strict';
import { test } from 'node:test';
import { persistentVolumeClaims, persistentVolumes } from '../../../api/kinds.ts';
import { cleanUpClaim } from './clean-up-claim.ts';
import { provisionClaim } from './provision-claim.ts';
import { type Answer, claimBench } from './testing/claim-bench.ts';

const name = { name: 'data', namespace: 'default' };

/** A claim whose first call created a volume without a record, and which is being deleted now. */
async function unrecorded(t: Parameters<typeof claimBench>[0]) {
  const bench = await claimBench(t);
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

test('[PROV-5] a volume that turns out to be recorded is not deleted', async (t) => {
  const bench = await unrecorded(t);
  await bench.kube.create(persistentVolumes, {
    metadata: { name: `pvc-${bench.uid}` },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      claimRef: { ...name, uid: bench.uid },
      csi: { driver: 'd.test', volumeHandle: `vol-pvc-${bench.uid}` },
    },
  });
  const outcome = await cleanUpClaim(await bench.run(bench.uid), { isRecorded: false });
  assert.equal(outcome.kind, 'requeueAfter');
  assert.deepEqual(bench.calls, ['create']);
  assert.equal(bench.made.size, 1);
});
