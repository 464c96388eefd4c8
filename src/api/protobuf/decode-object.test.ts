import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { decodeObject, WireError } from './decode-object.ts';

// Bodies as kubectl 1.32 sent them.
const SENT: Record<string, string> = {
  namespace: 'azhzAAoPCgJ2MRIJTmFtZXNwYWNlEhkKEQoBeBIAGgAiACoAMgA4AEIAEgAaAgoAGgAiAA==',
  token:
    'azhzAAooChhhdXRoZW50aWNhdGlvbi5rOHMuaW8vdjESDFRva2VuUmVxdWVzdBI0ChAKABIAGgAiACoAMgA4AEIAEhoKBXZhdWx0Gg4KA1BvZBICdjEaAXAiACCwCRoECgASABoAIgA=',
  secret: 'azhzAAoMCgJ2MRIGU2VjcmV0EiMKEQoBcxIAGgAiACoAMgA4AEIAEgwKA2tleRIFdmFsdWUaABoAIgA=',
  deployment:
    'azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50EpsBChsKAWQSABoAIgAqADIAOABCAFoICgNhcHASAWQSbggAEgoKCAoDYXBwEgFkGlYKGgoAEgAaACIAKgAyADgAQgBaCAoDYXBwEgFkEjgSGgoBaRIBaSoAQgBqAHIAgAEAiAEAkAEAogEAGgAyAEIASgBSAFgAYABoAIIBAIoBAJoBAMIBACICCgAoADgAGgwIABAAGAAgACgAOAAaACIA',
};

suite('what kubectl sends', () => {
  const read = (name: string) => decodeObject(Buffer.from(SENT[name] ?? '', 'base64'));

  test('a namespace', () => {
    const expected = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'x' }, spec: {}, status: {} };
    assert.deepEqual(read('namespace'), expected);
  });

  test('a token request', () => {
    assert.deepEqual(read('token').spec, {
      audiences: ['vault'],
      expirationSeconds: 1200,
      boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'p' },
    });
  });

  test('a secret: bytes become base64', () => {
    assert.deepEqual(read('secret').data, { key: Buffer.from('value').toString('base64') });
  });

  test('a deployment: what was set to zero stays, what was not set does not appear', () => {
    const { spec, metadata } = read('deployment') as { spec: Record<string, unknown>; metadata: object };
    assert.deepEqual(metadata, { name: 'd', labels: { app: 'd' } });
    assert.equal(spec.replicas, 0);
    assert.equal('minReadySeconds' in spec, false);
    const { containers } = (spec.template as { spec: { containers: object[] } }).spec;
    assert.deepEqual(containers, [{ name: 'i', image: 'i', resources: {} }]);
  });
});

// A writer of its own, so that the reader is not tested against itself.
type Part = Uint8Array;
const varint = (value: number): Part => {
  const bytes: number[] = [];
  for (let rest = BigInt.asUintN(64, BigInt(value)); ; rest >>= 7n) {
    bytes.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0));
    if (rest <= 0x7fn) return Uint8Array.from(bytes);
  }
};
const number = (field: number, value: number): Part => Buffer.concat([varint(field * 8), varint(value)]);
const block = (field: number, ...parts: (Part | string)[]): Part => {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part as string)));
  return Buffer.concat([varint(field * 8 + 2), varint(content.length), content]);
};
const object = (apiVersion: string, kind: string, ...parts: Part[]): Buffer =>
  Buffer.concat([Buffer.from('k8s\0'), block(1, block(1, apiVersion), block(2, kind)), block(2, ...parts)]);

