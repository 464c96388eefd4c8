// Which causes are listed, their order, and the counts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodRow, TroubleRow, VolumeRow } from '../../page-messages.ts';
import { emptyModel, type Model } from './model.ts';
import { NOW, pod, trouble, volume } from './testing/rows.ts';
import { countsOf, describeTroubles, shownTroubles, titleOf } from './troubles.ts';

const byId = <R extends { id: string }>(rows: readonly R[]) => new Map(rows.map((row) => [row.id, row]));
const modelOf = (rows: {
  troubles?: TroubleRow[];
  volumes?: VolumeRow[];
  pods?: PodRow[];
  unwellSince?: Model['unwellSince'];
}): Model => ({
  ...emptyModel,
  about: { version: '', server: '', hasHistory: false, unread: [], example: '', allowsActions: false },
  connection: 'live',
  tables: {
    ...emptyModel.tables,
    troubles: byId(rows.troubles ?? []),
    volumes: byId(rows.volumes ?? []),
    pods: byId(rows.pods ?? []),
  },
  unwellSince: rows.unwellSince ?? new Map(),
});

test('[WHY-2] causes in the order of the server, however they came', () => {
  const model = modelOf({
    troubles: [
      trouble('c', { order: 2, state: 'waits' }),
      trouble('a', { order: 0 }),
      trouble('b', { order: 1 }),
    ],
  });
  assert.deepEqual(
    shownTroubles(model, NOW).map(({ id }) => id),
    ['a', 'b', 'c'],
  );
});

const flickers: { name: string; state: TroubleRow['state']; sinceMs: number; isListed: boolean }[] = [
  { name: 'waits for a moment', state: 'waits', sinceMs: 2_999, isListed: false },
  { name: 'waits for longer', state: 'waits', sinceMs: 3_000, isListed: true },
  { name: 'stuck for a moment', state: 'stuck', sinceMs: 0, isListed: true },
];
for (const { name, state, sinceMs, isListed } of flickers) {
  test(`whether it is listed: ${name}`, () => {
    const model = modelOf({
      troubles: [trouble('a', { state })],
      unwellSince: new Map([['a', NOW - sinceMs]]),
    });
    assert.equal(shownTroubles(model, NOW).length, isListed ? 1 : 0);
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
    const rows = (count: number, state: TroubleRow['state']) =>
      Array.from({ length: count }, (_, index) => trouble(`${state}${index}`, { state }));
    const model = modelOf({ troubles: [...rows(stuck, 'stuck'), ...rows(waits, 'waits')] });
    const list = shownTroubles(model, NOW);
    assert.equal(describeTroubles(list), says);
    assert.equal(titleOf(model, list), title);
    assert.equal(titleOf({ ...model, connection: 'lost' }, list), 'not connected – Berth');
  });
}

test('the counts of claims do not count volumes that no claim has', () => {
  const attachment = { name: 'va', node: 'n', isGoing: false };
  const model = modelOf({
    volumes: [
      volume('a', {
        attachments: [
          { ...attachment, attached: true },
          { ...attachment, attached: false },
        ],
      }),
      volume('b', { phase: 'Pending' }),
      volume('c', { subject: 'volume', attachments: [{ ...attachment, attached: true }] }),
    ],
    pods: [pod('x'), pod('y', { phase: 'Pending' })],
  });
  assert.deepEqual(countsOf(model.tables), { claims: 2, bound: 1, attached: 2, pods: 2, running: 1 });
});
