// The trace: what is told of a change, which entries belong to a claim or pod, and how they read.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeObject } from '../api/object.ts';
import { memoryLog } from '../runtime/log/log.ts';
import { styledLine } from '../runtime/log/styled-text.ts';
import { VirtualClock } from '../runtime/time/virtual-clock.ts';
import { linksOf, shownOf } from './about-call.ts';
import { describeChange } from './describe-change.ts';
import { type Subject, SubjectTrace } from './related-entries.ts';
import { Timeline } from './timeline.ts';
import { TraceBook } from './trace-book.ts';
import type { ApiEntry, CsiEntry, RetryEntry, Token, TraceEntry } from './trace-entry.ts';
import { tracedLog } from './traced-log.ts';

const object = (kind: string, fields: object): KubeObject =>
  ({ apiVersion: 'v1', kind, metadata: { name: 'x' }, spec: {}, ...fields }) as never;

describe('the description of a change', () => {
  const claim = (fields: object) => object('PersistentVolumeClaim', fields);
  const cases: { name: string; before?: KubeObject; after?: KubeObject; told: string[] }[] = [
    { name: 'a new claim', after: claim({ status: { phase: 'Pending' } }), told: ['phase: Pending'] },
    {
      name: 'bound',
      before: claim({ status: { phase: 'Pending' } }),
      after: claim({ spec: { volumeName: 'v' }, status: { phase: 'Bound' } }),
      told: ['phase: Bound', 'volume: v'],
    },
    {
      name: 'a finalizer taken off',
      before: claim({ metadata: { name: 'x', finalizers: ['a/b', 'c/d'] } }),
      after: claim({ metadata: { name: 'x', finalizers: ['c/d'] } }),
      told: ['finalizer a/b: none'],
    },
    {
      name: 'deletion',
      before: claim({}),
      after: claim({ metadata: { name: 'x', deletionTimestamp: 'now' } }),
      told: ['deletion asked for'],
    },
    { name: 'labels are nobody’s business', before: claim({}), after: claim({}), told: [] },
    {
      name: 'conditions that say the same are said once',
      after: object('Pod', {
        status: {
          conditions: [
            { type: 'Ready', status: 'False', message: 'waits' },
            { type: 'ContainersReady', status: 'False', message: 'waits' },
          ],
        },
      }),
      told: ['waits: waits'],
    },
    {
      name: 'an attachment that failed',
      before: object('VolumeAttachment', { spec: { nodeName: 'n' }, status: { attached: false } }),
      after: object('VolumeAttachment', {
        spec: { nodeName: 'n' },
        status: { attached: false, attachError: { message: 'no' } },
      }),
      told: ['attach error: no'],
    },
  ];
  for (const { name, before, after, told } of cases) {
    test(name, () => assert.deepEqual(describeChange(before, after), told));
  }
});

const api = (kind: string, self: Token, links: Token[], name = 'x'): ApiEntry => ({
  seq: 0,
  atMs: 0,
  by: 'a client',
  kind: 'api',
  verb: 'created',
  object: { kind, name },
  uid: 'u',
  changes: [],
  self,
  links,
});
const csi = (method: string, request: Record<string, string>): CsiEntry => ({
  seq: 0,
  atMs: 0,
  by: 'node-1',
  kind: 'csi',
  method,
  durationMs: 3,
  code: 'OK',
  request: shownOf(request),
  ...linksOf(request),
});

const uid1 = '11111111-1111-1111-1111-111111111111';
const uid2 = '22222222-2222-2222-2222-222222222222';
const target = (uid: string) => `/n/pods/${uid}/volumes/v/mount`;
const world: Record<string, TraceEntry> = {
  claim: api('PersistentVolumeClaim', 'claim ns/data', ['volume pvc-1']),
  otherClaim: api('PersistentVolumeClaim', 'claim ns/other', ['volume pvc-2']),
  create: csi('CreateVolume', { name: 'pvc-1' }),
  volume: api('PersistentVolume', 'volume pvc-1', ['handle h1', 'claim ns/data']),
  otherVolume: api('PersistentVolume', 'volume pvc-2', ['handle h2', 'claim ns/other']),
  pod: api('Pod', 'pod ns/web', [`pod-uid ${uid1}`, 'claim ns/data', 'claim ns/other']),
  secondPod: api('Pod', 'pod ns/also', [`pod-uid ${uid2}`, 'claim ns/data']),
  attachment: api('VolumeAttachment', 'attachment va', ['volume pvc-1']),
  publish: csi('NodePublishVolume', { volumeId: 'h1', targetPath: target(uid1) }),
  publishSecond: csi('NodePublishVolume', { volumeId: 'h1', targetPath: target(uid2) }),
  publishOther: csi('NodePublishVolume', { volumeId: 'h2', targetPath: target(uid1) }),
  event: api('Event', 'event e', ['pod ns/web']),
};

