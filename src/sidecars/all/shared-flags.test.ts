import assert from 'node:assert/strict';
import { test } from 'node:test';
import { featureGatesFlag } from '../../runtime/flags/feature-gates.ts';
import { durationFlag, intFlag, stringFlag } from '../../runtime/flags/flag.ts';
import { FlagError, parseFlags } from '../../runtime/flags/parse-flags.ts';
import { releaseOnExitGate } from '../../runtime/process/process-flags.ts';
import { defineSidecar } from '../common/sidecar.ts';
import { type AnySidecarKind, flagsFor, hasOwnPace, sharedFlags } from './shared-flags.ts';

const gate = (stage: 'alpha' | 'stable') => ({ default: false, stage, help: 'a gate' });
const rest = { leaseName: () => '', eventSource: () => '', create: () => ({ run: async () => {} }) };
const a = defineSidecar({
  name: 'a',
  flags: {
    timeout: durationFlag({ help: 't', default: 1000 }),
    'worker-threads': intFlag({ help: 'w', default: 10 }),
    'only-a': stringFlag({ help: 'o', default: 'x' }),
    'feature-gates': featureGatesFlag({ ...releaseOnExitGate, OfA: gate('alpha') }),
  },
  ...rest,
});
const b = defineSidecar({
  name: 'b',
  flags: {
    timeout: durationFlag({ help: 't', default: 5000 }),
    'worker-threads': intFlag({ help: 'w', default: 100 }),
    'feature-gates': featureGatesFlag({ ...releaseOnExitGate, OfB: gate('stable') }),
  },
  ...rest,
});
const kinds: AnySidecarKind[] = [a, b];

function parse(...argv: string[]) {
  const { values, given } = parseFlags({ table: sharedFlags(kinds), argv });
  return { given, a: flagsFor(a, values, given), b: flagsFor(b, values, given) };
}

const cases: { argv: string[]; a?: object; b?: object }[] = [
  {
    argv: [],
    a: { timeoutMs: 1000, workerThreads: 10, onlyA: 'x' },
    b: { timeoutMs: 5000, workerThreads: 100 },
  },
  { argv: ['--timeout=2s'], a: { timeoutMs: 2000 }, b: { timeoutMs: 2000 } },
  { argv: ['--a-timeout=3s'], a: { timeoutMs: 3000 }, b: { timeoutMs: 5000 } },
  { argv: ['--timeout=2s', '--b-timeout=4s'], a: { timeoutMs: 2000 }, b: { timeoutMs: 4000 } },
  { argv: ['--only-a=y'], a: { onlyA: 'y' } },
  { argv: ['--kube-api-qps=7', '--a-kube-api-qps=3'], a: { kubeApiQps: 3 }, b: { kubeApiQps: 7 } },
  {
    argv: ['--leader-election', '--csi-address=/s'],
    a: { leaderElection: true, csiAddress: '/s' },
    b: { leaderElection: true },
  },
  {
    argv: ['--feature-gates=OfA=true,ReleaseLeaderElectionOnExit=false'],
    a: { featureGates: { OfA: true, ReleaseLeaderElectionOnExit: false } },
    b: { featureGates: { OfB: false, ReleaseLeaderElectionOnExit: false } },
  },
  {
    argv: ['--b-feature-gates=OfB=true'],
    b: { featureGates: { OfB: true, ReleaseLeaderElectionOnExit: true } },
  },
];
for (const { argv, ...wanted } of cases) {
  test(`[SIDE-6] flags: ${argv.join(' ') || 'none'}`, () => {
    const parsed = parse(...argv);
    for (const name of ['a', 'b'] as const) {
      for (const [key, value] of Object.entries(wanted[name] ?? {}))
        assert.deepEqual(parsed[name][key], value, key);
    }
  });
}

test('[SIDE-6] a gate that no sidecar has is refused, and so is another’s by prefix', () => {
  assert.throws(() => parse('--feature-gates=Nope=true'), FlagError);
  assert.throws(() => parse('--b-feature-gates=OfA=true'), FlagError);
});

test('[SIDE-6] a separate rate limit is recognised', () => {
  const { given } = parse('--a-kube-api-burst=3', '--kube-api-qps=9');
  assert.deepEqual([hasOwnPace(a, given), hasOwnPace(b, given)], [true, false]);
});
