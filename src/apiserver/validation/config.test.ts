import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  validateConfigMap,
  validateConfigMapUpdate,
  validateSecret,
  validateSecretUpdate,
} from './config.ts';
import { type Body, rows } from './testing/rows.ts';

const MIB = 1024 * 1024;
const base64 = (bytes: number) => Buffer.alloc(bytes).toString('base64');
const needs = (type: string, key: string): [string, Body, string[]] => [
  `a secret of type ${type} needs ${key}`,
  { type: `kubernetes.io/${type}`, data: {} },
  [`data[${key}]: Required value`],
];
rows(validateSecret, { type: 'Opaque' }, [
  ['a good secret', { data: { 'a.b_c-d': 'YQ==', e: '' } }, []],
  ['a secret with a key that is none', { data: { 'a b': 'YQ==' } }, ['data[a b]: Invalid value: "a b"']],
  ...[MIB - 2, MIB - 1, MIB].map((bytes): [string, Body, string[]] => [
    `a secret of ${bytes} bytes`,
    { data: { a: base64(bytes) } },
    [],
  ]),
  ...[MIB + 1, MIB + 2, MIB + 3].map((bytes): [string, Body, string[]] => [
    `a secret of ${bytes} bytes is too large`,
    { data: { a: base64(bytes) } },
    ['data: Too long: may not be more than 1048576 bytes'],
  ]),
  needs('dockercfg', '.dockercfg'),
  needs('ssh-auth', 'ssh-privatekey'),
  ['a certificate', { type: 'kubernetes.io/tls', data: { 'tls.crt': '', 'tls.key': '' } }, []],
  ['a password', { type: 'kubernetes.io/basic-auth', data: { password: '' } }, []],
  ['a user', { type: 'kubernetes.io/basic-auth', data: { username: '' } }, []],
  [
    'neither user nor password',
    { type: 'kubernetes.io/basic-auth' },
    ['data[username]: Required value', 'data[password]: Required value'],
  ],
  [
    'a token of nobody',
    { type: 'kubernetes.io/service-account-token' },
    ['metadata.annotations[kubernetes.io/service-account.name]: Required value'],
  ],
  [
    'a token',
    {
      type: 'kubernetes.io/service-account-token',
      metadata: { annotations: { 'kubernetes.io/service-account.name': 'a' } },
    },
    [],
  ],
]);

rows(validateConfigMap, {}, [
  ['a good config map', { data: { a: 'x' }, binaryData: { b: 'YQ==' } }, []],
  [
    'a config map with keys that are none',
    { data: { 'a b': 'x' }, binaryData: { 'c d': '' } },
    ['data[a b]: Invalid', 'binaryData[c d]: Invalid'],
  ],
  [
    'a config map with one key twice',
    { data: { a: 'x' }, binaryData: { a: '' } },
    ['data[a]: Invalid value: "a": duplicate of key present in binaryData'],
  ],
  ['a config map as large as it may be', { data: { a: 'x'.repeat(MIB - 1) }, binaryData: { b: 'YQ==' } }, []],
  [
    'a config map that is too large',
    { data: { a: 'x'.repeat(MIB) }, binaryData: { b: 'YQ==' } },
    [': Too long'],
  ],
]);

test('the data of an immutable ConfigMap or Secret cannot change, nor can immutable be unset', () => {
  const secret = { type: 'Opaque', data: { a: 'YQ==' } };
  const errors = (change: Body, immutable = true) =>
    validateSecretUpdate({ ...secret, immutable, ...change } as never, { ...secret, immutable } as never).map(
      ({ field }) => field,
    );
  assert.deepEqual(errors({}), []);
  assert.deepEqual(errors({ data: {} }), ['data']);
  assert.deepEqual(errors({ immutable: false, data: undefined }), ['immutable', 'data']);
  assert.deepEqual(errors({ data: {} }, false), []);
  assert.deepEqual(errors({ type: 'Other' }, false), ['type']);
  const map = { immutable: true, binaryData: { a: 'YQ==' } };
  assert.deepEqual(validateConfigMapUpdate(map as never, map as never), []);
  const changed = { ...map, binaryData: {}, data: { b: 'c' } };
  assert.deepEqual(
    validateConfigMapUpdate(changed as never, map as never).map(({ field }) => field),
    ['data', 'binaryData'],
  );
});
