// `volumesInUse` of the Node's status: volumes that must not be detached or deleted. A volume is reported before it is
// first used, and its mount waits until the server has acknowledged the report; it is removed from the list after
// unmount. Watches the Node; writes no other field of it, and only over the version that it decided from: a write that
// its sender gave up may arrive late, and must not remove what was reported since.

import { type Node, nodes } from '../../api/kinds.ts';
import { isNewer } from '../../api/resource-version.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isConflict, isNotFound } from '../../runtime/kube/kube-error.ts';
import { createLoop, type LoopPorts } from '../../runtime/queue/create-loop.ts';
import { done, type Loop } from '../../runtime/queue/loop.ts';
import { onAbort } from '../../runtime/time/on-abort.ts';

const KEY = 'status';
/** Removals are coalesced: nobody waits for them. */
const DEBOUNCE_MS = 20;
/** Of one run, when others write the Node at the same time. */
const MOST_ATTEMPTS = 20;

/** Writes whose answers are not known: each of them may take effect, until the Node is seen newer than `over`. */
interface Unsettled {
  /** In the lists of all of them. */
  keys: ReadonlySet<string>;
  /** The newest version that one of them was sent over. Undefined until the Node has been read. */
  over: string | undefined;
}

export interface VolumesInUse {
  /** Resolves once the server has acknowledged that this volume is in use. Rejects when the Node does not exist. */
  ensure(volumeKey: string, signal: AbortSignal): Promise<void>;
  /** Whether the server has acknowledged it, and no write that is on its way removes it. */
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
  /** As last read, written or watched. Undefined before it was read, and after it was deleted. */
  let node: Node | undefined;
  let mustRead = true;
  /** Needed by operations in flight, regardless of the state. */
  const claimed = new Map<string, number>();
  // The process before this one may have sent a write and not got its answer.
  let unsettled: Unsettled | undefined = { keys: new Set(), over: undefined };
  const waiting = new Set<() => void>();

  const isReported = (volumeKey: string): boolean => {
    const listed = node?.status?.volumesInUse ?? [];
    return listed.includes(volumeKey) && (unsettled?.keys.has(volumeKey) ?? true);
  };

  const list = (): string[] => [...new Set([...ports.inUse(), ...claimed.keys()])].sort();

  const loop: Loop = createLoop({
    ...ports,
    name: 'volumes-in-use',
    backoff: { startMs: 200, maxMs: 10_000, jitter: 0.1 },
    async reconcile(_key, { signal }) {
      for (let tries = 1; ; tries++) {
        try {
          while (await write(await current(signal), signal));
          break;
        } catch (error) {
          mustRead = true;
          if (isNotFound(error)) {
            node = undefined;
            break;
          }
          // Others write the Node too, and mounts wait for this.
          if (tries >= MOST_ATTEMPTS || !isConflict(error)) throw error;
        }
      }
      for (const look of [...waiting]) look();
      return done;
    },
  });

  async function current(signal: AbortSignal): Promise<Node> {
    if (node && !mustRead) return node;
    const read = await kube.get(nodes, { name: nodeName }, { signal });
    mustRead = false;
    node ??= read;
    if (unsettled) unsettled.over ??= read.metadata.resourceVersion;
    saw(read);
    return node;
  }

  /** Whether it wrote. */
  async function write({ metadata, status }: Node, signal: AbortSignal): Promise<boolean> {
    const listed = status?.volumesInUse ?? [];
    const wanted = new Set([...list(), ...(ports.mayShrink() ? [] : listed)]);
    // The list may have a volume twice.
    const isRight = wanted.size === listed.length && [...wanted].every((key) => listed.includes(key));
    const before = unsettled?.keys;
    const staysRight = before === undefined || [...wanted].every((key) => before.has(key));
    if (isRight && staysRight) return false;
    const volumesInUse = [...wanted].sort();
    // The server makes no new version of a list that is the same: then the earlier write could still take effect. So the
    // first volume is listed twice for a moment.
    if (isRight) volumesInUse.push(...volumesInUse.slice(0, 1));
    const { resourceVersion } = metadata;
    unsettled = {
      keys: new Set(volumesInUse.filter((key) => before?.has(key) ?? true)),
      over: resourceVersion,
    };
    const patch = { metadata: { resourceVersion }, status: { volumesInUse } };
    const options = { subresource: 'status', type: 'merge', signal } as const;
    saw(await kube.patch(nodes, { name: nodeName }, patch, options));
    return true;
  }

  function saw(seen: Node): void {
    const { resourceVersion } = seen.metadata;
    if (unsettled?.over !== undefined && isNewer(resourceVersion, unsettled.over)) unsettled = undefined;
    if (node && isNewer(resourceVersion, node.metadata.resourceVersion)) node = seen;
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
          mustRead = true;
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
