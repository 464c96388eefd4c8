// The requisite and preferred topology of a CreateVolume request. Pure apart from the index it reads and one draw from
// `random`: where no node was selected, a random node supplies the topology keys, so that a single compromised or
// half-upgraded node cannot decide them for every claim.

import type { TopologySelectorTerm } from '../../../api/kinds.ts';
import { type Segment, segmentFromLabels, segmentsOfTerms, segmentWithin } from '../../../api/topology.ts';
import type { Random } from '../../../runtime/ports.ts';
import type { ProvisionerFlags } from '../provisioner-flags.ts';
import { spreadOffset } from './spread-offset.ts';
import type { TopologyIndex } from './topology-index.ts';

export interface TopologyQuestion
  extends Pick<ProvisionerFlags, 'strictTopology' | 'immediateTopology' | 'immediatePreference'> {
  claimName: string;
  allowedTopologies: readonly TopologySelectorTerm[];
  selectedNode: string | undefined;
}

export type TopologyAnswer =
  /** Neither claim nor class restricts where the volume is. */
  | { kind: 'anywhere' }
  | { kind: 'requirement'; requisite: readonly Segment[]; preferred: readonly Segment[] }
  /** The topology is unknown yet, or contradicts the class: retry later. */
  | { kind: 'not-known'; why: string };

export function topologyRequirement(
  question: TopologyQuestion,
  index: TopologyIndex,
  random: Random,
): TopologyAnswer {
  return question.selectedNode === undefined
    ? forAnyNode(question, index, random)
    : forSelectedNode(question, question.selectedNode, index);
}

function forSelectedNode(question: TopologyQuestion, name: string, index: TopologyIndex): TopologyAnswer {
  const node = index.get(name);
  if (!node) return { kind: 'not-known', why: `the driver is not registered on selected node ${name}` };
  const keys = node.driver.topologyKeys;
  if (keys.length === 0) {
    return { kind: 'not-known', why: `the driver reports no topology keys on selected node ${name}` };
  }
  const selected = segmentFromLabels(keys, node.labels);
  if (!selected) {
    return {
      kind: 'not-known',
      why: `selected node ${name} lacks labels for the driver's topology keys ${keys.join(', ')}`,
    };
  }
  const isLimited = question.allowedTopologies.length > 0;
  const candidates = isLimited ? segmentsOfTerms(question.allowedTopologies) : index.segments(keys);
  // Terms without expressions restrict nothing.
  if (isLimited && candidates.length === 0 && !question.strictTopology) return { kind: 'anywhere' };
  const first = candidates.findIndex((candidate) => segmentWithin(selected, candidate));
  if (first < 0) {
    return { kind: 'not-known', why: `selected node ${name} is outside the class's allowedTopologies` };
  }
  return question.strictTopology
    ? { kind: 'requirement', requisite: [selected], preferred: [selected] }
    : { kind: 'requirement', requisite: candidates, preferred: rotate(candidates, first) };
}

function forAnyNode(question: TopologyQuestion, index: TopologyIndex, random: Random): TopologyAnswer {
  let requisite: readonly Segment[] = segmentsOfTerms(question.allowedTopologies);
  if (requisite.length === 0) {
    if (question.allowedTopologies.length > 0 || !question.immediateTopology) return { kind: 'anywhere' };
    const keys = index.randomNode(random)?.driver.topologyKeys;
    requisite = keys ? index.segments(keys) : [];
    if (requisite.length === 0) {
      return { kind: 'not-known', why: 'no node runs the driver with topology keys and labels yet' };
    }
  }
  const offset = spreadOffset(question.claimName, question.immediatePreference);
  const preferred = offset === undefined ? [] : rotate(requisite, offset % requisite.length);
  return { kind: 'requirement', requisite, preferred };
}

function rotate(segments: readonly Segment[], first: number): Segment[] {
  return [...segments.slice(first), ...segments.slice(0, first)];
}
