import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VolumeGroupSnapshotContent, VolumeSnapshotContent } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/object.ts';
import { ANN_GROUP_SNAPSHOT_HANDLE } from '../../api/well-known.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { memoryLog } from '../../runtime/log/log.ts';
import {
  type BoundContentKind,
  createContentReconciler,
  decideContent,
  groupSnapshotContents,
  snapshotContents,
} from './content-reconciler.ts';

type Content = VolumeSnapshotContent & VolumeGroupSnapshotContent;
const kinds = {
  snapshot: {
    kind: snapshotContents as unknown as BoundContentKind<Content>,
    ref: 'volumeSnapshotRef',
    dynamicName: 'snapcontent-u',
    handle: { snapshotHandle: 's' },
    dynamic: { volumeHandle: 'v' },
    given: { snapshotHandle: 's' },
  },
  'group snapshot': {
    kind: groupSnapshotContents as unknown as BoundContentKind<Content>,
    ref: 'volumeGroupSnapshotRef',
    dynamicName: 'groupsnapcontent-u',
    handle: { volumeGroupSnapshotHandle: 'g' },
    dynamic: { volumeHandles: ['v'] },
    given: { groupSnapshotHandles: { volumeGroupSnapshotHandle: 'g', volumeSnapshotHandles: [] } },
  },
};
const deletionTimestamp = '2026-01-01T00:00:00Z';

test('[GRP-1] the content of a member that was created late goes, too', () => {
  const member = (name: string, annotations: object) =>
    ({
      metadata: { name, uid: 'cu', annotations },
      spec: {
        source: { volumeHandle: 'v' },
        deletionPolicy: 'Delete',
        volumeSnapshotRef: { name: 'snapshot-abc', namespace: 'n', uid: 'u' },
      },
    }) as unknown as VolumeSnapshotContent;
  const ofGroup = { [ANN_GROUP_SNAPSHOT_HANDLE]: 'g' };
  const stepOf = (content: VolumeSnapshotContent) => decideContent(snapshotContents, content, undefined).do;
  assert.equal(stepOf(member('snapcontent-abc', ofGroup)), 'delete-if-orphan');
  assert.equal(stepOf(member('snapcontent-abc', {})), 'protect', 'no group made it');
  assert.equal(stepOf(member('snapcontent-other', ofGroup)), 'protect', 'somebody else named it');
});