suite('kinds and their special fields', () => {
  const table: [what: string, body: Buffer, expected: object][] = [
    [
      'quantities in a map; an empty class is a choice',
      object(
        'v1',
        'PersistentVolumeClaim',
        block(2, block(2, block(2, block(1, 'storage'), block(2, block(1, '1Gi')))), block(5, '')),
      ),
      { spec: { resources: { requests: { storage: '1Gi' } }, storageClassName: '' } },
    ],
    [
      'a volume source folded into its volume',
      object(
        'v1',
        'Pod',
        block(2, block(1, block(1, 'v'), block(2, block(28, block(1, 'd'), number(2, 0))))),
      ),
      { spec: { volumes: [{ name: 'v', csi: { driver: 'd', readOnly: false } }] } },
    ],
    [
      'times, to the second and to the microsecond',
      object(
        'coordination.k8s.io/v1',
        'Lease',
        block(1, block(8, number(1, 1_700_000_000))),
        block(2, block(3, number(1, 1_700_000_000), number(2, 1_234_567))),
      ),
      {
        metadata: { creationTimestamp: '2023-11-14T22:13:20Z' },
        spec: { acquireTime: '2023-11-14T22:13:20.001234Z' },
      },
    ],
    [
      'the zero time is no time',
      object('v1', 'ConfigMap', block(1, block(1, 'c'), block(8))),
      { metadata: { name: 'c' } },
    ],
    [
      'a required false stays',
      object('storage.k8s.io/v1', 'VolumeAttachment', block(3, number(1, 0))),
      { status: { attached: false } },
    ],
    [
      'a negative number',
      object('storage.k8s.io/v1', 'CSINode', block(2, block(1, block(1, 'd'), block(4, number(1, -1))))),
      { spec: { drivers: [{ name: 'd', nodeID: undefined, allocatable: { count: -1 } }] } },
    ],
    [
      'delete options in any version',
      object('storage.k8s.io/v1', 'DeleteOptions', number(1, 0), block(4, 'Foreground')),
      { gracePeriodSeconds: 0, propagationPolicy: 'Foreground' },
    ],
    [
      'a schema: booleans, lists and documents where JSON has several types',
      object(
        'apiextensions.k8s.io/v1',
        'CustomResourceDefinition',
        block(
          2,
          block(
            7,
            number(2, 0),
            block(
              4,
              block(
                1,
                block(5, 'object'),
                block(8, block(1, '{"a":1}')),
                block(20, block(1, '"x"')),
                block(20, block(1, '2')),
                block(24, block(1, block(5, 'string'))),
                block(29, block(1, 'open'), block(2, block(30, number(1, 1)))),
                block(29, block(1, 'map'), block(2, block(30, number(1, 0), block(2, block(5, 'integer'))))),
                block(32, block(1, 'd'), block(2, block(2, 'a'), block(2, 'b'))),
                number(38, 0),
              ),
            ),
            block(5, block(1)),
          ),
        ),
      ),
      {
        spec: {
          versions: [
            {
              served: false,
              schema: {
                openAPIV3Schema: {
                  type: 'object',
                  default: { a: 1 },
                  enum: ['x', 2],
                  items: { type: 'string' },
                  properties: {
                    open: { additionalProperties: true },
                    map: { additionalProperties: { type: 'integer' } },
                  },
                  dependencies: { d: ['a', 'b'] },
                  'x-kubernetes-preserve-unknown-fields': false,
                },
              },
              subresources: { status: {} },
            },
          ],
        },
      },
    ],
    [
      'fields of a newer version are passed over',
      object('v1', 'ConfigMap', block(900, 'x'), number(901, 7), block(1, block(1, 'c'))),
      { metadata: { name: 'c' } },
    ],
  ];
  for (const [what, body, expected] of table) {
    test(what, () => {
      const { apiVersion: _version, kind: _kind, ...rest } = decodeObject(body);
      assert.deepEqual(JSON.parse(JSON.stringify(rest)), JSON.parse(JSON.stringify(expected)));
    });
  }
});

suite('what is refused', () => {
  const table: [what: string, body: Buffer, problem: RegExp][] = [
    ['no magic number', Buffer.from('{"a":1}'), /does not start/],
    ['nothing at all', Buffer.alloc(0), /does not start/],
    ['a kind that has no message', object('example.com/v1', 'Widget'), /example\.com\/v1 Widget.*JSON/],
    ['a body cut short', object('v1', 'Namespace', block(1, block(1, 'name'))).subarray(0, -2), /cut short/],
    ['text that is not UTF-8', object('v1', 'Namespace', block(1, block(1, Uint8Array.of(0xff)))), /UTF-8/],
    ['a field of the wrong type', object('v1', 'Namespace', number(1, 1)), /wire type/],
    [
      'a key that no object may have',
      object('v1', 'ConfigMap', block(2, block(1, '__proto__'), block(2, 'x'))),
      /__proto__/,
    ],
  ];
  for (const [what, body, problem] of table) {
    test(what, () => {
      assert.throws(
        () => decodeObject(body),
        (error) => error instanceof WireError && problem.test(error.message),
      );
    });
  }
});
