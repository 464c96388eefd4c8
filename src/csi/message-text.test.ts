import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { create, createFileRegistry, type DescMessage, type Message, setExtension } from '@bufbuild/protobuf';
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldOptionsSchema,
  FileDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt';
import {
  CreateVolumeRequestSchema,
  csi_secret,
  file_csi_v1_csi,
  SnapshotSchema,
  VolumeCapability_AccessMode_Mode,
} from './generated/csi/v1/csi_pb.ts';
import { messageText } from './message-text.ts';
import { withoutSecrets } from './secret-values.ts';

/** `message Vault { string pin = 1 [csi_secret]; string name = 2; repeated Vault list = 3; map<string, Vault> map = 4; Vault inner = 5; }` */
function vaultSchema(): DescMessage {
  const options = create(FieldOptionsSchema);
  setExtension(options, csi_secret, true);
  const { STRING, MESSAGE } = FieldDescriptorProto_Type;
  const { OPTIONAL, REPEATED } = FieldDescriptorProto_Label;
  const file = create(FileDescriptorProtoSchema, {
    name: 'vault.proto',
    package: 'test',
    syntax: 'proto3',
    messageType: [
      {
        name: 'Vault',
        field: [
          { name: 'pin', number: 1, type: STRING, label: OPTIONAL, options },
          { name: 'name', number: 2, type: STRING, label: OPTIONAL },
          { name: 'list', number: 3, type: MESSAGE, label: REPEATED, typeName: '.test.Vault' },
          { name: 'map', number: 4, type: MESSAGE, label: REPEATED, typeName: '.test.Vault.MapEntry' },
          { name: 'inner', number: 5, type: MESSAGE, label: OPTIONAL, typeName: '.test.Vault' },
        ],
        nestedType: [
          {
            name: 'MapEntry',
            options: { mapEntry: true },
            field: [
              { name: 'key', number: 1, type: STRING, label: OPTIONAL },
              { name: 'value', number: 2, type: MESSAGE, label: OPTIONAL, typeName: '.test.Vault' },
            ],
          },
        ],
      },
    ],
  });
  const schema = createFileRegistry(file, () => file_csi_v1_csi.proto).getMessage('test.Vault');
  assert.ok(schema);
  return schema;
}

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

  it('strips marked fields at any depth, in lists and maps', () => {
    const schema = vaultSchema();
    const vault = (pin: string, rest: object = {}): Message => create(schema, { pin, name: 'n', ...rest });
    const message = vault('pin-0', {
      list: [vault('pin-1')],
      map: { m: vault('pin-2') },
      inner: vault('pin-3', { inner: vault('pin-4') }),
    });
    const text = messageText(schema, message);
    assert.doesNotMatch(text, /pin-/);
    assert.equal(text.split('***stripped***').length - 1, 5);
    const told = 'bad pins pin-0 pin-1 pin-2 pin-3 pin-4 for n';
    const clean = withoutSecrets(told, schema, message);
    assert.equal(clean, `bad pins${' [redacted]'.repeat(5)} for n`);
  });

  it('prints times as times and cuts what is too long', () => {
    const snapshot = create(SnapshotSchema, { snapshotId: 's', creationTime: { seconds: 0n } });
    const text = messageText(SnapshotSchema, snapshot);
    assert.deepEqual(JSON.parse(text), { snapshot_id: 's', creation_time: '1970-01-01T00:00:00Z' });
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
