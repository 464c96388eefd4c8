// The model after each kind of message.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Message, Sample, Step, Tables, TroubleRow } from '../../page-messages.ts';
import { emptyModel, type Model, withMessage } from './model.ts';
import { NOW, pod, trouble } from './testing/rows.ts';

const OWN = 990_000;

const step = (seq: number): Step => ({
  seq,
  atMs: NOW,
  by: 'provisioner',
  text: `step ${seq}`,
  kind: 'csi',
  hasFailed: false,
});
const sample = (atMs: number): Sample => ({ atMs, claims: 1, bound: 1, pods: 1, running: 1, attached: 1 });
const tables: Tables = {
  troubles: [],
  volumes: [],
  pods: [],
  nodes: [],
  drivers: [],
  classes: [],
  snapshots: [],
  groups: [],
};
const about = {
  version: '1',
  server: 'http://127.0.0.1:1',
  hasHistory: true,
  unread: [],
  example: '',
  allowsActions: false,
};
const all = (more: Partial<Extract<Message, { kind: 'all' }>> = {}): Message => ({
  kind: 'all',
  nowMs: NOW,
  about,
  tables,
  samples: [],
  steps: [],
  ...more,
});
const put = (nowMs: number, ...put: TroubleRow[]): Message => ({
  kind: 'changes',
  nowMs,
  changes: { troubles: { put, gone: [] } },
});
const after = (...messages: Message[]): Model =>
  messages.reduce((model, message) => withMessage(model, message, OWN), emptyModel);
const seqs = ({ steps }: Model): number[] => steps.map(({ seq }) => seq);

test('the first message brings everything, and how far the clocks are apart', () => {
  const model = after(
    all({ tables: { ...tables, pods: [pod('a')] }, steps: [step(1)], samples: [sample(1)] }),
  );
  assert.deepEqual([...model.tables.pods.keys()], ['a']);
  assert.equal(model.about, about);
  assert.deepEqual(seqs(model), [1]);
  assert.equal(model.samples.length, 1);
  assert.equal(model.offsetMs, NOW - OWN);
  assert.equal(model.connection, 'live');
  assert.equal(model.heardMs, OWN);
});

test('everything again, as after a reconnection, replaces what was known', () => {
  const model = after(
    all({ tables: { ...tables, pods: [pod('a')] }, steps: [step(7)] }),
    { kind: 'trouble', says: 'no' },
    all({ tables: { ...tables, pods: [pod('b')] }, steps: [step(1)] }),
  );
  assert.deepEqual([...model.tables.pods.keys()], ['b']);
  assert.deepEqual(seqs(model), [1]);
  assert.equal(model.trouble, undefined);
});

test('changes put rows and take them away, and leave the tables that they do not name', () => {
  const before = after(all({ tables: { ...tables, pods: [pod('a'), pod('b')] } }));
  const model = withMessage(
    before,
    {
      kind: 'changes',
      nowMs: NOW,
      changes: { pods: { put: [pod('b', { phase: 'Failed' }), pod('c')], gone: ['a', 'unknown'] } },
    },
    OWN,
  );
  assert.deepEqual(
    [...model.tables.pods.values()].map(({ id, phase }) => [id, phase]),
    [
      ['b', 'Failed'],
      ['c', 'Running'],
    ],
  );
  assert.equal(model.tables.volumes, before.tables.volumes);
  assert.deepEqual([...before.tables.pods.keys()], ['a', 'b'], 'the model before is as it was');
});

test('a row that goes and comes back within one message is there', () => {
  const model = withMessage(
    after(all({ tables: { ...tables, pods: [pod('a')] } })),
    { kind: 'changes', nowMs: NOW, changes: { pods: { put: [pod('a')], gone: ['a'] } } },
    OWN,
  );
  assert.equal(model.tables.pods.size, 1);
});

test('steps of one number are one step; calls under way are none yet', () => {
  const model = after(all({ steps: [step(1), step(2)] }), {
    kind: 'steps',
    steps: [step(2), step(-1), step(3), step(3)],
  });
  assert.deepEqual(seqs(model), [1, 2, 3]);
});

test('no more steps and samples are kept than are shown', () => {
  const model = after(
    all({ steps: Array.from({ length: 499 }, (_, index) => step(index)) }),
    { kind: 'steps', steps: [step(499), step(500), step(501)] },
    ...Array.from({ length: 605 }, (_, index): Message => ({ kind: 'sample', sample: sample(index) })),
  );
  assert.equal(model.steps.length, 500);
  assert.equal(model.steps.at(0)?.seq, 2);
  assert.equal(model.samples.length, 600);
  assert.equal(model.samples.at(-1)?.atMs, 604);
});

test('trouble is kept until everything comes anew', () => {
  assert.equal(
    after(all(), { kind: 'trouble', says: 'pods could not be read' }).trouble,
    'pods could not be read',
  );
});

test('a message of a kind that it does not know changes nothing', () => {
  const before = after(all());
  const model = withMessage(before, { kind: 'news' } as unknown as Message, OWN);
  assert.deepEqual(model, before);
});

const row = trouble('Pod ns/a');
const unwell = { tables: { ...tables, troubles: [row] } };
const cases: { name: string; messages: Message[]; since: number | undefined }[] = [
  {
    name: 'not well at first sight: perhaps as long as it is there',
    messages: [all(unwell)],
    since: NOW - 60_000,
  },
  { name: 'seen to begin', messages: [all(), put(NOW + 5, row)], since: NOW + 5 },
  {
    name: 'changes that leave it unwell do not begin anew',
    messages: [
      all(),
      put(NOW + 5, { ...row, state: 'waits' }),
      put(NOW + 9, row),
      all({ ...unwell, nowMs: NOW + 10 }),
    ],
    since: NOW + 5,
  },
  {
    name: 'another object becomes the first of those that it affects',
    messages: [
      all(),
      put(NOW + 5, row),
      {
        kind: 'changes',
        nowMs: NOW + 9,
        changes: {
          troubles: { put: [trouble('Pod ns/0', { affects: ['Pod ns/0', 'Pod ns/a'] })], gone: ['Pod ns/a'] },
        },
      },
    ],
    since: NOW + 5,
  },
  {
    name: 'well again',
    messages: [
      all(unwell),
      { kind: 'changes', nowMs: NOW, changes: { troubles: { put: [], gone: ['Pod ns/a'] } } },
    ],
    since: undefined,
  },
];
for (const { name, messages, since } of cases) {
  test(`since when something is not well: ${name}`, () => {
    assert.equal(after(...messages).unwellSince.get('Pod ns/a'), since);
  });
}
