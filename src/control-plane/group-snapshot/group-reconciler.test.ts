// What the reconciler of group snapshots asks the server, because the cache may lag, and what it leaves alone.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ANN_GROUP_SNAPSHOT_BEING_DELETED,
  FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE,
  FINALIZER_GROUP_SNAPSHOT_BOUND,
} from '../../api/well-known.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { memoryLog } from '../../runtime/log/log.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { createGroupReconciler } from './group-reconciler.ts';

const deletionTimestamp = '2026-01-01T00:00:00Z';
const group = (metadata: object = {}, spec: object = {}, status?: object) => ({
  metadata: {
    name: 'g',
    namespace: 'ns',
    uid: 'u',
    finalizers: [FINALIZER_GROUP_SNAPSHOT_BOUND],
    ...metadata,
  },
  spec: { source: { selector: { matchLabels: { app: 'db' } } }, ...spec },
  ...(status && { status }),
});
const ref = { name: 'g', namespace: 'ns', uid: 'u' };
const content = {
  metadata: { name: 'groupsnapcontent-u', uid: 'c' },
  spec: { source: {}, volumeGroupSnapshotRef: ref },
};

/** One run over a group snapshot; `onServer` are objects by plural that the caches do not show. */
async function run(
  given: ReturnType<typeof group>,
  {
    onServer = {},
    cached,
    claim,
    classes = [],
    heard = [],
    writes: answers = {},
  }: {
    onServer?: Record<string, object[]>;
    cached?: object | undefined;
    /** What the claims are by now. */
    claim?: { now: object | undefined };
    classes?: object[];
    /** What it does. */
    heard?: string[];
    writes?: object;
  } = {},
) {
  let current: object | undefined = given;
  const end = (what: string) => async () => {
    heard.push(what);
    current = undefined;
  };
  const log = memoryLog();
  const reconcile = createGroupReconciler({
    kube: {
      get: async ({ plural }: { plural: string }) => {
        heard.push(`get ${plural}`);
        const [found] = onServer[plural] ?? [];
        if (found) return found;
        throw new KubeError({ code: 404, reason: 'NotFound', message: 'none' });
      },
      list: async ({ plural }: { plural: string }) => {
        heard.push(`list ${plural}`);
        return { items: onServer[plural] ?? [] };
      },
    },
    clock: new VirtualClock(),
    log,
    recorder: {
      event: (_about: object, _type: string, reason: string) => void heard.push(`event ${reason}`),
      flush: async () => {},
    },
    metrics: { begin() {}, end() {} },
    caches: {
      groups: { get: () => current },
      groupContents: { get: () => cached },
      snapshots: { get: () => undefined },
    },
    classes: { list: () => classes, get: () => classes[0] },
    claims: {
      isHeld: () => true,
      latest: async (listed: object) => (claim === undefined ? listed : claim.now),
      release: async (key: string) => void heard.push(`release ${key}`),
    },
    writes: {
      status: async () => void heard.push('status'),
      release: end('released'),
      markContent: end('marked'),
      deleteMember: end('member deleted'),
      ...answers,
    },
    membersOf: () => [],
    planned: {
      get: () => new Set(['ns/c', 'ns/before']),
      set: (key: string, claims: Set<string>) => heard.push(`planned ${key}: ${[...claims]}`),
    },
    unplanned: { add: (key: string) => void heard.push(`unplanned ${key}`), delete: () => false },
    goingClaimsOf: () => [{ metadata: { name: 'c', namespace: 'ns' } }],
    volumeOf: () => undefined,
  } as never);
  const outcome = await reconcile('ns/g', { signal: new AbortController().signal } as never);
  return { outcome, heard, log };
}

