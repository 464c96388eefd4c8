import assert from 'node:assert/strict';
import { test } from 'node:test';
import { insufficient, REASONS, ReasonCounts } from './reasons.ts';
import { type Change, changesThatHelp, WaitingPods } from './waiting-pods.ts';

const rows: [string, string[], Change[]][] = [
  ['no node', [], ['node']],
  ['a cordoned node', [REASONS.unschedulable], ['node']],
  ['a node that is not ready', [REASONS.notReady], ['node']],
  ['a taint', [REASONS.taint], ['node']],
  ['a selector', [REASONS.nodeAffinity], ['node']],
  ['too few processors', [insufficient('cpu')], ['node', 'room']],
  ['too many pods', [REASONS.tooManyPods], ['node', 'room', 'volumes']],
  ['a port', [REASONS.ports], ['node', 'room', 'volumes']],
  ['the limit of volumes', [REASONS.volumeLimit], ['node', 'room', 'volumes']],
  ['an exclusive claim', [REASONS.readWriteOncePod], ['node', 'room', 'volumes']],
  ['no volume', [REASONS.noVolume], ['node', 'volumes']],
  ['no capacity', [REASONS.noSpace], ['node', 'volumes']],
  ['a taint here and no volume there', [REASONS.taint, REASONS.noVolume], ['node', 'volumes']],
  ['a taint here and no memory there', [REASONS.taint, insufficient('memory')], ['node', 'room']],
];
for (const [name, found, expected] of rows)
  test(`a pod that was kept by ${name} is helped by a change of ${expected.join(', ')}`, () => {
    const reasons = new ReasonCounts();
    for (const each of found) reasons.add([each]);
    assert.deepEqual([...changesThatHelp(reasons)], expected);
  });

test('waiting pods are woken by the changes that help them, and only while they wait', () => {
  const waiting = new WaitingPods();
  waiting.add('ns/a', new Set<Change>(['node']));
  waiting.add('ns/b', new Set<Change>(['node', 'room']));
  assert.equal(waiting.size, 2);
  assert.deepEqual(
    [waiting.woken('node'), waiting.woken('room'), waiting.woken('volumes')],
    [['ns/a', 'ns/b'], ['ns/b'], []],
  );
  waiting.delete('ns/b');
  assert.deepEqual([waiting.size, waiting.woken('room')], [1, []]);
});

test('reasons are counted and sorted', () => {
  const reasons = new ReasonCounts();
  assert.equal(reasons.message(0), 'no nodes available to schedule pods');
  reasons.add(['b', 'a']);
  reasons.add(['b']);
  assert.equal(reasons.message(2), '0/2 nodes are available: 1 a, 2 b.');
});
