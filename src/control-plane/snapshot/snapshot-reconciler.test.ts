// What the reconciler of snapshots asks the server, because the cache may lag, and when it looks again.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ANN_SNAPSHOT_BEING_DELETED,
  FINALIZER_SNAPSHOT_AS_SOURCE,
  FINALIZER_SNAPSHOT_BOUND,
} from '../../api/well-known.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { memoryLog } from '../../runtime/log/log.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { createSnapshotReconciler } from './snapshot-reconciler.ts';

const deletionTimestamp = '2026-01-01T00:00:00Z';
const snapshot = (metadata: object = {}, status?: object) => ({
  metadata: { name: 's', namespace: 'ns', uid: 'u', finalizers: [FINALIZER_SNAPSHOT_BOUND], ...metadata },
  spec: { source: { persistentVolumeClaimName: 'c' } },
  ...(status && { status }),
});
const content = (metadata: object = {}) => ({
  metadata: { name: 'snapcontent-u', uid: 'c', ...metadata },
  spec: {
    deletionPolicy: 'Delete',
    source: { volumeHandle: 'v' },
    volumeSnapshotRef: { name: 's', namespace: 'ns', uid: 'u' },
  },
});
const going = content({ deletionTimestamp, annotations: { [ANN_SNAPSHOT_BEING_DELETED]: 'yes' } });
const notFound = () =>
  Promise.reject(new KubeError({ code: 404, reason: 'NotFound', message: 'it is gone' }));

interface Given {
  cached?: object;
  onServer?: object;
  writes?: object;
}

/** One run over a snapshot. */
async function run(given: ReturnType<typeof snapshot>, { cached, onServer, writes: answers = {} }: Given) {
  const heard: string[] = [];
  const reconcile = createSnapshotReconciler({
    kube: {
      get: async ({ plural }: { plural: string }) => {
        heard.push(`get ${plural}`);
        return onServer ?? notFound();
      },
    },
    clock: new VirtualClock(),
    log: memoryLog(),
    recorder: {
      event: (_about: object, _type: string, reason: string) => void heard.push(`event ${reason}`),
      flush: async () => {},
    },
    metrics: { begin() {}, end() {} },
    snapshots: { get: () => given },
    contents: { get: () => cached },
    classes: { list: () => [], get: () => undefined },
    claims: { read: async () => undefined },
    writes: { status: async () => void heard.push('status'), ...answers },
    restoring: () => [],
    recordsVolumeMode: true,
  } as never);
  const outcome = await reconcile('ns/s', { signal: new AbortController().signal } as never);
  return { outcome, heard };
}

const waits: [name: string, given: Given, then: string][] = [
  ['a content that only the server shows', { onServer: going }, 'failed'],
  ['a cached content', { cached: going }, 'done'],
  [
    'a content that only the server shows, and that is gone when it is marked',
    { onServer: content(), writes: { markContent: notFound } },
    'failed',
  ],
  [
    'a cached content that is gone when it is marked',
    { cached: content(), writes: { markContent: notFound } },
    'failed',
  ],
];
for (const [name, given, then] of waits)
  test(`a snapshot that is deleted and waits for ${name}: ${then}`, async () => {
    const { outcome } = await run(snapshot({ deletionTimestamp }), given);
    assert.equal(outcome.kind, then);
    assert.equal(outcome.kind === 'failed' && outcome.quiet, then === 'failed');
  });

test('a snapshot is looked at again when what is written about is gone, which the cache may never have shown', async () => {
  const { outcome } = await run(snapshot(), { cached: content(), writes: { protect: notFound } });
  assert.equal(outcome.kind, 'failed');
  assert.equal(outcome.kind === 'failed' && outcome.quiet, true);
});

const finalizers = [FINALIZER_SNAPSHOT_AS_SOURCE, FINALIZER_SNAPSHOT_BOUND];
const bound = { boundVolumeSnapshotContentName: 'snapcontent-u' };
const GET = 'get volumesnapshotcontents';
const LOST = ['status', 'event SnapshotContentMissing'];
const absences: [name: string, status: object, given: Given, heard: string[]][] = [
  ['is cut, and whose content only the server shows', { creationTime: 't' }, { onServer: content() }, [GET]],
  ['is ready, and whose content only the server shows', { readyToUse: true }, { onServer: content() }, [GET]],
  ['is cut, and whose content is gone', { creationTime: 't' }, {}, [GET, ...LOST]],
  ['is ready, and whose content is cached', { readyToUse: true }, { cached: content() }, []],
];
for (const [name, status, given, heard] of absences)
  test(`a snapshot that ${name} is ${heard.includes('status') ? '' : 'not '}reported as lost`, async () => {
    const cut = snapshot({ finalizers }, { ...bound, readyToUse: false, ...status });
    const found = await run(cut, given);
    assert.deepEqual(found.heard, heard);
    assert.equal(found.outcome.kind, heard.includes('status') ? 'failed' : 'done');
  });

const refuse = (code: number, reason: 'Conflict' | 'InternalError') => ({
  status: () => Promise.reject(new KubeError({ code, reason, message: 'refused' })),
});
test('a failure that conflicts when it is written is still a failure, with its reason', async () => {
  const writing = (code: number, reason: 'Conflict' | 'InternalError') =>
    run(snapshot({}, undefined), { writes: refuse(code, reason) });
  const { outcome, heard } = await writing(409, 'Conflict');
  assert.deepEqual(
    heard.filter((each) => each.startsWith('event')),
    [],
    'the user is not told what may not be so any more',
  );
  assert.match(outcome.kind === 'failed' ? outcome.why : '', /PersistentVolumeClaim "c" does not exist/);
  await assert.rejects(writing(500, 'InternalError'), /refused/);
});
