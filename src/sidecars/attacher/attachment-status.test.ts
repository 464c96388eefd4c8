import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VolumeAttachment } from '../../api/kinds.ts';
import { CsiError } from '../../csi/csi-error.ts';
import { attachedPatch, detachedPatch, errorPatch, volumeError, withStatus } from './attachment-status.ts';

const attachment = (status?: VolumeAttachment['status']) =>
  ({
    metadata: { name: 'a', uid: 'u', resourceVersion: '7' },
    ...(status && { status }),
  }) as VolumeAttachment;
const error = { time: '2026-01-01T00:00:00Z', message: 'no' };

const attached: {
  name: string;
  before?: VolumeAttachment['status'];
  metadata: Record<string, string>;
  patch: object;
  after: object;
}[] = [
  { name: 'without metadata', metadata: {}, patch: { attached: true }, after: { attached: true } },
  {
    name: 'with metadata',
    metadata: { device: '/dev/x' },
    patch: { attached: true, attachmentMetadata: { device: '/dev/x' } },
    after: { attached: true, attachmentMetadata: { device: '/dev/x' } },
  },
  {
    name: 'after an error',
    before: { attached: false, attachError: error },
    metadata: {},
    patch: { attached: true, attachError: null },
    after: { attached: true },
  },
  {
    name: 'with other metadata than before',
    before: { attached: true, attachmentMetadata: { device: '/dev/x', old: '1' } },
    metadata: { device: '/dev/y' },
    patch: { attached: true, attachmentMetadata: { device: '/dev/y', old: null } },
    after: { attached: true, attachmentMetadata: { device: '/dev/y' } },
  },
];
for (const { name, before, metadata, patch, after } of attached) {
  test(`attached ${name}`, () => {
    const found = attachedPatch(attachment(before), metadata);
    assert.deepEqual(found, { metadata: { uid: 'u', resourceVersion: '7' }, status: patch });
    assert.deepEqual(withStatus(attachment(before), found).status, after);
  });
}

test('detached: nothing of the attachment is left', () => {
  const before = attachment({ attached: true, attachmentMetadata: { device: '/dev/x' }, detachError: error });
  assert.deepEqual(withStatus(before, detachedPatch(before)).status, { attached: false });
});

test('an error says of which call it is, and leaves the rest as it was', () => {
  const after = (before: VolumeAttachment, operation: 'attach' | 'detach') =>
    withStatus(before, errorPatch(before, operation, error)).status;
  assert.deepEqual(after(attachment(), 'attach'), { attached: false, attachError: error });
  assert.deepEqual(after(attachment({ attached: true, attachmentMetadata: { a: 'b' } }), 'detach'), {
    attached: true,
    attachmentMetadata: { a: 'b' },
    detachError: error,
  });
});

test('an error does not say whether the volume is attached, which the server may know better', () => {
  assert.deepEqual(errorPatch(attachment({ attached: false }), 'attach', error), {
    metadata: { uid: 'u', resourceVersion: '7' },
    status: { attachError: error },
  });
  assert.deepEqual(errorPatch(attachment(), 'attach', error), {
    metadata: { uid: 'u', resourceVersion: '7' },
    status: { attached: false, attachError: error },
  });
});

test('an error is short enough to read, and has its code only where that is wanted', () => {
  const now = Date.parse('2026-01-01T00:00:00.123Z');
  const full = new CsiError({ code: 'RESOURCE_EXHAUSTED', message: 'too many disks' });
  assert.deepEqual(volumeError(full, now, false), { time: error.time, message: full.message });
  assert.deepEqual(volumeError(full, now, true), { time: error.time, message: full.message, errorCode: 8 });
  assert.deepEqual(volumeError(new Error('no'), now, true), error);
  // kube-apiserver's limit is in bytes.
  const written = (text: string): string => volumeError(new Error(text), now, true).message ?? '';
  assert.equal(written('x'.repeat(1024)), 'x'.repeat(1024));
  assert.equal(written('x'.repeat(1025)), `${'x'.repeat(1018)} […]`);
  assert.equal(written('é'.repeat(600)), `${'é'.repeat(509)} […]`);
});
