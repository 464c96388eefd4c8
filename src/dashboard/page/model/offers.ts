// Which actions fit an object. The server refuses what does not fit any more. Pure.

import type { ActionRequest, VolumeRow } from '../../page-messages.ts';
import type { SubjectRow } from './subject-row.ts';

export interface Offer {
  readonly request: ActionRequest;
  readonly title: string;
  /** What a second click confirms; absent where nothing can be lost. */
  readonly confirm?: string;
}

export function offersFor(found: SubjectRow): Offer[] {
  if (found.kind === 'volume') {
    const { row } = found;
    return [...(row.subject === 'claim' ? claimOffers(row) : []), ...row.attachments.flatMap(offersOn(row))];
  }
  if (found.kind !== 'snapshot' || found.row.state === 'ok') return [];
  const { namespace, name } = found.row;
  return [{ request: { action: 'retry-snapshot', namespace, name }, title: 'Retry now' }];
}

/** Of provisioning and expansion; what pods and attachments wait for is retried elsewhere. */
function claimOffers({ namespace = '', name, state, phase }: VolumeRow): Offer[] {
  if (state === 'ok' || phase === 'Lost') return [];
  return [{ request: { action: 'retry-claim', namespace, name }, title: 'Retry now' }];
}

const offersOn =
  ({ pods, state }: VolumeRow) =>
  ({ name, node, attached, isGoing }: VolumeRow['attachments'][number]): Offer[] => {
    const isUsed = pods.some((pod) => pod.node === node);
    if (attached && !isGoing && isUsed && state === 'ok') return [];
    const again: Offer = {
      request: { action: 'retry-attachment', name },
      title: isGoing ? `Retry to detach from ${node} now` : `Retry to attach to ${node} now`,
    };
    const away: Offer = {
      request: { action: 'delete-attachment', name },
      title: `Delete the attachment to ${node}`,
      confirm: `Really delete ${name}? The attacher then detaches the volume from ${node}.`,
    };
    return [...(attached && !isGoing ? [] : [again]), ...(isGoing ? [] : [away])];
  };
