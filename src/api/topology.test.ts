import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  nodeSelectorTermsOf,
  type Segment,
  segmentFromLabels,
  segmentsOfTerms,
  segmentText,
  segmentWithin,
  sortedSegments,
} from './topology.ts';

const segments = fc.dictionary(fc.string({ minLength: 1 }), fc.string());

test('the text of a segment does not depend on the order of its keys, and tells segments apart', () => {
  fc.assert(
    fc.property(segments, segments, (a, b) => {
      const reversed = Object.fromEntries(Object.entries(a).reverse());
      assert.equal(segmentText(a), segmentText(reversed));
      if (segmentText(a) === segmentText(b)) assert.deepEqual({ ...a }, { ...b });
    }),
  );
});

test('sorted segments are the same list for any order of the input, each once', () => {
  fc.assert(
    fc.property(fc.array(segments), (list) => {
      const forward = sortedSegments(list);
      assert.deepEqual(forward.map(segmentText), sortedSegments([...list].reverse()).map(segmentText));
      assert.equal(new Set(forward.map(segmentText)).size, forward.length);
    }),
  );
});

test('a node without one of the keys has no segment', () => {
  assert.deepEqual(segmentFromLabels(['zone', 'rack'], { zone: 'a', rack: '1', other: 'x' }), {
    zone: 'a',
    rack: '1',
  });
  assert.equal(segmentFromLabels(['zone', 'rack'], { zone: 'a' }), undefined);
  assert.equal(segmentFromLabels(['zone'], undefined), undefined);
});

test('a segment lies within another when it has all of its keys and values', () => {
  const table: [Segment, Segment, boolean][] = [
    [{ zone: 'a', rack: '1' }, { zone: 'a' }, true],
    [{ zone: 'a' }, { zone: 'a', rack: '1' }, false],
    [{ zone: 'b' }, { zone: 'a' }, false],
    [{ zone: 'a' }, {}, true],
  ];
  for (const [inner, outer, expected] of table) assert.equal(segmentWithin(inner, outer), expected);
});

test('allowed topologies multiply out over the values of each term', () => {
  const terms = [
    {
      matchLabelExpressions: [
        { key: 'zone', values: ['b', 'a'] },
        { key: 'rack', values: ['1', '2'] },
      ],
    },
    { matchLabelExpressions: [{ key: 'zone', values: ['c'] }] },
  ];
  assert.deepEqual(segmentsOfTerms(terms), [
    { zone: 'c' },
    { zone: 'a', rack: '1' },
    { zone: 'b', rack: '1' },
    { zone: 'a', rack: '2' },
    { zone: 'b', rack: '2' },
  ]);
  assert.deepEqual(segmentsOfTerms([{ matchLabelExpressions: [] }, {}]), []);
});

test('node affinity has one term a segment and one value an expression', () => {
  assert.deepEqual(nodeSelectorTermsOf([{ zone: 'a', rack: '1' }, { zone: 'b', rack: '1' }, {}]), [
    {
      matchExpressions: [
        { key: 'rack', operator: 'In', values: ['1'] },
        { key: 'zone', operator: 'In', values: ['a'] },
      ],
    },
    {
      matchExpressions: [
        { key: 'rack', operator: 'In', values: ['1'] },
        { key: 'zone', operator: 'In', values: ['b'] },
      ],
    },
  ]);
});
