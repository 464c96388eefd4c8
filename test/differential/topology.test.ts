import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeSelectorTermsOf, type Segment } from '../../src/api/topology.ts';
import { seededRandom } from '../../src/runtime/random.ts';
import { spreadOffset } from '../../src/sidecars/provisioner/topology/spread-offset.ts';
import { TopologyIndex } from '../../src/sidecars/provisioner/topology/topology-index.ts';
import { topologyRequirement } from '../../src/sidecars/provisioner/topology/topology-requirement.ts';
import { agree, canonicalText, recorded } from './recorded.ts';

interface Requirement {
  nodes: {
    name: string;
    keys?: string[];
    labels: Record<string, string>;
    /** There is no Node object. */
    gone?: boolean;
    /** There is no CSINode object. */
    silent?: boolean;
  }[];
  claim: string;
  allowed?: Record<string, string[]>[];
  selected?: string;
  strict?: boolean;
  /** `--immediate-topology=false` */
  notImmediate?: boolean;
  /** Every answer that was seen: without a selected node a random one says which keys there are. */
  answers: ({ error: true } | { anywhere: true } | { requisite: Segment[]; preferred: Segment[] })[];
}

const recording = recorded<{
  requirements: Requirement[];
  affinity: { segments: Segment[]; terms: Segment[] | null }[];
  offsets: [name: string, offset: number][];
}>('topology');

function answer(given: Requirement, seed: number): string {
  const index = new TopologyIndex();
  for (const { name, keys = [], labels, gone, silent } of given.nodes) {
    if (!gone && !silent) index.update(name, { driver: { nodeId: name, topologyKeys: keys }, labels });
  }
  const found = topologyRequirement(
    {
      claimName: given.claim,
      allowedTopologies: (given.allowed ?? []).map((term) => ({
        matchLabelExpressions: Object.entries(term).map(([key, values]) => ({ key, values })),
      })),
      selectedNode: given.selected,
      strictTopology: given.strict ?? false,
      immediateTopology: !given.notImmediate,
      immediatePreference: 'hash',
    },
    index,
    seededRandom(seed),
  );
  if (found.kind === 'not-known') return canonicalText({ error: true });
  if (found.kind === 'anywhere') return canonicalText({ anywhere: true });
  return canonicalText({ requisite: found.requisite, preferred: found.preferred });
}

test('requisite and preferred topology are external-provisioner’s', () => {
  agree(recording.requirements, {
    same(given) {
      const theirs = new Set(given.answers.map(canonicalText));
      const wrong = [1, 2, 3].map((seed) => answer(given, seed)).find((ours) => !theirs.has(ours));
      return wrong === undefined ? undefined : `answered ${wrong}`;
    },
    differences: [
      {
        row: 'a node that has the topology labels and does not run the driver',
        applies: ({ nodes }) => nodes.some(({ silent, gone }) => silent && !gone),
      },
    ],
  });
});

test('the node affinity of a volume is external-provisioner’s', () => {
  agree(recording.affinity, {
    same({ segments, terms }) {
      const ours = nodeSelectorTermsOf(segments).map(({ matchExpressions = [] }) =>
        Object.fromEntries(matchExpressions.map(({ key, values }) => [key, values?.[0] ?? ''])),
      );
      return canonicalText(ours) === canonicalText(terms ?? []) ? undefined : `terms ${canonicalText(ours)}`;
    },
  });
});

test('claims are spread by the hash that external-provisioner takes of their names', () => {
  for (const [name, offset] of recording.offsets) {
    assert.equal((spreadOffset(name, 'hash') ?? 0) % 2 ** 32, offset, name);
  }
});
