// The scheduler's writes: reservations of volumes, the selected-node annotation of claims, the pod's binding, or the
// reason why there is none. Each write carries the resourceVersion it was decided from, or is idempotent: on a conflict
// the pod is scheduled again.

import {
  type PersistentVolumeClaim,
  type Pod,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
} from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { ANN_SELECTED_NODE } from '../../api/well-known.ts';
import type { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { ifThere } from '../../runtime/kube/if-there.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isConflict, isNotFound } from '../../runtime/kube/kube-error.ts';
import type { Clock, Log } from '../../runtime/ports.ts';
import { volumeBoundTo } from '../binder/binding.ts';
import type { FreeVolumes } from './free-volumes.ts';
import type { Placement } from './placement.ts';
import type { BindingPlan } from './volume-checks.ts';

export interface PodWritesPorts {
  kube: KubeClient;
  clock: Clock;
  log: Log;
  claims: ReadYourWrites<PersistentVolumeClaim>;
  volumes: FreeVolumes;
}

export interface PodWrites {
  /** Reserves the volumes that were found and requests provisioning for the others. */
  prepareVolumes(plan: BindingPlan, placement: Placement, signal: AbortSignal): Promise<void>;
  /** The pod's node on the server, by whichever scheduler; undefined when it has none. */
  bind(pod: Pod, nodeName: string, signal: AbortSignal): Promise<string | undefined>;
  /** `nominated`: the node where others give way to the pod. */
  markUnschedulable(pod: Pod, message: string, signal: AbortSignal, nominated?: string): Promise<void>;
  /** Ends the pod, and says in its status that it gave way. */
  preempt(victim: Pod, schedulerName: string, signal: AbortSignal): Promise<void>;
}

export function createPodWrites({ kube, clock, log, claims, volumes }: PodWritesPorts): PodWrites {
  async function selectNode(
    claim: PersistentVolumeClaim,
    nodeName: string,
    signal: AbortSignal,
  ): Promise<void> {
    const annotations = { ...claim.metadata.annotations, [ANN_SELECTED_NODE]: nodeName };
    const selected = { ...claim, metadata: { ...claim.metadata, annotations } };
    claims.wrote(await kube.update(persistentVolumeClaims, selected, { signal }));
  }

  /** Read from the server. */
  async function nodeOf({ metadata }: Pod, signal: AbortSignal): Promise<string | undefined> {
    const { name, namespace = '', uid } = metadata;
    try {
      const live = await kube.get(pods, { name, namespace }, { signal });
      return live.metadata.uid === uid ? live.spec.nodeName : undefined;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  return {
    async prepareVolumes({ matches, provisions }, placement, signal) {
      for (const { claim, volume } of matches) {
        const reserved = volumeBoundTo(volume, claim.claim);
        if (reserved) volumes.latest.wrote(await kube.update(persistentVolumes, reserved, { signal }));
      }
      for (const { key, claim, selectedNode } of provisions) {
        if (selectedNode === undefined) await selectNode(claim, placement.nodeName ?? '', signal);
        placement.asked(key);
      }
    },

    async bind(pod, nodeName, signal) {
      const { name, namespace = '', uid } = pod.metadata;
      const binding = {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name, namespace, uid },
        target: { apiVersion: 'v1', kind: 'Node', name: nodeName },
      };
      try {
        await kube.createSubresource(pods, { name, namespace }, 'binding', binding, { signal });
        return nodeName;
      } catch (error) {
        if (!isNotFound(error) && !isConflict(error)) throw error;
        log.v(2).info('The pod could not be bound', { pod: keyOf(pod), nodeName, err: error });
        return await nodeOf(pod, signal);
      }
    },

    async markUnschedulable(pod, message, signal, nominatedNodeName) {
      const current = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
      const isKnown = current?.status === 'False';
      const isNominated = nominatedNodeName === pod.status?.nominatedNodeName || !nominatedNodeName;
      if (isKnown && current.message === message && isNominated) return;
      const condition = {
        type: 'PodScheduled',
        status: 'False',
        reason: 'Unschedulable',
        message,
        lastTransitionTime: (isKnown && current.lastTransitionTime) || new Date(clock.now()).toISOString(),
      };
      const { name, namespace = '' } = pod.metadata;
      const options = { type: 'strategic', subresource: 'status', signal } as const;
      const status = { conditions: [condition], ...(nominatedNodeName && { nominatedNodeName }) };
      await ifThere(kube.patch(pods, { name, namespace }, { status }, options));
    },

    async preempt({ metadata: { name, namespace = '', uid } }, schedulerName, signal) {
      const condition = {
        type: 'DisruptionTarget',
        status: 'True',
        reason: 'PreemptionByScheduler',
        message: `${schedulerName}: preempting to accommodate a higher priority pod`,
        lastTransitionTime: new Date(clock.now()).toISOString(),
      };
      const change = { metadata: { uid }, status: { conditions: [condition] } };
      const options = { type: 'strategic', subresource: 'status', signal } as const;
      if ((await ifThere(kube.patch(pods, { name, namespace }, change, options))) === undefined) return;
      await ifThere(kube.delete(pods, { name, namespace }, { preconditions: { uid }, signal }));
    },
  };
}
