// What the page can do on request: delete a stuck attachment, and retry at once. With the rights of whoever asks, never with those of
// the page: the API server decides by the viewer's own token. An attachment that a running pod uses is not deleted.

import {
  persistentVolumeClaims,
  type VolumeAttachment,
  volumeAttachments,
  volumeSnapshotContents,
} from '../api/kinds.ts';
import { type KubeObject, keyOf, type Resource } from '../api/object.ts';
import { isTerminated } from '../api/volumes.ts';
import { ANN_RETRY } from '../api/well-known.ts';
import type { NodeName } from '../csi/names/driver-name.ts';
import type { KubeClient } from '../runtime/kube/kube.ts';
import { KubeError } from '../runtime/kube/kube-error.ts';
import { claimNamed, nodeState, podsOf, volumeNamed } from '../why/fact-index.ts';
import type { Observation } from './observed.ts';
import { type ActionRequest, actionNames } from './page-messages.ts';

export interface ActionAnswer {
  readonly status: number;
  readonly says: string;
}

type Acting = Pick<KubeClient, 'delete' | 'patch'>;

export interface ActionPorts {
  /** With the rights of the viewer. */
  readonly kube: Acting;
  readonly observation: Observation;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

/** Undefined for what is no request. */
export function parseAction(text: string): ActionRequest | undefined {
  try {
    const { action, namespace, name } = JSON.parse(text) as Record<string, unknown>;
    const known = actionNames.find((each) => each === action);
    if (known === undefined || typeof name !== 'string' || name === '') return undefined;
    return { action: known, name, ...(typeof namespace === 'string' && { namespace }) };
  } catch {
    return undefined;
  }
}

export async function performAction(
  { kube, observation, nowMs, signal }: ActionPorts,
  request: ActionRequest,
): Promise<ActionAnswer> {
  try {
    return request.action === 'delete-attachment'
      ? await deleteAttachment({ kube, observation, signal }, request)
      : await retry({ kube, observation, signal }, { ...request, value: new Date(nowMs).toISOString() });
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    return { status: error.code === 0 ? 502 : error.code, says: error.message };
  }
}

async function deleteAttachment(
  { kube, observation, signal }: Omit<ActionPorts, 'nowMs'>,
  { name }: ActionRequest,
): Promise<ActionAnswer> {
  const attachment = observation.attachments.find(({ metadata }) => metadata.name === name);
  if (attachment === undefined) return { status: 404, says: `there is no VolumeAttachment ${name}` };
  const user = userOf(observation, attachment);
  if (user !== undefined) {
    const says = `VolumeAttachment ${name} is not stuck: pod ${user} uses the volume on node ${attachment.spec.nodeName}; delete the pod first`;
    return { status: 409, says };
  }
  if (attachment.metadata.deletionTimestamp !== undefined) {
    const says = `VolumeAttachment ${name} is being deleted already: it goes once the attacher has detached the volume`;
    return { status: 409, says };
  }
  await kube.delete(volumeAttachments, { name }, { preconditions: { uid: attachment.metadata.uid }, signal });
  return { status: 200, says: `VolumeAttachment ${name} is being deleted: the attacher detaches the volume` };
}

/** A pod on the attachment's node that uses its volume, while that node answers. */
function userOf(observation: Observation, { spec, status }: VolumeAttachment): string | undefined {
  if (!status?.attached || nodeState(observation, spec.nodeName as NodeName) !== 'ready') return undefined;
  const { claimRef } = volumeNamed(observation, spec.source.persistentVolumeName)?.spec ?? {};
  const claim =
    claimRef?.name && claimNamed(observation, { namespace: claimRef.namespace, name: claimRef.name });
  // Whether an inline volume is in use is not known here: its pod has it as long as it is on the node.
  const pods = claim
    ? podsOf(observation, claim)
    : observation.pods.filter((pod) => !isTerminated(pod) && pod.spec.volumes?.some(({ csi }) => csi));
  const user = pods.find((pod) => pod.spec.nodeName === spec.nodeName);
  return user && keyOf(user);
}

async function retry(
  { kube, observation, signal }: Omit<ActionPorts, 'nowMs'>,
  { action, namespace, name, value }: ActionRequest & { value: string },
): Promise<ActionAnswer> {
  const mark = async <T extends KubeObject>(
    resource: Resource<T>,
    at: { name: string; namespace?: string },
  ) => {
    const patch = { metadata: { annotations: { [ANN_RETRY]: value } } };
    await kube.patch(resource, at, patch, { type: 'merge', signal });
    return {
      status: 200,
      says: `a retry of ${resource.kind} ${at.name} was asked for: it does not wait for the backoff any more`,
    };
  };
  switch (action) {
    case 'retry-claim':
      return mark(persistentVolumeClaims, { name, ...(namespace !== undefined && { namespace }) });
    case 'retry-attachment':
      return mark(volumeAttachments, { name });
    default: {
      const snapshot = observation.snapshots.find(
        ({ metadata }) => metadata.name === name && metadata.namespace === namespace,
      );
      const content = snapshot?.status?.boundVolumeSnapshotContentName;
      if (content === undefined) {
        return {
          status: 409,
          says: `VolumeSnapshot ${namespace}/${name} has no content yet: nobody has tried it`,
        };
      }
      return mark(volumeSnapshotContents, { name: content });
    }
  }
}