for (const [name, { kind, ref, dynamicName, handle, dynamic, given }] of Object.entries(kinds)) {
  const content = (source: object, metadata: object = {}, uid = 'u', more: object = {}) =>
    ({
      metadata: { name: 'c', uid: 'cu', ...metadata },
      spec: { source, deletionPolicy: 'Delete', [ref]: { name: 's', namespace: 'n', uid } },
      ...more,
    }) as unknown as Content;
  const owner = { metadata: { uid: 'u' } } as KubeObject;
  const protectedBy = { finalizers: [kind.finalizer] };
  const marked = { annotations: { [kind.beingDeleted]: 'yes' } };
  const orphaned = { annotations: { [kind.beingDeleted]: 'orphan' } };
  const cut = { status: handle };
  const own = { name: dynamicName, ...protectedBy };
  const late = content(dynamic, own);
  const retained = { ...late, spec: { ...late.spec, deletionPolicy: 'Retain' } } as Content;
  const orphans: { name: string; content: Content; owner?: KubeObject; then: string }[] = [
    { name: 'was created late', content: late, then: 'delete-if-orphan' },
    {
      name: 'was created late, of which another has the name',
      content: late,
      owner: { metadata: { uid: 'v' } } as KubeObject,
      then: 'delete-if-orphan',
    },
    { name: 'is cached', content: late, owner, then: 'nothing' },
    { name: 'has a handle', content: content(dynamic, own, 'u', cut), then: 'nothing' },
    {
      name: 'got its handle after it was marked as an orphan',
      content: content(dynamic, { ...own, ...orphaned }, 'u', cut),
      then: 'delete-if-orphan',
    },
    {
      name: 'has a handle and was marked with its snapshot',
      content: content(dynamic, { ...own, ...marked }, 'u', cut),
      then: 'nothing',
    },
    {
      name: 'was marked as an orphan and is to be retained',
      content: { ...retained, metadata: { ...late.metadata, ...orphaned } } as Content,
      then: 'nothing',
    },
    {
      name: 'was marked as an orphan and is pre-provisioned',
      content: content(given, { ...own, ...orphaned }, 'u', cut),
      then: 'nothing',
    },
    { name: 'is to be retained', content: retained, then: 'nothing' },
    { name: 'was created by others', content: content(dynamic, protectedBy), then: 'nothing' },
    { name: 'is pre-provisioned', content: content(given, own), then: 'nothing' },
    {
      name: 'is being deleted',
      content: content(dynamic, { ...own, deletionTimestamp }),
      then: 'mark-if-orphan',
    },
  ];
  for (const { name: title, content: given, owner: cached, then } of orphans)
    test(`the content of a ${name} that is not cached: one that ${title}: ${then}`, () => {
      assert.equal(decideContent(kind, given, cached).do, then);
    });

  const rows: { name: string; content: Content; then: string }[] = [
    { name: 'no source', content: content({}), then: 'tell' },
    { name: 'two sources', content: content({ ...dynamic, ...given }), then: 'tell' },
    { name: 'not bound yet', content: content(given, {}, ''), then: 'nothing' },
    { name: 'bound', content: content(dynamic), then: 'protect' },
    { name: 'bound, pre-provisioned', content: content(given), then: 'protect' },
    { name: 'protected', content: content(dynamic, protectedBy), then: 'nothing' },
    { name: 'being deleted', content: content(dynamic, { deletionTimestamp }), then: 'mark-if-orphan' },
    { name: 'marked', content: content(dynamic, { deletionTimestamp, ...marked }), then: 'nothing' },
  ];
  for (const { name: title, content: given, then } of rows) {
    test(`the content of a ${name}, ${title}: ${then}`, () => {
      assert.equal(decideContent(kind, given, owner).do, then);
    });
  }
  if (name === 'group snapshot')
    test('an empty list of volumes is no source', () => {
      assert.equal(decideContent(kind, content({ volumeHandles: [], ...given }), owner).do, 'protect');
    });

  const owners: { name: string; answer: object | number; isMarked: boolean; fails?: true }[] = [
    { name: 'exists', answer: { metadata: { uid: 'u' } }, isMarked: false },
    { name: 'is another one by now', answer: { metadata: { uid: 'v' } }, isMarked: true },
    { name: 'is gone', answer: 404, isMarked: true },
    { name: 'cannot be read', answer: 500, isMarked: false, fails: true },
  ];
  const meanwhile: [name: string, change: object, isDeleted: boolean][] = [
    ['does not change', {}, true],
    ['gets its handle', cut, true],
    ['is to be retained', { spec: retained.spec }, false],
  ];
  for (const { name: title, answer, isMarked, fails } of owners)
    for (const [what, changed, isDeleted] of isMarked ? meanwhile : meanwhile.slice(0, 1))
      test(`a content that ${what} and that nobody deletes, and whose ${name} ${title}`, async () => {
        const heard: unknown[] = [];
        const marking = { ...late, metadata: { ...late.metadata, ...orphaned, resourceVersion: '8' } };
        const kube = {
          async get() {
            if (typeof answer !== 'number') return answer;
            const reason = answer === 404 ? 'NotFound' : 'InternalError';
            throw new KubeError({ code: answer, reason, message: 'no' });
          },
          async patch(_resource: object, _name: object, patch: object) {
            heard.push(patch);
            return { ...marking, ...changed };
          },
          async delete(_resource: object, { name: deleted }: { name: string }, how: object) {
            heard.push([deleted, 'preconditions' in how && how.preconditions]);
          },
        };
        const reconcile = createContentReconciler(kind, {
          kube,
          contents: { get: () => late, wrote: (object: object) => object },
          ownerOf: () => undefined,
          log: memoryLog(),
        } as never);
        const outcome = reconcile(dynamicName, { signal: new AbortController().signal } as never);
        if (fails) await assert.rejects(outcome, /no/);
        else assert.deepEqual(await outcome, { kind: 'done' });
        const mark = { metadata: { uid: 'cu', ...orphaned } };
        const deletion = [dynamicName, { uid: 'cu', resourceVersion: '8' }];
        assert.deepEqual(heard, isMarked ? [mark, ...(isDeleted ? [deletion] : [])] : []);
      });
  for (const { name: title, answer, isMarked, fails } of owners) {
    test(`a content that is deleted, and whose ${name} ${title}`, async () => {
      const patches: object[] = [];
      const kube = {
        async get() {
          if (typeof answer !== 'number') return answer;
          const reason = answer === 404 ? 'NotFound' : 'InternalError';
          throw new KubeError({ code: answer, reason, message: 'no' });
        },
        async patch(_resource: object, _name: object, patch: object) {
          patches.push(patch);
          return content(dynamic);
        },
      };
      const contents = {
        get: (key: string) => (key === 'c' ? content(dynamic, { deletionTimestamp }) : undefined),
        wrote: (object: object) => object,
      };
      const told: string[] = [];
      const recorder = {
        event: (...args: unknown[]) => void told.push(String(args[2])),
        flush: async () => {},
      };
      const reconcile = createContentReconciler(kind, {
        kube,
        contents,
        ownerOf: () => undefined,
        recorder,
        log: memoryLog(),
      } as never);
      const run = { signal: new AbortController().signal } as never;
      const outcome = reconcile('c', run);
      if (fails) await assert.rejects(outcome, /no/);
      else assert.deepEqual(await outcome, { kind: 'done' });
      const metadata = { uid: 'cu', annotations: { [kind.beingDeleted]: 'yes' } };
      assert.deepEqual(patches, isMarked ? [{ metadata }] : []);
      assert.deepEqual(await reconcile('gone', run), { kind: 'done' });
      assert.deepEqual(told, []);
    });
  }
}
