import { test } from 'node:test';
import type { Node, PersistentVolume, PersistentVolumeClaim } from '../../src/api/kinds.ts';
import { matchVolume } from '../../src/control-plane/matching/match-volume.ts';
import { agree, type Difference, recorded } from './recorded.ts';

interface Volume {
  name: string;
  size: string;
  /** A letter each: o ReadWriteOnce, r ReadOnlyMany, m ReadWriteMany, p ReadWriteOncePod. */
  modes: string;
  class?: string;
  block?: boolean;
  labels?: Record<string, string>;
  phase?: string;
  ref?: 'ours' | 'bound' | 'older' | 'other';
  zone?: string;
  attrs?: string;
  deleted?: boolean;
}
interface Case {
  claim: Volume;
  select?: string;
  volumes: Volume[];
  /** The class delays binding, and no node is chosen yet. */
  delayed?: boolean;
  /** Asked by the scheduler, for a node in this zone. */
  nodeZone?: string;
  /** Every answer that was seen; '' is none. Equal volumes are kept in maps, so there may be several. */
  answers: string[];
}

const MODES: Record<string, string> = {
  o: 'ReadWriteOnce',
  r: 'ReadOnlyMany',
  m: 'ReadWriteMany',
  p: 'ReadWriteOncePod',
};
const modesOf = (letters: string): string[] => [...letters].map((letter) => MODES[letter] ?? '');
const stamp = { resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
const REFS = {
  ours: { namespace: 'ns', name: 'data' },
  bound: { namespace: 'ns', name: 'data', uid: 'claim-uid' },
  older: { namespace: 'ns', name: 'data', uid: 'other' },
  other: { namespace: 'ns', name: 'other' },
};
const specOf = (volume: Volume) => ({
  accessModes: modesOf(volume.modes),
  storageClassName: volume.class ?? '',
  volumeMode: volume.block ? 'Block' : 'Filesystem',
  ...(volume.attrs && { volumeAttributesClassName: volume.attrs }),
});

function persistentVolume(volume: Volume): PersistentVolume {
  const { name, size, labels = {}, phase = 'Available', ref, zone, deleted } = volume;
  const values = [zone ?? ''];
  const terms = [{ matchExpressions: [{ key: 'zone', operator: 'In', values }] }];
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {
      ...stamp,
      name,
      uid: name,
      labels,
      ...(deleted && { deletionTimestamp: stamp.creationTimestamp }),
    },
    spec: {
      ...specOf(volume),
      capacity: { storage: size },
      ...(ref && { claimRef: REFS[ref] }),
      ...(zone && { nodeAffinity: { required: { nodeSelectorTerms: terms } } }),
    },
    status: { phase },
  };
}

function claimOf({ claim, select }: Case): PersistentVolumeClaim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { ...stamp, name: 'data', namespace: 'ns', uid: 'claim-uid' },
    spec: {
      ...specOf(claim),
      resources: { requests: { storage: claim.size } },
      ...(select && { selector: { matchLabels: { tier: select } } }),
    },
  };
}

const isOurs = ({ ref }: Volume): boolean => ref === 'ours' || ref === 'bound';

/** As binder and scheduler ask: of a delayed claim without a node only what is reserved counts. */
function answer(given: Case): string {
  const { volumes, delayed, nodeZone } = given;
  const asked = volumes.filter(
    (volume) => nodeZone === undefined || (volume.class ?? '') === (given.claim.class ?? ''),
  );
  const candidates = asked.filter((volume) => !delayed || isOurs(volume)).map(persistentVolume);
  const node: Node | undefined = nodeZone
    ? {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { ...stamp, name: 'n', uid: 'n', labels: { zone: nodeZone } },
      }
    : undefined;
  return matchVolume(claimOf(given), candidates, node)?.metadata.name ?? '';
}

const count = (volume: Volume | undefined): number => new Set(volume?.modes).size;
const named = ({ volumes }: Case, name: string) => volumes.find((volume) => volume.name === name);

const differences: Difference<Case>[] = [
  {
    row: 'a free volume for a delayed claim',
    applies: (given) =>
      given.nodeZone !== undefined &&
      answer(given) !== '' &&
      given.answers.every((name) => count(named(given, answer(given))) < count(named(given, name))),
  },
  {
    row: 'a volume reserved for a claim whose access modes do not suffice, delayed binding',
    applies: (given) =>
      given.nodeZone !== undefined &&
      given.volumes.some(
        (volume) => isOurs(volume) && [...given.claim.modes].some((mode) => !volume.modes.includes(mode)),
      ),
  },
  {
    row: 'a volume reserved for a claim that has more access modes than a free one',
    applies: (given) => {
      const ours = named(given, answer(given));
      return given.nodeZone === undefined && ours !== undefined && isOurs(ours);
    },
  },
];

test('claims get the volume that kube-controller-manager and kube-scheduler give them', () => {
  agree(recorded<Case[]>('binding'), {
    same: (given) => (given.answers.includes(answer(given)) ? undefined : `chose "${answer(given)}"`),
    differences,
  });
});
