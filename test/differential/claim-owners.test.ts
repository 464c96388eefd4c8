import { test } from 'node:test';
import type { PersistentVolumeClaim, Pod, StatefulSet } from '../../src/api/kinds.ts';
import type { OwnerReference } from '../../src/api/object.ts';
import { decideClaimOwners } from '../../src/control-plane/statefulset/claim-owners.ts';
import { agree, recorded } from './recorded.ts';

interface Ref {
  /** The set, its pod, or some other owner. */
  of: 'set' | 'pod' | 'other' | 'friend';
  uid: string;
  controller?: boolean;
}
interface Case {
  whenDeleted: string;
  whenScaled: string;
  /** The pod is beyond the number of replicas. */
  away?: boolean;
  before: Ref[];
  after: Ref[];
}

const stamp = { resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z', namespace: 'default' };
const KINDS = {
  set: { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web' },
  pod: { apiVersion: 'v1', kind: 'Pod', name: 'web-1' },
  other: { apiVersion: 'v1', kind: 'Thing', name: 'other' },
  friend: { apiVersion: 'v1', kind: 'Thing', name: 'friend' },
};
const referenceOf = ({ of, uid, controller }: Ref): OwnerReference => ({
  ...KINDS[of],
  uid,
  ...(controller && { controller }),
});
const shown = (references: readonly { uid: string; controller?: boolean }[]): string =>
  references
    .map(({ uid, controller }) => `${uid}${controller ? '*' : ''}`)
    .sort()
    .join(' ');

function answer({ whenDeleted, whenScaled, away = false, before }: Case): string {
  const references = before.map(referenceOf);
  const set = {
    ...KINDS.set,
    metadata: { ...stamp, name: 'web', uid: 'set' },
    spec: {
      selector: {},
      serviceName: '',
      template: {},
      replicas: away ? 1 : 2,
      persistentVolumeClaimRetentionPolicy: { whenDeleted, whenScaled },
    },
  } as StatefulSet;
  const pod = {
    ...KINDS.pod,
    metadata: { ...stamp, name: 'web-1', uid: 'pod' },
    spec: { containers: [] },
  } as Pod;
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { ...stamp, name: 'data-web-1', uid: 'c', ownerReferences: references },
    spec: {},
  } as PersistentVolumeClaim;
  return shown(decideClaimOwners({ set, claim, pod, isScaledAway: away }) ?? references);
}

test('claims of a StatefulSet have the owners that kube-controller-manager gives them', () => {
  agree(recorded<Case[]>('claim-owners'), {
    same: (given) => (answer(given) === shown(given.after) ? undefined : `owners ${answer(given)}`),
  });
});
