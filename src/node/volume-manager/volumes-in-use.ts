// `volumesInUse` of the Node's status: volumes that must not be detached or deleted. A volume is reported before it is
// first used, and its mount waits until the server has acknowledged the report; it is removed from the list after
// unmount. Watches the Node; writes no other field of it.

import { type Node, nodes } from '../../api/kinds.ts';
import { isNewer } from '../../api/resource-version.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isNotFound } from '../../runtime/kube/kube-error.ts';
import { createLoop, type LoopPorts } from '../../runtime/queue/create-loop.ts';
import { done, type Loop } from '../../runtime/queue/loop.ts';
import { onAbort } from '../../runtime/time/on-abort.ts';

const KEY = 'status';
/** Removals are coalesced: nobody waits for them. */
const DEBOUNCE_MS = 20;

export interface VolumesInUse {
  /** Resolves once the server has acknowledged that this volume is in use. Rejects when the Node does not exist. */
  ensure(volumeKey: string, signal: AbortSignal): Promise<void>;
  /** Whether the server has acknowledged it, and no write in flight removes it. */
  isReported(volumeKey: string): boolean;
  /** What the list should be now, as far as this run knows. */
  list(): string[];
  /** The volumes in use may have changed. */
  changed(): void;
  run(signal: AbortSignal): Promise<void>;
}

export function createVolumesInUse(
  ports: LoopPorts & {
    kube: KubeClient;
    nodeName: string;
    node: Informer<Node>;
    /** Volumes that are mounted, uncertain or about to be. */
    inUse: () => Iterable<string>;
    /** False until the mounts of the node are reconstructed: until then nothing is removed. */
    mayShrink: () => boolean;
  },
): VolumesInUse {
  const { kube, nodeName } = ports;
  /** As last read, written or watched. Undefined before that, and after it was deleted. */
  let node: Node | undefined;
  /** Needed by operations in flight, regardless of the state. */
  const claimed = new Map<string, number>();
  /** The lists of all writes since the last acknowledged one. Each of them may have taken effect. */
  let unanswered: ReadonlySet<string> | undefined;
  const waiting = new Set<() => void>();

  const isReported = (volumeKey: string): boolean => {
    const listed = node?.status?.volumesInUse ?? [];
    return listed.includes(volumeKey) && (unanswered?.has(volumeKey) ?? true);
  };

  const list = (): string[] => [...new Set([...ports.inUse(), ...claimed.keys()])].sort();

  const loop: Loop = createLoop({
    ...ports,
    name: 'volumes-in-use',
    backoff: { startMs: 200, maxMs: 10_000, jitter: 0.1 },
    async reconcile(_key, { signal }) {
      try {
        node ??= await kube.get(nodes, { name: nodeName }, { signal });
        await write(node.status?.volumesInUse ?? [], signal);
      } catch (error) {
        if (!isNotFound(error)) throw error;
        node = undefined;
      }
      for (const look of [...waiting]) look();
      return done;
    },
  });

  async function write(listed: readonly string[], signal: AbortSignal): Promise<void> {
    const wanted = new Set([...list(), ...(ports.mayShrink() ? [] : listed)]);
    const isRight = wanted.size === listed.length && listed.every((key) => wanted.has(key));
    if (isRight && !unanswered) return;
    unanswered = new Set([...wanted].filter((key) => unanswered?.has(key) ?? true));
    const patch = { status: { volumesInUse: [...wanted].sort() } };
    const options = { subresource: 'status', type: 'merge', signal } as const;
    saw(await kube.patch(nodes, { name: nodeName }, patch, options));
    unanswered = undefined;
  }

  function saw(seen: Node): void {
    if (!node || isNewer(seen.metadata.resourceVersion, node.metadata.resourceVersion)) node = seen;
  }

  return {
    async ensure(volumeKey, signal) {
      signal.throwIfAborted();
      claimed.set(volumeKey, (claimed.get(volumeKey) ?? 0) + 1);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const look = () => {
        if (isReported(volumeKey)) resolve();
        else if (!node)
          reject(new Error(`Node ${nodeName} does not exist, so volumes cannot be reported in use`));
      };
      const stopListening = onAbort(signal, () => reject(signal.reason));
      waiting.add(look);
      if (isReported(volumeKey)) resolve();
      else loop.add(KEY);
      try {
        await promise;
      } finally {
        waiting.delete(look);
        stopListening();
        const left = (claimed.get(volumeKey) ?? 1) - 1;
        if (left > 0) claimed.set(volumeKey, left);
        else claimed.delete(volumeKey);
      }
    },
    isReported,
    list,
    changed: () => loop.addAfter(KEY, DEBOUNCE_MS),
    async run(signal) {
      // Another writer may have changed the list, or recreated the Node.
      const look = (seen: Node) => {
        saw(seen);
        loop.add(KEY);
      };
      const stopFollowing = ports.node.subscribe({
        added: look,
        updated: (_before, after) => look(after),
        deleted() {
          node = undefined;
        },
      });
      try {
        await loop.run(signal);
      } finally {
        stopFollowing();
      }
    },
  };
}
