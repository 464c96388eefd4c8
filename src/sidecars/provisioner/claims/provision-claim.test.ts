import assert from 'node:assert/strict';
import { test } from 'node:test';
import { persistentVolumeClaims } from '../../../api/kinds.ts';
import { ANN_SELECTED_NODE, FINALIZER_PROVISIONING } from '../../../api/well-known.ts';
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
