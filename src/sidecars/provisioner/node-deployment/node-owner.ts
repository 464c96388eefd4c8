// One provisioner per node: which claims are this node's. A claim belongs to its selected node. A claim with immediate
// binding has none: every node may claim it, each after a random delay, and the first to write its name as the selected
// node owns it. A node without room does not try.

import { type PersistentVolumeClaim, persistentVolumeClaims, type StorageClass } from '../../../api/kinds.ts';
import { ANN_SELECTED_NODE } from '../../../api/well-known.ts';
import { csiClient } from '../../../csi/client/csi-client.ts';
import type { CsiTransport } from '../../../csi/client/transport.ts';
import { Controller } from '../../../csi/generated/csi/v1/csi_pb.ts';
import { isConflict, isInvalid, isNotFound } from '../../../runtime/kube/kube-error.ts';
import type { Clock, Random } from '../../../runtime/ports.ts';
import { done, type Outcome, requeueAfter } from '../../../runtime/queue/loop.ts';
import { backoffDelayMs } from '../../../runtime/time/backoff.ts';
import type { ClaimWork } from '../claims/claim-work.ts';
import type { VolumePlan } from '../planning/plan-volume.ts';

export interface NodeOwner {
  readonly name: string;
  readonly takesImmediate: boolean;
  take(
    work: ClaimWork,
    claim: PersistentVolumeClaim,
    storageClass: StorageClass,
    signal: AbortSignal,
  ): Promise<Outcome>;
  /** The claim has an owner, or is gone. */
  forget(claimUid: string): void;
}

export interface NodeOwnerOptions {
  name: string;
  takesImmediate: boolean;
  /** `--node-deployment-base-delay` and `-max-delay` */
  baseDelayMs: number;
  maxDelayMs: number;
  csi: CsiTransport;
  timeoutMs: number;
  clock: Clock;
  random: Random;
}

interface Offer {
  atMs: number;
  attempts: number;
}

export function createNodeOwner(options: NodeOwnerOptions): NodeOwner {
  const { name, takesImmediate, clock, random } = options;
  const controller = csiClient(Controller, options.csi, { timeoutMs: options.timeoutMs });
  const offers = new Map<string, Offer>();

  /** A random part of the delay, so that nodes do not all try at once. */
  function nextOffer(uid: string): Offer {
    const attempts = offers.get(uid)?.attempts ?? 0;
    const policy = { startMs: options.baseDelayMs, maxMs: options.maxDelayMs };
    const delayMs = Math.max(
      0,
      backoffDelayMs(policy, attempts, random) - random.next() * options.baseDelayMs,
    );
    const offer = { atMs: clock.monotonicMs() + delayMs, attempts: attempts + 1 };
    offers.set(uid, offer);
    return offer;
  }

  /** If GetCapacity fails, room is assumed: CreateVolume then reports to the user what is wrong. */
  async function hasRoom(plan: VolumePlan, signal: AbortSignal): Promise<boolean> {
    const segments = plan.topology?.requisite ?? [];
    for (const segment of segments.length === 0 ? [undefined] : segments) {
      try {
        const { availableCapacity } = await controller.getCapacity(
          {
            volumeCapabilities: [...plan.capabilities],
            parameters: { ...plan.parameters },
            ...(segment && { accessibleTopology: { segments: segment } }),
          },
          { signal },
        );
        if (availableCapacity >= plan.capacityBytes) return true;
      } catch {
        signal.throwIfAborted();
        return true;
      }
    }
    return false;
  }

  function withNode(claim: PersistentVolumeClaim): PersistentVolumeClaim {
    const annotations = { ...claim.metadata.annotations, [ANN_SELECTED_NODE]: name };
    return { ...claim, metadata: { ...claim.metadata, annotations } };
  }

  return {
    name,
    takesImmediate,
    forget: (uid) => void offers.delete(uid),
    async take(work, claim, storageClass, signal) {
      const { uid } = claim.metadata;
      const known = offers.get(uid);
      if (!known || known.atMs > clock.monotonicMs()) {
        const offer = known ?? nextOffer(uid);
        return requeueAfter(offer.atMs - clock.monotonicMs(), 'another node may take the claim first');
      }
      const mine = withNode(claim);
      try {
        const planned = await work.planner.plan(mine, storageClass, { signal });
        if ('populator' in planned) return done;
        if (!(await hasRoom(planned.plan, signal))) {
          return requeueAfter(nextOffer(uid).atMs - clock.monotonicMs(), 'this node has no room for it');
        }
      } catch (error) {
        signal.throwIfAborted();
        // Outside the class's topology, for example: left to another node.
        const delayMs = nextOffer(uid).atMs - clock.monotonicMs();
        work.log.v(4).info('Not taking a claim', { claim: claim.metadata.name, err: error });
        return requeueAfter(delayMs, 'this node cannot take it');
      }
      try {
        work.claims.wrote(await work.kube.update(persistentVolumeClaims, mine, { signal }));
        offers.delete(uid);
        return requeueAfter(0, 'this node owns it now');
      } catch (error) {
        if (isNotFound(error)) offers.delete(uid);
        else if (!isConflict(error) && !isInvalid(error)) throw error;
        // Another process wrote first, most likely another node its name.
        else return requeueAfter(nextOffer(uid).atMs - clock.monotonicMs(), 'the claim changed');
        return done;
      }
    },
  };
}
