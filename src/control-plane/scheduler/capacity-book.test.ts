import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { CSIStorageCapacity } from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { quantityToBytes } from '../../api/quantity.ts';
import { labelSelectorOf, matchesLabels } from '../../api/selectors.ts';
import { CapacityBook } from './capacity-book.ts';

const stamp = { uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
const sizes = fc.constantFrom('0', '1Gi', '5Gi', '1500M');
const labels = fc.dictionary(fc.constantFrom('zone', 'rack'), fc.constantFrom('a', 'b'), { maxKeys: 2 });
const topology = fc.oneof(
  fc.record({ matchLabels: labels }),
  fc.record({
    matchLabels: labels,
    matchExpressions: fc.array(
      fc.record({
        key: fc.constantFrom('zone', 'rack'),
        operator: fc.constantFrom('In', 'NotIn'),
        values: fc.constant(['a']),
      }),
      { maxLength: 1 },
    ),
  }),
);
const capacity: fc.Arbitrary<CSIStorageCapacity> = fc
  .record({
    name: fc.constantFrom('c0', 'c1', 'c2', 'c3'),
    storageClassName: fc.constantFrom('fast', 'slow'),
    nodeTopology: fc.option(topology, { nil: undefined }),
    capacity: fc.option(sizes, { nil: undefined }),
    maximumVolumeSize: fc.option(sizes, { nil: undefined }),
  })
  .map(({ name, storageClassName, ...rest }) => ({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIStorageCapacity',
    metadata: { ...stamp, name, namespace: 'default' },
    storageClassName,
    ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)),
  }));

/** Kubernetes' rule, object by object. */
function isReachable(
  object: CSIStorageCapacity,
  className: string,
  bytes: bigint,
  node: Record<string, string>,
) {
  const limit = object.maximumVolumeSize ?? object.capacity;
  return (
    object.storageClassName === className &&
    object.nodeTopology !== undefined &&
    limit !== undefined &&
    quantityToBytes(limit) >= bytes &&
    matchesLabels(labelSelectorOf(object.nodeTopology), node)
  );
}

test('the book agrees with a look at every object, after any changes', () => {
  const change = fc.oneof(
    { weight: 4, arbitrary: capacity },
    { weight: 1, arbitrary: fc.constantFrom('default/c0', 'default/c1', 'default/c2') },
  );
  fc.assert(
    fc.property(fc.array(change, { maxLength: 12 }), labels, sizes, (changes, node, size) => {
      const book = new CapacityBook();
      const objects = new Map<string, CSIStorageCapacity>();
      for (const each of changes) {
        if (typeof each === 'string') {
          book.remove(each);
          objects.delete(each);
        } else {
          book.put(each);
          objects.set(keyOf(each), each);
        }
      }
      const bytes = quantityToBytes(size);
      for (const className of ['fast', 'slow', 'unheard']) {
        const expected = [...objects.values()].some((each) => isReachable(each, className, bytes, node));
        assert.equal(book.room(className, bytes, node) !== undefined, expected);
      }
    }),
    { numRuns: 500 },
  );
});
