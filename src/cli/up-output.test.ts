import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterControllers } from '../cluster/parts.ts';
import { commented, runningText } from './up-output.ts';

test('the parts that run fit a line: controllers are counted', () => {
  const controllers = clusterControllers.map(({ name }) => name);
  const text = runningText(['scheduler', ...controllers, 'provisioner']);
  assert.equal(text, `apiserver, ${controllers.length} controllers, scheduler, provisioner`);
  assert.equal(runningText(['scheduler']), 'apiserver, scheduler');
});

test('comments stand one below the other', () => {
  const lines = commented([
    ['kubectl apply -f a/long/path.yaml', 'one'],
    ['berth why', 'two'],
  ]);
  assert.deepEqual(lines, [
    '  kubectl apply -f a/long/path.yaml  # one',
    '  berth why                          # two',
  ]);
});
