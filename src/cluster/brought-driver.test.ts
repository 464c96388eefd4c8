import assert from 'node:assert/strict';
import { test } from 'node:test';
import { realClock } from '../runtime/time/clock.ts';
import { identifyBroughtDriver, parseDriverSockets } from './brought-driver.ts';

test('one socket for all, or one for the controller and one for each node', () => {
  assert.deepEqual(parseDriverSockets('unix:///run/a.sock'), { controller: '/run/a.sock', nodes: [] });
  assert.deepEqual(parseDriverSockets('/run/c, unix:///run/n1,unix:/run/n2'), {
    controller: '/run/c',
    nodes: ['/run/n1', '/run/n2'],
  });
  assert.throws(() => parseDriverSockets('http://x'), /only unix sockets/);
});

test('more node sockets than nodes are refused before anything is asked', async () => {
  const sockets = parseDriverSockets('/c,/n1,/n2');
  const options = { nodeNames: ['node-1'], clock: realClock, signal: new AbortController().signal };
  await assert.rejects(
    identifyBroughtDriver(sockets, options),
    /names 2 node sockets and there are 1 nodes; add --nodes 2/,
  );
});
