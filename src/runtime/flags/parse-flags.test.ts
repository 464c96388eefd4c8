import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { featureGatesFlag } from './feature-gates.ts';
import {
  boolFlag,
  choiceFlag,
  durationFlag,
  floatFlag,
  intFlag,
  mapFlag,
  stringFlag,
  stringsFlag,
} from './flag.ts';
import { logFlags } from './log-flags.ts';
import { FlagError, nearestOf, parseFlags } from './parse-flags.ts';

const table = {
  'csi-address': stringFlag({ help: 'socket', default: '/run/csi/socket' }),
  kubeconfig: stringFlag({ help: 'file', env: 'KUBECONFIG' }),
  timeout: durationFlag({ help: 'a call', default: 15_000 }),
  'worker-threads': intFlag({ help: 'workers', default: 10, min: 1, max: 1000 }),
  'max-entries': intFlag({ help: 'entries', default: 0 }),
  'kube-api-qps': floatFlag({ help: 'rate', default: 5 }),
  'leader-election': boolFlag({ help: 'elect' }),
  'immediate-topology': boolFlag({ help: 'topology', default: true }),
  controllers: stringsFlag({ help: 'which', default: ['*'] }),
  'leader-election-labels': mapFlag({ help: 'labels', separator: ':' }),
  parameters: mapFlag({ help: 'parameters' }),
  mode: choiceFlag({ help: 'mode', choices: ['a', 'b'], default: 'a' }),
  'metrics-address': stringFlag({ help: 'address', deprecated: 'use --http-endpoint' }),
  automaxprocs: boolFlag({ help: 'processors', ignored: 'Node has one thread for JavaScript' }),
  'feature-gates': featureGatesFlag({
    Topology: { default: true, stage: 'stable', locked: true, help: 'topology' },
    Modify: { default: true, stage: 'beta', help: 'modify' },
    Cross: { default: false, stage: 'alpha', help: 'across namespaces' },
  }),
  ...logFlags,
};

const parse = (...argv: string[]) => parseFlags({ table, argv });

describe('values', () => {
  const defaults = parse().values;
  const cases: { argv: string[]; then: Partial<typeof defaults> }[] = [
    { argv: [], then: { csiAddress: '/run/csi/socket', kubeconfig: undefined, timeoutMs: 15_000, v: 0 } },
    { argv: ['--csi-address=/a'], then: { csiAddress: '/a' } },
    { argv: ['--csi-address', '/a'], then: { csiAddress: '/a' } },
    { argv: ['-csi-address=/a'], then: { csiAddress: '/a' } },
    { argv: ['-csi-address', '/a'], then: { csiAddress: '/a' } },
    { argv: ['--csi-address='], then: { csiAddress: '' } },
    { argv: ['--csi-address=a=b'], then: { csiAddress: 'a=b' } },
    { argv: ['--csi-address=a\nb'], then: { csiAddress: 'a\nb' } },
    { argv: ['--csi-address=/a', '--csi-address=/b'], then: { csiAddress: '/b' } },
    { argv: ['--timeout=1m30s'], then: { timeoutMs: 90_000 } },
    { argv: ['--worker-threads', '3'], then: { workerThreads: 3 } },
    { argv: ['--max-entries', '-1'], then: { maxEntries: -1 } },
    { argv: ['--kube-api-qps=0.5'], then: { kubeApiQps: 0.5 } },
    { argv: ['--leader-election'], then: { leaderElection: true } },
    { argv: ['--leader-election=false'], then: { leaderElection: false } },
    { argv: ['--leader-election=T'], then: { leaderElection: true } },
    { argv: ['--immediate-topology=0'], then: { immediateTopology: false } },
    { argv: ['--controllers=a,b', '--controllers', 'c'], then: { controllers: ['a', 'b', 'c'] } },
    { argv: ['--controllers='], then: { controllers: [] } },
    { argv: ['--leader-election-labels=a:1,b:2'], then: { leaderElectionLabels: { a: '1', b: '2' } } },
    { argv: ['--parameters=a=1', '--parameters=b=2=3'], then: { parameters: { a: '1', b: '2=3' } } },
    { argv: ['--mode', 'b'], then: { mode: 'b' } },
    { argv: ['-v=5'], then: { v: 5 } },
    { argv: ['-v', '5'], then: { v: 5 } },
    { argv: ['--v=5'], then: { v: 5 } },
    { argv: ['--worker_threads=2'], then: { workerThreads: 2 } },
    { argv: [], then: { featureGates: { Topology: true, Modify: true, Cross: false } } },
    {
      argv: ['--feature-gates=Cross=true,Modify=false'],
      then: { featureGates: { Topology: true, Modify: false, Cross: true } },
    },
    {
      argv: ['--feature-gates=Cross=false,AllAlpha=true'],
      then: { featureGates: { Topology: true, Modify: true, Cross: false } },
    },
    {
      argv: ['--feature-gates=AllBeta=false', '--feature-gates=AllAlpha=true,Topology=true'],
      then: { featureGates: { Topology: true, Modify: false, Cross: true } },
    },
  ];
  for (const { argv, then } of cases) {
    test(`${argv.join(' ') || 'nothing given'} → ${JSON.stringify(then)}`, () => {
      assert.deepEqual(parse(...argv).values, { ...defaults, ...then });
    });
  }
});

