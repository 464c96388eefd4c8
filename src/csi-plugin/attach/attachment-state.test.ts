import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VolumeAttachment, VolumeAttachmentStatus } from '../../api/kinds.ts';
import { attacherFinalizer } from '../../api/well-known.ts';
import { type AttachmentState, attachmentState, mayBeAttached } from './attachment-state.ts';

const DELETED = { deletionTimestamp: '2026-01-01T00:00:00Z' };
const FINALIZER = attacherFinalizer('driver.example');
const error = { message: 'no room', time: '2026-01-01T00:00:00Z' };

function attachment(
  status?: VolumeAttachmentStatus,
  metadata: Partial<VolumeAttachment['metadata']> = {},
): VolumeAttachment {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: {
      name: 'a',
      uid: 'u',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...metadata,
    },
    spec: { attacher: 'driver.example', nodeName: 'n', source: { persistentVolumeName: 'pv' } },
    ...(status && { status }),
  };
}

test('what an attachment says', () => {
  const table: [string, VolumeAttachment | undefined, AttachmentState][] = [
    ['no object', undefined, { kind: 'absent' }],
    ['no status yet', attachment(), { kind: 'pending' }],
    ['not answered yet', attachment({ attached: false }), { kind: 'pending' }],
    [
      'attached',
      attachment({ attached: true, attachmentMetadata: { device: 'sdb' } }),
      { kind: 'attached', publishContext: { device: 'sdb' } },
    ],
    [
      'attached, with the error of an earlier attempt',
      attachment({ attached: true, attachError: error }),
      { kind: 'attached', publishContext: {} },
    ],
    [
      'failed',
      attachment({ attached: false, attachError: error }),
      { kind: 'attach-failed', message: 'no room', isNodeFull: false },
    ],
    [
      'failed because the node is full',
      attachment({ attached: false, attachError: { ...error, errorCode: 8 } }),
      { kind: 'attach-failed', message: 'no room', isNodeFull: true },
    ],
    [
      'failed without a word',
      attachment({ attached: false, attachError: {} }),
      { kind: 'attach-failed', message: 'the attacher gave no message', isNodeFull: false },
    ],
    [
      'being deleted: attached is not trusted',
      attachment({ attached: true }, DELETED),
      { kind: 'detaching', attached: true, error: undefined },
    ],
    [
      'being deleted: an attach error is history',
      attachment({ attached: false, attachError: error }, DELETED),
      { kind: 'detaching', attached: false, error: undefined },
    ],
    [
      'detach failed',
      attachment({ attached: true, detachError: error }, DELETED),
      { kind: 'detaching', attached: true, error: 'no room' },
    ],
    [
      'detach failed without a word',
      attachment({ attached: true, detachError: {} }, DELETED),
      { kind: 'detaching', attached: true, error: 'the attacher gave no message' },
    ],
    [
      'deleted before its attacher wrote anything',
      attachment(undefined, DELETED),
      { kind: 'detaching', attached: false, error: undefined },
    ],
  ];
  for (const [name, given, expected] of table) assert.deepEqual(attachmentState(given), expected, name);
});

test('a volume may be attached until the attacher’s finalizer is gone', () => {
  const held = { ...DELETED, finalizers: [FINALIZER] };
  const table: [string, VolumeAttachment, boolean][] = [
    ['just made', attachment(), true],
    ['attached', attachment({ attached: true }), true],
    [
      'failed: the call may have succeeded all the same',
      attachment({ attached: false, attachError: error }),
      true,
    ],
    ['deleted, still attached', attachment({ attached: true }, held), true],
    ['deleted before an answer came: not undone yet', attachment({ attached: false }, held), true],
    [
      'deleted, undone, held by somebody else',
      attachment({ attached: false }, { ...DELETED, finalizers: ['x/y'] }),
      false,
    ],
    ['deleted before the attacher saw it', attachment(undefined, DELETED), false],
  ];
  for (const [name, given, expected] of table) assert.equal(mayBeAttached(given), expected, name);
});
