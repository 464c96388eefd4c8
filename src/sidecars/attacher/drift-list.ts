// Attachments that say "attached" while the driver lists the volume as not published on the node. One listing is no
// proof: it may have been read while the volume was on its way. Only what two listings in a row say of an attachment
// that did not change meanwhile counts. Never looks at attachments on their way in or out: those have their own loop,
// and two that repair the same thing fight. A repair that fails stays confirmed, over the error that is written into the
// attachment meanwhile: the loop tries it again with its backoff.

import type { VolumeAttachment } from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import type { NodeId, VolumeHandle } from '../../csi/names/driver-name.ts';

export interface Listing {
  /** Volume handle to node IDs; a volume of which the driver does not say where it is published is not in it. */
  published: ReadonlyMap<string, ReadonlySet<string>>;
  /** Handles of all volumes listed. */
  known: ReadonlySet<string>;
}

export interface Candidate {
  attachment: VolumeAttachment;
  handle: VolumeHandle;
  nodeId: NodeId;
}

/** Whether the listing denies that the volume is on the node. A listing that says nothing denies nothing. */
export function denies(listing: Listing, { handle, nodeId }: Candidate): boolean {
  if (!listing.known.has(handle)) return true;
  const where = listing.published.get(handle);
  return where !== undefined && !where.has(nodeId);
}

export class DriftList {
  /** Denied by the last listing: attachment key to the version it was denied in. */
  #suspects = new Map<string, string>();
  /** Denied twice. */
  readonly #confirmed = new Map<string, string>();

  /** `before`: as they were when the listing began; `now`: as they are after it. Gives the keys to repair. */
  compare(
    before: readonly Candidate[],
    listing: Listing,
    now: (key: string) => VolumeAttachment | undefined,
  ) {
    const suspects = new Map<string, string>();
    const confirmed: string[] = [];
    for (const candidate of before) {
      const key = keyOf(candidate.attachment);
      const { resourceVersion } = candidate.attachment.metadata;
      if (now(key)?.metadata.resourceVersion !== resourceVersion) continue;
      if (!denies(listing, candidate)) {
        this.#confirmed.delete(key);
        continue;
      }
      // The loop has it and keeps its pace.
      if (this.has(candidate.attachment)) continue;
      if (this.#suspects.get(key) === resourceVersion) {
        this.#confirmed.set(key, resourceVersion);
        confirmed.push(key);
      } else suspects.set(key, resourceVersion);
    }
    this.#suspects = suspects;
    return { confirmed, suspects: suspects.size };
  }

  has(attachment: VolumeAttachment): boolean {
    return this.#confirmed.get(keyOf(attachment)) === attachment.metadata.resourceVersion;
  }

  /** The attacher wrote the attachment itself, or goes on with a repair over the write of another: what it was, it still is. */
  wrote(before: VolumeAttachment, after: VolumeAttachment): void {
    if (this.has(before)) this.#confirmed.set(keyOf(after), after.metadata.resourceVersion);
  }

  clear(attachment: VolumeAttachment): void {
    this.#confirmed.delete(keyOf(attachment));
  }
}
