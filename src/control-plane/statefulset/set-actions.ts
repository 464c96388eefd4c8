// Performs the steps decided for a StatefulSet, and emits events in Kubernetes' words.

import { type Pod, persistentVolumeClaims, pods, type StatefulSet } from '../../api/kinds.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import type { EventRecorder } from '../../runtime/events/create-event-recorder.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isAlreadyExists, isNotFound } from '../../runtime/kube/kube-error.ts';
import type { SetStep } from './decide-set.ts';
import { ownedBySet } from './set-members.ts';

export interface SetActions {
  perform(set: StatefulSet, step: Exclude<SetStep, { do: 'wait' }>, signal: AbortSignal): Promise<void>;
  /** Adopts a pod without a controller, as after a set was deleted with orphaning. */
  adopt(set: StatefulSet, pod: Pod, signal: AbortSignal): Promise<void>;
}

export function createSetActions({
  kube,
  recorder,
}: {
  kube: KubeClient;
  recorder: EventRecorder;
}): SetActions {
  /** AlreadyExists is no failure if the object is our own write, not yet in the cache; otherwise it is. */
  async function create(
    set: StatefulSet,
    what: string,
    { act, isThere, signal }: { act(): Promise<unknown>; isThere(): Promise<boolean>; signal: AbortSignal },
  ): Promise<void> {
    const { name } = set.metadata;
    try {
      await act();
      recorder.event(set, 'Normal', 'SuccessfulCreate', `create ${what} in StatefulSet ${name} successful`);
    } catch (error) {
      if (signal.aborted) throw error;
      if (isAlreadyExists(error) && (await isThere())) return;
      const why = errorMessage(error);
      const message = `create ${what} in StatefulSet ${name} failed error: ${why}`;
      recorder.event(set, 'Warning', 'FailedCreate', message);
      throw error;
    }
  }

  async function perform(
    set: StatefulSet,
    step: Exclude<SetStep, { do: 'wait' }>,
    signal: AbortSignal,
  ): Promise<void> {
    const { namespace = '' } = set.metadata;
    switch (step.do) {
      case 'create-claim': {
        const { name = '' } = step.claim.metadata;
        await create(set, `Claim ${name} Pod ${step.podName}`, {
          act: () => kube.create(persistentVolumeClaims, step.claim, { signal }),
          // An existing claim of that name is used, whoever created it: this is how data outlives its set.
          isThere: async () => true,
          signal,
        });
        return;
      }
      case 'create-pod': {
        const { name = '' } = step.pod.metadata;
        await create(set, `Pod ${name}`, {
          act: () => kube.create(pods, step.pod, { signal }),
          async isThere() {
            const live = await kube.get(pods, { name, namespace }, { signal });
            return (live.metadata.ownerReferences ?? []).some(({ uid }) => uid === set.metadata.uid);
          },
          signal,
        });
        return;
      }
      case 'delete-pod': {
        const { name, uid } = step.pod.metadata;
        try {
          await kube.delete(pods, { name, namespace }, { preconditions: { uid }, signal });
        } catch (error) {
          if (isNotFound(error)) return;
          throw error;
        }
        const message = `delete Pod ${name} in StatefulSet ${set.metadata.name} successful: ${step.why}`;
        recorder.event(set, 'Normal', 'SuccessfulDelete', message);
        return;
      }
      case 'set-claim-owners': {
        const { claim, owners } = step;
        const metadata = { ...claim.metadata, ownerReferences: owners };
        await kube.update(persistentVolumeClaims, { ...claim, metadata }, { signal });
        return;
      }
      default:
        step satisfies never;
    }
  }

  return {
    perform,
    async adopt(set, pod, signal) {
      const { name, namespace = '', resourceVersion, uid } = pod.metadata;
      const ownerReferences = [...(pod.metadata.ownerReferences ?? []), ownedBySet(set)];
      const patch = { metadata: { uid, resourceVersion, ownerReferences } };
      await kube.patch(pods, { name, namespace }, patch, { type: 'merge', signal });
    },
  };
}
