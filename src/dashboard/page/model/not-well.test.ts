// What is listed as not well, its order, and the counts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodRow, State, VolumeRow } from '../../page-messages.ts';
import { emptyModel, type Model, unwellKey } from './model.ts';
import { countsOf, describeNotWell, notWell, titleOf } from './not-well.ts';
import { formatRoute } from './routes.ts';
import { NOW, pod, volume } from './testing/rows.ts';

const modelOf = (volumes: VolumeRow[], pods: PodRow[] = [], more: Partial<Model> = {}): Model => ({
  ...emptyModel,
  about: { version: '', server: '', hasHistory: false, unread: [] },
  connection: 'live',
  tables: {
    ...emptyModel.tables,
    volumes: new Map(volumes.map((row) => [row.id, row])),
    pods: new Map(pods.map((row) => [row.id, row])),
  },
  ...more,
});

test('what is stuck before what waits, the oldest first, each with its page', () => {
  const model = modelOf(
    [
      volume('well'),
      volume('waits', { state: 'waits', createdMs: 1 }),
      volume('young', { state: 'stuck', createdMs: NOW }),
    ],
    [pod('old', { state: 'stuck', says: 'why' })],
  );
  assert.deepEqual(
    notWell(model, NOW).map(({ kind, name, state, route }) => [kind, name, state, formatRoute(route)]),
    [
      ['pod', 'ns/old', 'stuck', '#/pod/ns/old'],
      ['claim', 'ns/young', 'stuck', '#/claim/ns/young'],
      ['claim', 'ns/waits', 'waits', '#/claim/ns/waits'],
    ],
  );
});

const flickers: { name: string; state: State; sinceMs: number; isListed: boolean }[] = [
  { name: 'waits for a moment', state: 'waits', sinceMs: 2_999, isListed: false },
  { name: 'waits for longer', state: 'waits', sinceMs: 3_000, isListed: true },
  { name: 'stuck for a moment', state: 'stuck', sinceMs: 0, isListed: true },
  { name: 'well', state: 'ok', sinceMs: 9_000, isListed: false },
];
for (const { name, state, sinceMs, isListed } of flickers) {
  test(`whether it is listed: ${name}`, () => {
    const unwellSince = new Map([[unwellKey('volumes', 'a'), NOW - sinceMs]]);
    const model = modelOf([volume('a', { state })], [], { unwellSince });
    assert.equal(notWell(model, NOW).length, isListed ? 1 : 0);
  });
}

const titles: { stuck: number; waits: number; says: string; title: string }[] = [
  { stuck: 0, waits: 0, says: '', title: 'Berth' },
  { stuck: 2, waits: 0, says: '2 stuck', title: '2 stuck – Berth' },
  { stuck: 0, waits: 1, says: '1 waits', title: '1 waits – Berth' },
  { stuck: 1, waits: 3, says: '1 stuck, 3 wait', title: '1 stuck, 3 wait – Berth' },
];
for (const { stuck, waits, says, title } of titles) {
  test(`${stuck} stuck and ${waits} waiting in words`, () => {
    const rows = (count: number, state: State) =>
      Array.from({ length: count }, (_, index) => volume(`${state}${index}`, { state }));
    const model = modelOf([...rows(stuck, 'stuck'), ...rows(waits, 'waits')]);
    const list = notWell(model, NOW);
    assert.equal(describeNotWell(list), says);
    assert.equal(titleOf(model, list), title);
    assert.equal(titleOf({ ...model, connection: 'lost' }, list), 'not connected – Berth');
  });
}

test('the counts of claims do not count volumes that no claim has', () => {
  const attachment = { node: 'n', isGoing: false };
  const model = modelOf(
    [
      volume('a', {
        attachments: [
          { ...attachment, attached: true },
          { ...attachment, attached: false },
        ],
      }),
      volume('b', { phase: 'Pending' }),
      volume('c', { subject: 'volume', attachments: [{ ...attachment, attached: true }] }),
    ],
    [pod('x'), pod('y', { phase: 'Pending' })],
  );
  assert.deepEqual(countsOf(model.tables), { claims: 2, bound: 1, attached: 2, pods: 2, running: 1 });
});
