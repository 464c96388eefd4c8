// Writes `status.volumesAttached` of Nodes: what a node may mount. It is computed from the attachments at each write. A
// volume that is about to be detached is taken off the list first, and the answer to that write shows whether the
// node still uses it. Writes to one node are serialized and coalesced.

import { type Node, nodes, type VolumeAttachment } from '../../api/kinds.ts';
import { isCsiVolumeName } from '../../api/volumes.ts';
import { attachmentState } from '../../csi-plugin/attach/attachment-state.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isNotFound } from '../../runtime/kube/kube-error.ts';
import type { ActualAttachments } from './actual-attachments.ts';

type Attached = NonNullable<NonNullable<Node['status']>['volumesAttached']>;

export interface AttachedReportPorts {
  kube: KubeClient;
  nodes: Informer<Node>;
  actual: ActualAttachments;
}

export class AttachedReport {
  readonly #ports: AttachedReportPorts;
  readonly #latest: ReadYourWrites<Node>;
  readonly #withheld = new Set<string>();
  /** UIDs of Nodes that the server no longer has, by name: the cache may show them for a while. */
  readonly #absent = new Map<string, string>();
  /** The write in flight, or the last one. */
  readonly #last = new Map<string, Promise<unknown>>();
  /** The write that follows it, as long as it has not begun. */
  readonly #next = new Map<string, Promise<Node | undefined>>();

  constructor(ports: AttachedReportPorts) {
    this.#ports = ports;
    this.#latest = new ReadYourWrites(ports.nodes);
  }

  /** Keeps the attachment off the list although it is still attached. */
  withhold(attachmentName: string): void {
    this.#withheld.add(attachmentName);
  }

  release(attachmentName: string): void {
    this.#withheld.delete(attachmentName);
  }

  /** Writes the list if the server's differs. Returns the Node as the server has it, undefined if it does not exist. */
  publish(nodeName: string, signal: AbortSignal): Promise<Node | undefined> {
    // A write that has not begun will include the caller's changes.
    const next = this.#next.get(nodeName);
    if (next !== undefined) return next;
    const begin = () => {
      this.#next.delete(nodeName);
      this.#last.set(nodeName, writing);
      return this.#publish(nodeName, signal);
    };
    const forget = () => {
      if (this.#last.get(nodeName) === writing) this.#last.delete(nodeName);
    };
    const writing = (this.#last.get(nodeName) ?? Promise.resolve()).then(begin, begin);
    this.#next.set(nodeName, writing);
    writing.then(forget, forget);
    return writing;
  }

  /** The node as last watched or answered, whichever is newer. */
  node(nodeName: string): Node | undefined {
    const node = this.#latest.get(nodeName);
    const absent = this.#absent.get(nodeName);
    return absent !== undefined && absent === node?.metadata.uid ? undefined : node;
  }

  /** Whether the list is right as far as the caches tell. */
  isRight(nodeName: string): boolean {
    const node = this.node(nodeName);
    return node === undefined || this.#rightList(node) === undefined;
  }

  async #publish(nodeName: string, signal: AbortSignal): Promise<Node | undefined> {
    const { kube } = this.#ports;
    const known = this.node(nodeName);
    try {
      let volumesAttached = known && this.#rightList(known);
      if (volumesAttached === undefined) {
        // The answer to an earlier write may have been lost: the server's list may not be the one that the cache shows.
        const node = this.#latest.wrote(await kube.get(nodes, { name: nodeName }, { signal }));
        volumesAttached = this.#rightList(node);
        if (volumesAttached === undefined) return node;
      }
      const options = { type: 'merge', subresource: 'status', signal } as const;
      return this.#latest.wrote(
        await kube.patch(nodes, { name: nodeName }, { status: { volumesAttached } }, options),
      );
    } catch (error) {
      if (!isNotFound(error)) throw error;
      if (known) this.#absent.set(nodeName, known.metadata.uid);
      return undefined;
    }
  }

  /** Undefined if the Node has this list already. */
  #rightList(node: Node): Attached | undefined {
    const list = this.#listFor(node);
    return isSame(node.status?.volumesAttached ?? [], list) ? undefined : list;
  }

  #listFor(node: Node): Attached {
    const { actual } = this.#ports;
    const devices = new Map<string, string>();
    // Entries of other volume plugins are kept.
    for (const { name, devicePath } of node.status?.volumesAttached ?? []) {
      if (!isCsiVolumeName(name)) devices.set(name, devicePath);
    }
    // Sorted, so that of two attachments that share a handle always the same one gives the path.
    for (const attachment of [...actual.onNode(node.metadata.name)].sort(byName)) {
      if (this.#isAttached(attachment)) devices.set(actual.volumeIdOf(attachment), attachment.metadata.name);
    }
    return [...devices]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, devicePath]) => ({ name, devicePath }));
  }

  #isAttached(attachment: VolumeAttachment): boolean {
    return !this.#withheld.has(attachment.metadata.name) && attachmentState(attachment).kind === 'attached';
  }
}

function byName(a: VolumeAttachment, b: VolumeAttachment): number {
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

function isSame(left: Attached, right: Attached): boolean {
  return (
    left.length === right.length &&
    left.every(({ name, devicePath }, i) => name === right[i]?.name && devicePath === right[i]?.devicePath)
  );
}