describe('the entries related', () => {
  const related = (subject: Subject): string[] => {
    const found = new SubjectTrace(subject).kept(Object.values(world));
    return Object.keys(world).filter((name) => found.includes(world[name] as TraceEntry));
  };
  test('to a claim: its volume, attachment, pods and calls, nothing of other claims', () => {
    assert.deepEqual(related({ kind: 'claim', token: 'claim ns/data' }), [
      'claim',
      'create',
      'volume',
      'pod',
      'secondPod',
      'attachment',
      'publish',
      'publishSecond',
      'event',
    ]);
  });
  test('to a pod: all its claims and their volumes, nothing of other pods', () => {
    assert.deepEqual(related({ kind: 'pod', token: 'pod ns/web' }), [
      'claim',
      'otherClaim',
      'create',
      'volume',
      'otherVolume',
      'pod',
      'attachment',
      'publish',
      'publishOther',
      'event',
    ]);
  });
});

test('[SEC-3] of a request only names, handles and paths are kept', () => {
  const request = { volumeId: 'h', targetPath: '/t', secrets: { password: 'x' }, volumeContext: { a: 'b' } };
  assert.deepEqual(shownOf(request), { volumeId: 'h', targetPath: '/t' });
});

const oneLine = (timeline: Timeline, entry: TraceEntry, nowMs: number): string =>
  timeline
    .lines(entry, nowMs)
    .map((pieces) => styledLine(pieces, false))
    .join('\n');

test('a timeline has time, component and action', () => {
  const timeline = new Timeline();
  const first = { ...api('Pod', 'pod ns/web', []), atMs: 1000, changes: ['phase: Pending'] };
  const call = { ...csi('NodeStageVolume', { volumeId: 'h1' }), atMs: 1250.5 };
  const failed = { ...call, code: 'UNAVAILABLE', error: 'away', durationMs: 15_000 };
  const { durationMs: _ended, code: _code, ...underWay } = call;
  assert.deepEqual(
    [first, call, failed, underWay].map((entry) => oneLine(timeline, entry, 61_250.5)),
    [
      '   0.000  a client       Pod x created: phase: Pending',
      '   0.251  node-1         NodeStageVolume volumeId=h1 → OK in 3.0 ms',
      '   0.251  node-1         NodeStageVolume volumeId=h1 → UNAVAILABLE in 15.0 s: away',
      '   0.251  node-1         NodeStageVolume volumeId=h1 → no answer yet, for 60.0 s',
    ],
  );
});

describe('the trace book', () => {
  const book = () => new TraceBook({ clock: new VirtualClock(), limit: 10 });
  test('keeps the last entries', () => {
    const kept = book();
    for (let i = 0; i < 5_000; i++) kept.note(() => api('Pod', `pod ${i}`, []));
    const entries = kept.entries() as ApiEntry[];
    assert.ok(entries.length <= 1_010, `${entries.length}`);
    assert.equal(entries.at(-1)?.self, 'pod 4999');
  });
  test('shows calls under way, and each call once it has ended', () => {
    const kept = book();
    const end = kept.begin({ by: 'node-1', method: 'NodeStageVolume', request: { volumeId: 'h' } });
    assert.equal(kept.entries().length, 1);
    end({ code: 'OK' });
    end({ code: 'OK' });
    assert.equal(kept.entries().length, 1);
  });
  test('records retries from the log, with loop and key', () => {
    const kept = book();
    const log = tracedLog(memoryLog(), 'provisioner', kept).with({ loop: 'claims' });
    log.error('Failed, will retry', new Error('no room'), { key: 'ns/data', attempt: 1, retryInMs: 2000 });
    log.error('Something else', new Error('x'));
    assert.deepEqual(
      kept.entries().map((entry) => oneLine(new Timeline(), entry, kept.nowMs())),
      ['   0.000  provisioner    claims ns/data failed (2 in a row), next try at 2.000, in 2.0 s: no room'],
    );
  });
});