describe('mistakes', () => {
  const cases: { argv: string[]; message: string }[] = [
    { argv: ['--csi-adress=/a'], message: 'unknown flag --csi-adress; did you mean --csi-address?' },
    {
      argv: ['--worker-thread', '1'],
      message: 'unknown flag --worker-thread; did you mean --worker-threads?',
    },
    { argv: ['--zzz'], message: 'unknown flag --zzz; see --help' },
    { argv: ['--toString'], message: 'unknown flag --toString; see --help' },
    { argv: ['--__proto__=1'], message: 'unknown flag ----proto--; see --help' },
    { argv: ['---v=1'], message: '"---v=1" is not a flag' },
    { argv: ['--=1'], message: '"--=1" is not a flag' },
    { argv: ['--timeout'], message: '--timeout needs a value (duration)' },
    {
      argv: ['--timeout=15'],
      message: '--timeout: must be a duration with a unit, such as 15s or 1m30s, got "15"',
    },
    { argv: ['--timeout=-1s'], message: '--timeout: must be at least 0s, got "-1s"' },
    { argv: ['--worker-threads=0'], message: '--worker-threads: must be at least 1, got "0"' },
    { argv: ['--worker-threads=1001'], message: '--worker-threads: must be at most 1000, got "1001"' },
    { argv: ['--worker-threads=1.5'], message: '--worker-threads: must be a whole number, got "1.5"' },
    { argv: ['--worker-threads='], message: '--worker-threads: must be a whole number, got ""' },
    { argv: ['--kube-api-qps=fast'], message: '--kube-api-qps: must be a number, got "fast"' },
    { argv: ['--leader-election=yes'], message: '--leader-election: must be true or false, got "yes"' },
    { argv: ['--parameters=a'], message: '--parameters: "a" is not of the form key=value, got "a"' },
    { argv: ['--mode=c'], message: '--mode: must be one of a, b, got "c"' },
    {
      argv: ['--feature-gates=Nope=true'],
      message:
        '--feature-gates: unknown feature gate Nope; known are Topology, Modify, Cross, got "Nope=true"',
    },
    {
      argv: ['--feature-gates=Topology=false'],
      message: '--feature-gates: feature gate Topology is always on here, got "Topology=false"',
    },
    {
      argv: ['--feature-gates=Cross=maybe'],
      message: '--feature-gates: feature gate Cross must be true or false, not "maybe", got "Cross=maybe"',
    },
  ];
  for (const { argv, message } of cases) {
    test(`${argv.join(' ')} → ${message}`, () => {
      assert.throws(() => parse(...argv), new FlagError(message));
    });
  }

  test('every missing required flag is named', () => {
    const required = {
      a: stringFlag({ help: '', required: true }),
      bc: intFlag({ help: '', required: true }),
    };
    assert.throws(() => parseFlags({ table: required, argv: [] }), new FlagError('-a, --bc must be given'));
  });
});