test('[GRP-1] a group snapshot that is deleted is released only when the server has no content and no member of it', async () => {
  const deleted = group({ deletionTimestamp });
  const CONTENTS = 'volumegroupsnapshotcontents';
  const released = await run(deleted);
  assert.deepEqual(released.heard, [`get ${CONTENTS}`, 'list volumesnapshots', 'released']);
  const withContent = await run(deleted, { onServer: { [CONTENTS]: [content] } });
  assert.equal(withContent.heard.at(-1), 'marked');
  const cachedContent = await run(deleted, { cached: content });
  assert.deepEqual(
    cachedContent.heard,
    ['list volumesnapshots', 'marked'],
    'a cached content is not read again',
  );
  const member = { metadata: { name: 'm', namespace: 'ns', ownerReferences: [{ uid: 'u' }] } };
  const other = { metadata: { name: 'o', namespace: 'ns', ownerReferences: [{ uid: 'v' }] } };
  const withMember = await run(deleted, { onServer: { volumesnapshots: [other, member] } });
  assert.equal(withMember.heard.at(-1), 'member deleted');
  const withOther = await run(deleted, { onServer: { volumesnapshots: [other] } });
  assert.equal(withOther.heard.at(-1), 'released');
});

test('[GRP-1] the claims of a content are known before it is created, because the answer may be lost', async () => {
  const claim = {
    metadata: {
      ...{ name: 'c', namespace: 'ns', labels: { app: 'db' } },
      finalizers: [FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE],
    },
    spec: { volumeName: 'pv' },
    status: { phase: 'Bound' },
  };
  const pv = {
    metadata: { name: 'pv' },
    spec: { csi: { driver: 'd', volumeHandle: 'h' }, claimRef: { name: 'c', namespace: 'ns' } },
  };
  const lost = new KubeError({ code: 0, reason: 'Unreachable', message: 'the answer was lost' });
  const volumeGroupSnapshotClassName = 'k';
  const source = group().spec.source;
  const heard: string[] = [];
  const running = run(group({}, { source, volumeGroupSnapshotClassName }), {
    onServer: { persistentvolumeclaims: [claim], persistentvolumes: [pv] },
    classes: [{ metadata: { name: 'k' }, driver: 'd', deletionPolicy: 'Delete' }],
    heard,
    writes: { createContent: () => Promise.reject(lost) },
  });
  await assert.rejects(running, lost);
  assert.deepEqual(heard.slice(-2), ['planned ns/g: ns/c', 'release ns/before']);
});

test('[GRP-1] a group snapshot that cannot be planned lets its claims go, unless the server has its content', async () => {
  const { outcome, heard, log } = await run(group());
  assert.equal(outcome.kind === 'failed' && outcome.quiet, true, 'the event tells the user');
  assert.deepEqual(heard, [
    'list persistentvolumeclaims',
    'get volumegroupsnapshotcontents',
    'unplanned ns/g',
    'release ns/c',
    'status',
    'event GroupSnapshotContentCreationFailed',
  ]);
  assert.match(log.text(), /cannot be created or used yet/);
  const made = await run(group(), { onServer: { volumegroupsnapshotcontents: [content] } });
  assert.deepEqual(
    made.heard.filter((each) => /unplanned|release/.test(each)),
    [],
  );
});

test('[GRP-1] a group snapshot that is wrong keeps its claims', async () => {
  const { heard } = await run(group({}, { source: {} }));
  assert.deepEqual(heard, ['status', 'event GroupSnapshotValidationError']);
});

test('[GRP-1] what is gone before it is written is no error; another error is', async () => {
  const refuse = (code: number, reason: 'NotFound' | 'InternalError') => ({
    release: () => Promise.reject(new KubeError({ code, reason, message: 'refused' })),
  });
  const deleted = group({ deletionTimestamp });
  const { outcome } = await run(deleted, { writes: refuse(404, 'NotFound') });
  assert.equal(outcome.kind === 'failed' && outcome.quiet, true);
  await assert.rejects(run(deleted, { writes: refuse(500, 'InternalError') }), /refused/);
});

const claimOf = (resourceVersion: string, phase: string) => ({
  metadata: { name: 'c', namespace: 'ns', uid: 'c', resourceVersion, labels: { app: 'db' } },
  spec: { volumeName: 'pv' },
  status: { phase },
});
const versions: [name: string, claim: { now: object | undefined } | undefined, then: RegExp][] = [
  ['did not change, is planned as listed', undefined, /not bound/],
  ['was written since it was listed, is planned as written', { now: claimOf('10', 'Bound') }, /is gone/],
  ['is gone since it was listed, is not planned', { now: undefined }, /finds no claim/],
];
for (const [name, claim, then] of versions)
  test(`[GRP-1] a claim of a group snapshot that ${name}`, async () => {
    const onServer = { persistentvolumeclaims: [claimOf('9', 'Pending')], persistentvolumes: [] };
    const { outcome } = await run(group(), { onServer, ...(claim && { claim }) });
    assert.match(outcome.kind === 'failed' ? outcome.why : '', then);
  });