describe('[WHY-3] only the present object of a name is shown', () => {
  const at = (atMs: number, uid: string, entry: ApiEntry): ApiEntry => ({ ...entry, atMs, uid });
  const claim = api('PersistentVolumeClaim', 'claim ns/data', []);
  const old = at(1, 'old', { ...claim, links: ['volume pvc-old'] });
  const oldCreate = { ...csi('CreateVolume', { name: 'pvc-old' }), atMs: 2 };
  const ofClaim = (uid: string) => ({ of: { token: 'claim ns/data', uid } }) as const;
  const oldEvent = { ...at(3, 'e1', api('Event', 'event e1', ['claim ns/data'])), ...ofClaim('old') };
  const oldVolume = {
    ...at(3, 'v1', api('PersistentVolume', 'volume pvc-old', ['claim ns/data'])),
    ...ofClaim('old'),
  };
  const oldRetry: RetryEntry = {
    kind: 'retry',
    seq: 0,
    atMs: 4,
    by: 'provisioner',
    loop: 'claims',
    key: 'ns/data',
    attempt: 1,
    retryInMs: 1,
    error: 'no',
    links: ['claim ns/data', 'pod ns/data'],
  };
  const gone = at(5, 'old', { ...old, verb: 'deleted' });
  const now = at(6, 'new', { ...claim, links: ['volume pvc-new'] });
  const create = { ...csi('CreateVolume', { name: 'pvc-new' }), atMs: 7 };
  const event = { ...at(8, 'e2', api('Event', 'event e2', ['claim ns/data'])), ...ofClaim('new') };
  const retry = { ...oldRetry, atMs: 9 };
  const earlier = { kind: 'earlier', atMs: 5, object: gone.object };
  const subject: Subject = { kind: 'claim', token: 'claim ns/data' };

  test('with a line where an earlier object of that name ended', () => {
    const entries = [old, oldCreate, oldVolume, oldEvent, oldRetry, gone, now, create, event, retry];
    const lines = new SubjectTrace(subject).kept(entries);
    assert.deepEqual(lines, [{ ...earlier, entries: 5 }, now, create, event, retry]);
  });
  test('also with --follow', () => {
    const trace = new SubjectTrace(subject);
    assert.deepEqual(trace.kept([old, oldCreate]), [old, oldCreate]);
    const lines = [gone, now, oldCreate, create, event].flatMap((entry) => trace.next(entry));
    assert.deepEqual(lines, [gone, { ...earlier, entries: 0 }, now, create, event]);
  });
  test('a deleted object that was not replaced is shown', () => {
    assert.deepEqual(new SubjectTrace(subject).kept([old, oldCreate, gone]), [old, oldCreate, gone]);
  });
});

test('[WHY-3] a trace of a snapshot, and of the group that it belongs to', () => {
  const snapshot = api('VolumeSnapshot', 'snapshot ns/s', ['volume snapshot-1', 'content c1', 'group ns/g']);
  const entries = [
    snapshot,
    api('VolumeSnapshotContent', 'content c1', ['snapshot ns/s', 'handle sh1'] as Token[]),
    csi('CreateSnapshot', { name: 'snapshot-1', sourceVolumeId: 'h1' }),
    csi('DeleteSnapshot', { snapshotId: 'sh1' }),
    api('VolumeSnapshot', 'snapshot ns/other', ['volume snapshot-2', 'content c2']),
  ];
  const related = (subject: Subject) => new SubjectTrace(subject).kept(entries);
  assert.deepEqual(related({ kind: 'snapshot', token: 'snapshot ns/s' }), entries.slice(0, 4));
  assert.deepEqual(related({ kind: 'group', token: 'group ns/g' }), entries.slice(0, 4));
});

test('[WHY-3] it fits the terminal: wrapped between words, IDs and paths short, errors folded', () => {
  const uid = '0b5e7d1c-1111-4222-8333-944445555666';
  const path = `/var/lib/berth/n/node-1/pods/${uid}/volumes/kubernetes.io~csi/pvc-${uid}/mount`;
  const entry: CsiEntry = {
    ...csi('NodePublishVolume', {
      volumeId: `vol-pvc-${uid}`,
      stagingTargetPath: `/var/lib/berth/n/node-1/plugins/${'e2'.repeat(32)}/globalmount`,
      targetPath: path,
    }),
    code: 'INTERNAL',
    error: 'mount failed: exit status 32\nMounting command: mount\n\nOutput: wrong fs type',
  };
  const lines = new Timeline({ columns: 80 }).lines(entry, 0);
  assert.deepEqual(
    lines.map((pieces) => styledLine(pieces, false)),
    [
      '   0.000  node-1         NodePublishVolume volumeId=vol-pvc-0b5e7d1c…',
      '                         stagingTargetPath=…/e2e2e2e2…/globalmount',
      '                         targetPath=…/pvc-0b5e7d1c…/mount → INTERNAL in 3.0 ms:',
      '                         mount failed: exit status 32 (and 2 more lines)',
    ],
  );
  assert.ok(styledLine(lines[0] ?? [], true).includes('\u001b[1mNodePublishVolume '));
});
