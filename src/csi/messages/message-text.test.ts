import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { create } from '../../wire/protobuf/create.ts';
import type { Message } from '../../wire/protobuf/descriptor.ts';
import { protoFile } from '../../wire/protobuf/proto-file.ts';
import {
  CreateVolumeRequestSchema,
  SnapshotSchema,
  VolumeCapability_AccessMode_Mode,
} from '../generated/csi/v1/csi_pb.ts';
import { withoutSecrets } from '../secrets/secret-values.ts';
import { messageText } from './message-text.ts';

type Vault = Message<'test.Vault'> & {
  pin: string;
  name: string;
  list: Vault[];
  keys: string[];
  inner?: Vault;
};

const VaultSchema = protoFile('test').message<Vault>(
  'Vault',
  `1 pin string secret
   2 name string
   3 list repeated Vault
   4 keys repeated string secret
   5 inner Vault`,
);

describe('messageText', () => {
  it('prints a request in the names of the specification, without its secrets', () => {
    const request = create(CreateVolumeRequestSchema, {
      name: 'pvc-1',
      capacityRange: { requiredBytes: 2n ** 60n },
      volumeCapabilities: [
        {
          accessType: { case: 'mount', value: { fsType: 'ext4', mountFlags: ['ro'] } },
          accessMode: { mode: VolumeCapability_AccessMode_Mode.MULTI_NODE_MULTI_WRITER },
        },
        { accessMode: { mode: 99 as VolumeCapability_AccessMode_Mode } },
      ],
      parameters: { tier: 'gold' },
      secrets: { password: 'hunter2' },
    });
    assert.deepEqual(JSON.parse(messageText(CreateVolumeRequestSchema, request)), {
      name: 'pvc-1',
      capacity_range: { required_bytes: '1152921504606846976' },
      volume_capabilities: [
        { mount: { fs_type: 'ext4', mount_flags: ['ro'] }, access_mode: { mode: 'MULTI_NODE_MULTI_WRITER' } },
        { access_mode: { mode: 99 } },
      ],
      parameters: { tier: 'gold' },
      secrets: '***stripped***',
    });
  });

  it('strips marked fields at any depth, and in lists', () => {
    const vault = (pin: string, rest: object = {}): Vault => create(VaultSchema, { pin, name: 'n', ...rest });
    const message = vault('pin-0', {
      list: [vault('pin-1')],
      keys: ['pin-2'],
      inner: vault('pin-3', { inner: vault('pin-4') }),
    });
    const text = messageText(VaultSchema, message);
    assert.doesNotMatch(text, /pin-/);
    assert.equal(text.split('***stripped***').length - 1, 5);
    const told = 'bad pins pin-0 pin-1 pin-2 pin-3 pin-4 for n';
    const clean = withoutSecrets(told, VaultSchema, message);
    assert.equal(clean, `bad pins${' [redacted]'.repeat(5)} for n`);
  });

  it('prints times as times and cuts what is too long', () => {
    const snapshot = create(SnapshotSchema, { snapshotId: 's', creationTime: { seconds: 0n } });
    const text = messageText(SnapshotSchema, snapshot);
    assert.deepEqual(JSON.parse(text), { snapshot_id: 's', creation_time: '1970-01-01T00:00:00Z' });
    for (const [seconds, nanos, expected] of [
      [1_767_323_045n, 678_000_000, '2026-01-02T03:04:05.678Z'],
      [1_767_323_045n, 1, '2026-01-02T03:04:05.000000001Z'],
      [2n ** 62n, 0, '4611686018427387904 s after 1970'],
    ] as const) {
      const odd = create(SnapshotSchema, { creationTime: { seconds, nanos } });
      assert.deepEqual(JSON.parse(messageText(SnapshotSchema, odd)), { creation_time: expected });
    }
    assert.equal(messageText(SnapshotSchema, snapshot, 5), `{"sna [cut: ${text.length} characters, limit 5]`);
    assert.equal(messageText(SnapshotSchema, snapshot, text.length), text);
  });
});

describe('withoutSecrets', () => {
  it('takes out a secret that contains another', () => {
    const request = create(CreateVolumeRequestSchema, { secrets: { a: 'abc', b: 'abcdef', empty: '' } });
    assert.equal(
      withoutSecrets('key abcdef, abc', CreateVolumeRequestSchema, request),
      'key [redacted], [redacted]',
    );
  });
});
