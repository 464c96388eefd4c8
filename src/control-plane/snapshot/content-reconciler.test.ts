import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VolumeGroupSnapshotContent, VolumeSnapshotContent } from '../../api/kinds.ts';
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
    dynamic: { volumeHandle: 'v' },
    given: { snapshotHandle: 's' },
  },
  'group snapshot': {
    kind: groupSnapshotContents as unknown as BoundContentKind<Content>,
    ref: 'volumeGroupSnapshotRef',
    dynamic: { volumeHandles: ['v'] },
    given: { groupSnapshotHandles: { volumeGroupSnapshotHandle: 'g', volumeSnapshotHandles: [] } },
  },
};
const deletionTimestamp = '2026-01-01T00:00:00Z';

for (const [name, { kind, ref, dynamic, given }] of Object.entries(kinds)) {
  const content = (source: object, metadata: object = {}, uid = 'u') =>
    ({
      metadata: { name: 'c', uid: 'cu', ...metadata },
      spec: { source, [ref]: { name: 's', namespace: 'n', uid } },
    }) as unknown as Content;
  const protectedBy = { finalizers: [kind.finalizer] };
  const marked = { annotations: { [kind.beingDeleted]: 'yes' } };
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
      assert.equal(decideContent(kind, given).do, then);
    });
  }
  if (name === 'group snapshot')
    test('an empty list of volumes is no source', () => {
      assert.equal(decideContent(kind, content({ volumeHandles: [], ...given })).do, 'protect');
    });

  const owners: { name: string; answer: object | number; isMarked: boolean; fails?: true }[] = [
    { name: 'exists', answer: { metadata: { uid: 'u' } }, isMarked: false },
    { name: 'is another one by now', answer: { metadata: { uid: 'v' } }, isMarked: true },
    { name: 'is gone', answer: 404, isMarked: true },
    { name: 'cannot be read', answer: 500, isMarked: false, fails: true },
  ];
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