const GOING_CONTENT = {
  metadata: {
    ...content.metadata,
    deletionTimestamp,
    annotations: { [ANN_GROUP_SNAPSHOT_BEING_DELETED]: 'yes' },
  },
  spec: { ...content.spec, deletionPolicy: 'Delete' },
};
const goingMember = {
  metadata: { name: 'm', namespace: 'ns', ownerReferences: [{ uid: 'u' }], deletionTimestamp },
};
const notFound = () =>
  Promise.reject(new KubeError({ code: 404, reason: 'NotFound', message: 'it is gone' }));
const waits: [name: string, given: Parameters<typeof run>[1], then: string][] = [
  [
    'a content that only the server shows',
    { onServer: { volumegroupsnapshotcontents: [GOING_CONTENT] } },
    'failed',
  ],
  ['a cached content', { cached: GOING_CONTENT }, 'done'],
  ['a member that only the server shows', { onServer: { volumesnapshots: [goingMember] } }, 'failed'],
  [
    'a content that only the server shows, and that is gone when it is marked',
    { onServer: { volumegroupsnapshotcontents: [content] }, writes: { markContent: notFound } },
    'failed',
  ],
  [
    'a cached content that is gone when it is marked',
    { cached: content, writes: { markContent: notFound } },
    'failed',
  ],
];
for (const [name, given, then] of waits)
  test(`[GRP-1] a group snapshot that is deleted and waits for ${name}: ${then}`, async () => {
    const { outcome } = await run(group({ deletionTimestamp }), given);
    assert.equal(outcome.kind, then);
    assert.equal(outcome.kind === 'failed' && outcome.quiet, then === 'failed');
  });

test('[GRP-1] a group snapshot is looked at again when what is written about is gone, which no cache may have shown', async () => {
  const given = { cached: content, writes: { protect: notFound } };
  const { outcome } = await run(group({ finalizers: [] }), given);
  assert.equal(outcome.kind === 'failed' && outcome.quiet, true);
});

const bound = { boundVolumeGroupSnapshotContentName: 'groupsnapcontent-u' };
const GET = 'get volumegroupsnapshotcontents';
const onServer = { volumegroupsnapshotcontents: [content] };
const LOST = ['status', 'event GroupSnapshotContentMissing'];
const absences: [name: string, status: object, given: Parameters<typeof run>[1], heard: string[]][] = [
  ['is cut, and whose content only the server shows', { creationTime: 't' }, { onServer }, [GET]],
  ['is ready, and whose content only the server shows', { readyToUse: true }, { onServer }, [GET]],
  ['is cut, and whose content is gone', { creationTime: 't' }, {}, [GET, ...LOST]],
  ['is ready, and whose content is cached', { readyToUse: true }, { cached: content }, []],
];
for (const [name, status, given, heard] of absences)
  test(`[GRP-1] a group snapshot that ${name} is ${heard.includes('status') ? '' : 'not '}reported as lost`, async () => {
    const cut = group({}, {}, { ...bound, readyToUse: false, ...status });
    const found = await run(cut, given);
    assert.deepEqual(found.heard, heard);
    assert.equal(found.outcome.kind, heard.includes('status') ? 'failed' : 'done');
  });

const refused = (code: number, reason: 'Conflict' | 'InternalError') => ({
  status: () => Promise.reject(new KubeError({ code, reason, message: 'refused' })),
});
test('[GRP-1] a failure that conflicts when it is written is still a failure, with its reason', async () => {
  const writing = (code: number, reason: 'Conflict' | 'InternalError') =>
    run(group(), { writes: refused(code, reason) });
  const { outcome, heard } = await writing(409, 'Conflict');
  assert.deepEqual(
    heard.filter((each) => each.startsWith('event')),
    [],
    'the user is not told what may not be so any more',
  );
  assert.match(outcome.kind === 'failed' ? outcome.why : '', /the selector finds no claim/);
  await assert.rejects(writing(500, 'InternalError'), /refused/);
});
