import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VolumeAttachment } from '../../api/kinds.ts';
import { parseNodeId, parseVolumeHandle } from '../../csi/names/driver-name.ts';
import { DriftList, denies } from './drift-list.ts';

const attachment = (resourceVersion: string): VolumeAttachment => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'VolumeAttachment',
  metadata: { name: 'va', uid: 'u', resourceVersion, creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { attacher: 'd', nodeName: 'n', source: { persistentVolumeName: 'pv' } },
  status: { attached: true },
});
const candidate = (version = '1') => ({
  attachment: attachment(version),
  handle: parseVolumeHandle('h'),
  nodeId: parseNodeId('n1'),
});
const listing = (nodes: string[] | undefined, known = true) => ({
  published: new Map(nodes === undefined ? [] : [['h', new Set(nodes)]]),
  known: new Set(known ? ['h'] : []),
});

test('which attachments a listing contradicts', () => {
  assert.equal(denies(listing(['n1', 'n2']), candidate()), false);
  assert.equal(denies(listing(['n2']), candidate()), true);
  assert.equal(denies(listing([]), candidate()), true);
  assert.equal(
    denies(listing(undefined), candidate()),
    false,
    'the driver does not say where it is published',
  );
  assert.equal(denies(listing(undefined, false), candidate()), true, 'the volume is not listed at all');
});

const rounds: {
  name: string;
  rounds: { before: string; now: string; nodes: string[] }[];
  confirmed: boolean;
}[] = [
  { name: 'denied once', rounds: [{ before: '1', now: '1', nodes: [] }], confirmed: false },
  {
    name: 'denied twice',
    rounds: [
      { before: '1', now: '1', nodes: [] },
      { before: '1', now: '1', nodes: [] },
    ],
    confirmed: true,
  },
  {
    name: 'denied, confirmed, denied',
    rounds: [
      { before: '1', now: '1', nodes: [] },
      { before: '1', now: '1', nodes: ['n1'] },
      { before: '1', now: '1', nodes: [] },
    ],
    confirmed: false,
  },
  {
    name: 'changed between the listings',
    rounds: [
      { before: '1', now: '1', nodes: [] },
      { before: '2', now: '2', nodes: [] },
    ],
    confirmed: false,
  },
  {
    name: 'changed during the second listing',
    rounds: [
      { before: '1', now: '1', nodes: [] },
      { before: '1', now: '2', nodes: [] },
    ],
    confirmed: false,
  },
];
for (const { name, rounds: given, confirmed } of rounds) {
  test(`${name} → ${confirmed ? 'repair' : 'leave alone'}`, () => {
    const list = new DriftList();
    let last: string[] = [];
    for (const { before, now, nodes } of given) {
      last = list.compare([candidate(before)], listing(nodes), () => attachment(now)).confirmed;
    }
    assert.deepEqual(last, confirmed ? ['va'] : []);
    assert.equal(list.has(attachment('1')), confirmed);
    assert.equal(list.has(attachment('9')), false, 'a changed attachment is judged anew');
  });
}

test('a repair that fails stays confirmed over its own writes, is not asked for twice, and ends with a listing that shows it', () => {
  const list = new DriftList();
  const compare = (version: string, nodes: string[]) =>
    list.compare([candidate(version)], listing(nodes), () => attachment(version)).confirmed;
  compare('1', []);
  assert.deepEqual(compare('1', []), ['va']);
  list.wrote(attachment('1'), attachment('2'));
  assert.equal(list.has(attachment('2')), true);
  assert.deepEqual([compare('2', []), compare('2', []), compare('2', [])], [[], [], []]);
  list.wrote(attachment('9'), attachment('10'));
  assert.equal(list.has(attachment('10')), false, 'what was not confirmed does not become so by a write');
  compare('2', ['n1']);
  assert.equal(list.has(attachment('2')), false);
});
