import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { KubeObject } from '../../api/object.ts';
import type { Kind } from '../kind.ts';
import { builtinKinds } from '../kinds/index.ts';
import { FieldSets } from '../patch/field-sets.ts';
import { trackManagedFields } from '../patch/managed-fields.ts';
import { encodeObject } from './encode-object.ts';

const kind = builtinKinds.find(({ plural }) => plural === 'configmaps') as Kind;
const name = fc.constantFrom('a', 'b/c', 'd"e', 'ü');
const object = fc.record({
  labels: fc.dictionary(name, fc.string()),
  data: fc.dictionary(name, fc.string()),
  manager: fc.string(),
  nowMs: fc.integer({ min: 0, max: 4_000_000_000_000 }),
});

test('objects are encoded as JSON.stringify does, with and without managedFields', () => {
  fc.assert(
    fc.property(object, ({ labels, data, manager, nowMs }) => {
      const next = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'x', labels },
        data,
      } as unknown as KubeObject;
      assert.equal(encodeObject(next), JSON.stringify(next));
      trackManagedFields({
        next,
        current: undefined,
        manager,
        operation: 'Update',
        kind,
        subresource: '',
        nowMs,
        fieldSets: new FieldSets(),
      });
      assert.deepEqual(JSON.parse(encodeObject(next)), JSON.parse(JSON.stringify(next)));
      const read = JSON.parse(encodeObject(next)) as KubeObject;
      assert.deepEqual(JSON.parse(encodeObject(read)), read);
      assert.ok(encodeObject(next).startsWith('{"apiVersion":"v1",'));
    }),
  );
});
