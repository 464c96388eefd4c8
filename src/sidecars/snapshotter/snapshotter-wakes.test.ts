// Which changes make the snapshotter look at a content, and which do not.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { volumeSnapshotClasses, volumeSnapshotContents } from '../../api/kinds.ts';
import { ANN_SNAPSHOT_BEING_DELETED } from '../../api/well-known.ts';
import { type Change, changesOf, DRIVER, wokenBy } from '../testing/wakes.ts';
import { createSnapshotter, type SnapshotterOptions } from './snapshotter.ts';

const LOOP = 'csi-snapshotter-content';
const deletionTimestamp = '2026-01-01T00:00:00Z';
const content = ({ metadata, spec, status }: { metadata?: object; spec?: object; status?: object } = {}) => ({
  metadata: { name: 'c', uid: 'u', ...metadata },
  spec: {
    driver: DRIVER,
    source: { volumeHandle: 'v' },
    volumeSnapshotClassName: 'snaps',
    volumeSnapshotRef: { name: 's', namespace: 'ns', uid: 's' },
    ...spec,
  },
  ...(status && { status }),
});
const theirs = { driver: 'other' };
const contents = changesOf(volumeSnapshotContents);
const marked = { annotations: { [ANN_SNAPSHOT_BEING_DELETED]: 'yes' } };
const retry = { annotations: { 'csi.berth/retry': 'now' } };
const snaps: Change = { resource: volumeSnapshotClasses, after: { metadata: { name: 'snaps' } } };

const classOf = (change: object = {}) => ({
  metadata: { name: 'snaps', uid: 'k' },
  driver: DRIVER,
  ...change,
});
const classes = changesOf(volumeSnapshotClasses);
const withoutSnaps = classes(classOf(), undefined);
const otherSnaps = classes(classOf({ driver: 'other' }), classOf());
const going = content({ metadata: { deletionTimestamp }, status: { readyToUse: true } });

const rows: [name: string, change: Change, woken: string[], cached?: object[]][] = [
  ['a content', contents(undefined, content()), [LOOP]],
  ['another driver’s content', contents(undefined, content({ spec: theirs })), []],
  ['a label', contents(content(), content({ metadata: { labels: { a: 'b' } } })), []],
  ['its own status', contents(content(), content({ status: { readyToUse: false } })), []],
  [
    'a content that is not ready any more',
    contents(content({ status: { readyToUse: true } }), content({ status: { readyToUse: false } })),
    [LOOP],
  ],
  ['a content that is ready', contents(content(), content({ status: { readyToUse: true } })), []],
  ['another one of that name', contents(content(), content({ metadata: { uid: 'v' } })), [LOOP]],
  ['a deletion', contents(content(), content({ metadata: { deletionTimestamp } })), [LOOP]],
  ['the mark of a deletion', contents(content(), content({ metadata: marked })), [LOOP]],
  ['another spec', contents(content(), content({ spec: { deletionPolicy: 'Retain' } })), [LOOP]],
  ['a retry that is asked for', contents(content(), content({ metadata: retry })), [LOOP]],
  [
    'a deletion of another driver’s',
    contents(content({ spec: theirs }), content({ spec: theirs, metadata: { deletionTimestamp } })),
    [],
  ],
  ['the class of a content that is not ready', snaps, [LOOP], [content()]],
  ['the class of a ready content', snaps, [], [content({ status: { readyToUse: true } })]],
  ['the class of a content that is deleted', snaps, [LOOP], [going]],
  ['the deletion of that class', withoutSnaps, [LOOP], [going]],
  ['its creation with another driver', otherSnaps, [LOOP], [going]],
  [
    'the deletion of the class of a ready content',
    withoutSnaps,
    [],
    [content({ status: { readyToUse: true } })],
  ],
  ['the class of another driver’s content', snaps, [], [content({ spec: theirs })]],
  ['a class that no content has', snaps, [], [content({ spec: { volumeSnapshotClassName: 'other' } })]],
  [
    'a class, and a content without any',
    snaps,
    [],
    [content({ spec: { volumeSnapshotClassName: undefined } })],
  ],
];
const options: SnapshotterOptions = {
  timeoutMs: 1000,
  workers: 1,
  retryStartMs: 1000,
  retryMaxMs: 10_000,
  resyncMs: 0,
  naming: { prefix: 'snapshot' } as never,
  extraCreateMetadata: false,
};
for (const [name, change, woken, cached = []] of rows) {
  test(`the snapshotter: ${name} wakes ${woken.join(', ') || 'nothing'}`, async (t) => {
    const found = await wokenBy(t, (ports) => createSnapshotter(ports, options), {
      change,
      cached: cached.map((each) => [volumeSnapshotContents, each] as const),
      capabilities: ['CREATE_DELETE_SNAPSHOT'],
    });
    assert.deepEqual(found, woken);
  });
}
