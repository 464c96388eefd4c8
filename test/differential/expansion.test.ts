import { test } from 'node:test';
import type { PersistentVolume, PersistentVolumeClaim } from '../../src/api/kinds.ts';
import { canonicalQuantity } from '../../src/api/quantity.ts';
import { parseDriverName } from '../../src/csi/names/driver-name.ts';
import { decideExpansion } from '../../src/sidecars/resizer/expansion/decide-expansion.ts';
import {
  awaitNodePatch,
  beginPatch,
  finishPatch,
} from '../../src/sidecars/resizer/expansion/expansion-patches.ts';
import { agree, recorded } from './recorded.ts';

interface Case {
  requested: string;
  /** Of the claim's status. */
  capacity: string;
  /** Of the volume. */
  volume: string;
  allocated?: string;
  state?: string;
  fsResizePending?: boolean;
  /** Bound unless given. */
  phase?: string;
  driver?: string;
  ref?: 'none' | 'other-uid' | 'other-namespace';
  /** The driver grows volumes on the node only. */
  nodeOnly?: boolean;
  failedForSure?: boolean;
  doesNotRecover?: boolean;
  /** What the driver was asked for; absent when it was not. */
  asked?: string;
  /** The driver then says that a node must follow. */
  nodeMustFollow?: boolean;
  stateAfter?: string;
  allocatedAfter?: string;
  capacityAfter?: string;
  conditionsAfter?: string[];
}

const stamp = { resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };

function claimOf({ requested, capacity, allocated, state, fsResizePending, phase = 'Bound' }: Case) {
  const conditions = [
    { type: 'FileSystemResizePending', status: 'True', lastTransitionTime: stamp.creationTimestamp },
  ];
  const claim: PersistentVolumeClaim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { ...stamp, name: 'data', namespace: 'ns', uid: 'u' },
    spec: { volumeName: 'pv', resources: { requests: { storage: requested } } },
    status: {
      phase,
      capacity: { storage: capacity },
      ...(allocated && { allocatedResources: { storage: allocated } }),
      ...(state && { allocatedResourceStatuses: { storage: state } }),
      ...(fsResizePending && { conditions }),
    },
  };
  return claim;
}

function volumeOf({ volume, driver = 'd', ref }: Case): PersistentVolume {
  const claimRef = {
    namespace: ref === 'other-namespace' ? 'other' : 'ns',
    name: 'data',
    uid: ref === 'other-uid' ? 'v' : 'u',
  };
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { ...stamp, name: 'pv', uid: 'pv' },
    spec: {
      capacity: { storage: volume },
      csi: { driver, volumeHandle: 'h' },
      ...(ref !== 'none' && { claimRef }),
    },
  };
}

function decide(given: Case): string | undefined {
  const decision = decideExpansion({
    claim: claimOf(given),
    volume: volumeOf(given),
    driver: parseDriverName('d'),
    place: given.nodeOnly ? 'node' : 'controller',
    failedForSure: given.failedForSure ?? false,
    recovers: !given.doesNotRecover,
  });
  return decision.do === 'expand' ? canonicalQuantity(decision.size) : undefined;
}

const cases = recorded<Case[]>('expansion');

test('ControllerExpandVolume is called when, and with the size that, external-resizer calls it', () => {
  agree(cases, {
    same: (given) => (decide(given) === given.asked ? undefined : `asked for ${decide(given)}`),
  });
});

type Patched = { status: Record<string, unknown> };
const applied = (claim: PersistentVolumeClaim, patch: Patched | undefined): PersistentVolumeClaim => {
  const status = { ...claim.status, ...patch?.status } as Record<string, unknown>;
  for (const [field, value] of Object.entries(status)) {
    if (value === null) delete status[field];
    else if (typeof value === 'object' && !Array.isArray(value)) {
      status[field] = Object.fromEntries(Object.entries(value as object).filter(([, each]) => each !== null));
    }
  }
  return { ...claim, status };
};

test('the status of an expanded claim is the one that external-resizer writes', () => {
  const context = { now: '2026-01-01T00:00:00Z', recovers: true };
  agree(
    cases.filter(({ asked, doesNotRecover, stateAfter, capacityAfter }) =>
      Boolean(asked && !doesNotRecover && (stateAfter || capacityAfter)),
    ),
    {
      same(given) {
        const asked = given.asked ?? '';
        const begun = applied(
          claimOf(given),
          beginPatch(claimOf(given), asked, context) as Patched | undefined,
        );
        const grown =
          given.nodeMustFollow || given.nodeOnly
            ? awaitNodePatch(begun, context)
            : finishPatch(begun, asked, context);
        const { status } = applied(begun, grown as Patched);
        const says = [
          status?.allocatedResourceStatuses?.storage ?? '',
          canonicalQuantity(status?.allocatedResources?.storage ?? '0'),
          canonicalQuantity(status?.capacity?.storage ?? '0'),
          (status?.conditions ?? [])
            .map(({ type }) => type)
            .sort()
            .join(),
        ].join(' ');
        const expected = [
          given.stateAfter ?? '',
          given.allocatedAfter ?? '0',
          given.capacityAfter ?? '0',
          [...(given.conditionsAfter ?? [])].sort().join(),
        ].join(' ');
        return says === expected ? undefined : `says "${says}" instead of "${expected}"`;
      },
    },
  );
});
