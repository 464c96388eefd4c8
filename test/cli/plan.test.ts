// `berth plan` as a user calls it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { runBerth } from '../run-berth.ts';

const SIZE = ['--volumes=100000', '--nodes=5000'];

test('it prints parts, limits, what to do and requests for the manifests', async () => {
  const { code, stdout, stderr } = await runBerth(['plan', ...SIZE, '--churn=20/s']);
  assert.deepEqual([code, stderr], [0, '']);
  for (const text of [
    '100,000 volumes in use on 5,000 nodes',
    'all sidecars in one',
    'limit, the first that is met first',
    'berth manifests … --sharding --replicas',
    'resources:\n  sidecars:\n    requests:\n      cpu: ',
  ])
    assert(stdout.includes(text), text);
});

test('a rate is the same however it is written', async () => {
  const [first, ...others] = await Promise.all(
    ['5', '5/s', '300/m', '18000/h'].map((churn) => runBerth(['plan', ...SIZE, `--churn=${churn}`])),
  );
  for (const other of others) assert.equal(other.stdout, first?.stdout);
});

test('JSON and YAML say the same', async () => {
  const json = await runBerth(['plan', ...SIZE, '--output=json']);
  const yaml = await runBerth(['plan', ...SIZE, '-o', 'yaml']);
  const plan = JSON.parse(json.stdout);
  assert.deepEqual(parse(yaml.stdout), plan);
  assert.equal(plan.input.callMs, 200);
  assert.equal(typeof plan.limits[0].used, 'number');
  assert.match(plan.manifests.resources.sidecars.requests.memory, /^\d+Mi$/);
});

test('bad input is rejected with the flag, the reason and nothing done', async () => {
  const cases: [argv: string[], message: RegExp][] = [
    [[], /--volumes, --nodes must be given/],
    [['--volumes=many', '--nodes=1'], /--volumes: must be a whole number, got "many"/],
    [['--volumes=-1', '--nodes=1'], /--volumes: must be at least 0/],
    [['--volumes=1', '--nodes=0'], /--nodes: must be at least 1/],
    [[...SIZE, '--churn=5/d'], /--churn: must be a rate such as 5, 5\/s, 300\/m or 2000\/h, got "5\/d"/],
    [[...SIZE, '--churn=-5'], /--churn: must be a rate/],
    [[...SIZE, '--churn=99999999'], /--churn: must be at most/],
    [[...SIZE, '--call-duration=200'], /--call-duration: must be a duration with a unit/],
    [[...SIZE, '--replicas=0'], /--replicas: must be at least 1/],
    [[...SIZE, '--output=xml'], /--output: must be one of text, json, yaml/],
    [[...SIZE, 'more'], /more/],
  ];
  for (const [argv, message] of cases) {
    const { code, stdout, stderr } = await runBerth(['plan', ...argv]);
    assert.equal(code, 2, argv.join(' '));
    assert.equal(stdout, '');
    assert.match(stderr, message);
  }
});
