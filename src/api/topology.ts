// Topology segments: maps of topology key to value, their canonical text, and their form as node affinity. The order of keys and
// segments never matters.

import type { NodeSelectorTerm, TopologySelectorTerm } from './kinds.ts';
import { getOwn, setOwn } from './own-property.ts';

export type Segment = Readonly<Record<string, string>>;

/** The same text for the same segment, whatever the order of its keys. */
export function segmentText(segment: Segment): string {
  return Object.keys(segment)
    .sort()
    .map((key) => `${encodeURIComponent(key)}=${encodeURIComponent(segment[key] ?? '')}`)
    .join(',');
}

/** Each segment once, in the official provisioner's order: by the number of keys, then key by key and value by value. */
export function sortedSegments(segments: Iterable<Segment>): Segment[] {
  const byText = new Map<string, { segment: Segment; words: string[] }>();
  for (const segment of segments) {
    const words = Object.keys(segment)
      .sort()
      .flatMap((key) => [key, segment[key] ?? '']);
    byText.set(segmentText(segment), { segment, words });
  }
  return [...byText.values()].sort((a, b) => compareWords(a.words, b.words)).map(({ segment }) => segment);
}

function compareWords(a: readonly string[], b: readonly string[]): number {
  if (a.length !== b.length) return a.length - b.length;
  const at = a.findIndex((word, index) => word !== b[index]);
  return at < 0 ? 0 : (a[at] ?? '') < (b[at] ?? '') ? -1 : 1;
}

/** The segment that a node's labels give for these keys; undefined when the node lacks one of them. */
export function segmentFromLabels(
  keys: readonly string[],
  labels: Record<string, string> | undefined,
): Segment | undefined {
  const segment: Record<string, string> = {};
  for (const key of keys) {
    const value = getOwn(labels, key);
    if (value === undefined) return undefined;
    setOwn(segment, key, value);
  }
  return segment;
}

/** Whether `inner` lies within `outer`: it has every key of `outer`, with the same value. */
export function segmentWithin(inner: Segment, outer: Segment): boolean {
  return Object.entries(outer).every(([key, value]) => getOwn(inner, key) === value);
}

/** `allowedTopologies` multiplied out: every combination of the listed values is one segment. */
export function segmentsOfTerms(terms: readonly TopologySelectorTerm[]): Segment[] {
  return sortedSegments(
    terms.flatMap((term) =>
      (term.matchLabelExpressions ?? []).reduce<Segment[]>(
        (segments, { key, values }) =>
          segments.flatMap((segment) => values.map((value) => ({ ...segment, [key]: value }))),
        [{}],
      ),
    ),
  ).filter((segment) => Object.keys(segment).length > 0);
}

/** Node affinity in Form 1: one term a segment, one value an expression. */
export function nodeSelectorTermsOf(segments: readonly Segment[]): NodeSelectorTerm[] {
  return segments
    .filter((segment) => Object.keys(segment).length > 0)
    .map((segment) => ({
      matchExpressions: Object.keys(segment)
        .sort()
        .map((key) => ({ key, operator: 'In', values: [segment[key] ?? ''] })),
    }));
}