test('arguments may stand between flags, and -- ends the flags', () => {
  const parsed = parse('pod', '--mode=b', 'web', '-', '--', '--timeout', '--');
  assert.deepEqual(parsed.args, ['pod', 'web', '-', '--timeout', '--']);
  assert.equal(parsed.values.mode, 'b');
});

test('with stopAtFirstArgument the rest is left alone', () => {
  const parsed = parseFlags({ table, argv: ['-v=2', 'hostpath', '--nodeid=a'], stopAtFirstArgument: true });
  assert.deepEqual(parsed.args, ['hostpath', '--nodeid=a']);
  assert.equal(parsed.values.v, 2);
});

test('the environment supplies flags that are not given, only from the variables passed in', () => {
  const env = { KUBECONFIG: '/from/env', TIMEOUT: '1s' };
  assert.equal(parseFlags({ table, argv: [], env }).values.kubeconfig, '/from/env');
  assert.ok(parseFlags({ table, argv: [], env }).given.has('kubeconfig'));
  assert.equal(parseFlags({ table, argv: ['--kubeconfig=/k'], env }).values.kubeconfig, '/k');
  assert.equal(parseFlags({ table, argv: [], env: { KUBECONFIG: '' } }).values.kubeconfig, undefined);
  const bad = { n: intFlag({ help: '', default: 1, env: 'N' }) };
  assert.throws(
    () => parseFlags({ table: bad, argv: [], env: { N: 'x' } }),
    new FlagError('-n (from N): must be a whole number, got "x"'),
  );
});

test('given names what was given, even with its default value', () => {
  assert.deepEqual([...parse('--timeout=15s').given], ['timeout']);
});

test('deprecated flags and flags without effect are accepted with a note', () => {
  const { notes, values } = parse('--metrics-address=:80', '--automaxprocs', '--logtostderr', '--log_dir=/x');
  assert.equal(values.metricsAddress, ':80');
  assert.deepEqual(notes, [
    '--metrics-address is deprecated: use --http-endpoint',
    '--automaxprocs is accepted and has no effect: Node has one thread for JavaScript',
    '--logtostderr is accepted and has no effect: logs always go to stderr',
    '--log-dir is accepted and has no effect: logs always go to stderr',
  ]);
  assert.deepEqual(parse().notes, []);
});

test('what a flag formats, it parses back', () => {
  fc.assert(
    fc.property(
      fc.record({
        qps: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
        entries: fc.maxSafeInteger(),
        labels: fc.dictionary(fc.stringMatching(/^[a-z]+$/), fc.stringMatching(/^[a-z0-9:]*$/)),
        text: fc.string(),
        gates: fc.record({ Modify: fc.boolean(), Cross: fc.boolean() }),
      }),
      ({ qps, entries, labels, text, gates }) => {
        const featureGates = { Topology: true, ...gates };
        const { values } = parse(
          `--kube-api-qps=${table['kube-api-qps'].format(qps)}`,
          `--max-entries=${table['max-entries'].format(entries)}`,
          `--leader-election-labels=${table['leader-election-labels'].format(labels)}`,
          `--csi-address=${text}`,
          `--feature-gates=${table['feature-gates'].format(featureGates)}`,
        );
        assert.equal(values.kubeApiQps, qps);
        assert.equal(values.maxEntries, entries);
        assert.deepEqual({ ...values.leaderElectionLabels }, { ...labels });
        assert.equal(values.csiAddress, text);
        assert.deepEqual(values.featureGates, featureGates);
      },
    ),
  );
});

test('the suggested name is one that a typo could have produced', () => {
  assert.equal(nearestOf('provisoner', ['attacher', 'provisioner']), 'provisioner');
  assert.equal(nearestOf('x', ['attacher', 'provisioner']), undefined);
});
