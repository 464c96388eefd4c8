import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cutManagedFields } from './cut-managed-fields.ts';

const fields = [
  { manager: 'a"]}', fieldsV1: { 'f:spec': { 'k:{"uid":"x\\"}': { '.': {} } }, 'v:"]\\\\"': {} } },
  { manager: 'b\\', subresource: 'status' },
];
const object = {
  metadata: { name: 'a', managedFields: fields, labels: { x: 'y' } },
  spec: { text: '"managedFields":[1]', list: ['managedFields'] },
};

test('the record goes, wherever it stands among its neighbours, and nothing else', () => {
  for (const metadata of [
    { name: 'a', managedFields: fields },
    { managedFields: fields, name: 'a' },
    { managedFields: fields },
    { name: 'a', managedFields: [] },
    { name: 'a', managedFields: fields, labels: { x: 'y' } },
  ]) {
    const { managedFields: _cut, ...rest } = metadata as typeof object.metadata;
    assert.deepEqual(JSON.parse(cutManagedFields(JSON.stringify({ ...object, metadata }))), {
      ...object,
      metadata: rest,
    });
  }
});

test('text without it, and text that is cut off, stay as they are', () => {
  const without = JSON.stringify({ metadata: { name: 'a' }, spec: object.spec });
  assert.equal(cutManagedFields(without), without);
  const whole = JSON.stringify(object);
  const end = whole.indexOf(',"labels"');
  for (let length = 0; length < end; length++) {
    assert.equal(cutManagedFields(whole.slice(0, length)), whole.slice(0, length));
  }
});

test('whatever is in it', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), fc.jsonValue(), (managedFields, spec) => {
      const text = JSON.stringify({ metadata: { name: 'a', managedFields }, spec });
      assert.equal(cutManagedFields(text), JSON.stringify({ metadata: { name: 'a' }, spec }));
    }),
  );
});
