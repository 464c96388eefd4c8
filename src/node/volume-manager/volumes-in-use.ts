// `volumesInUse` of the Node's status: what must not be detached. A volume is reported before it is first touched, and
// taken out after it is unmounted; whoever mounts waits for the report. Writes nothing else of the Node.

import { type Node, nodes } from '../../api/kinds.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import type { Clock, Log, Random } from '../../runtime/ports.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import { done, type Loop } from '../../runtime/queue/loop.ts';
import { onAbort } from '../../runtime/time/on-abort.ts';

const KEY = 'status';
/** Nobody waits for a volume to be taken out: what ends at about the same time is written at once. */
const SETTLE_MS = 20;

export interface VolumesInUse {
  /** Resolves once the cluster knows that this volume is in use here. */
  ensure(volumeKey: string, signal: AbortSignal): Promise<void>;
  /** What is in use may have changed. */
  changed(): void;
  run(signal: AbortSignal): Promise<void>;
}

export function createVolumesInUse(ports: {
  kube: KubeClient;
  nodeName: string;
  node: Informer<Node>;
  /** Attachable volumes that are mounted, uncertain or about to be. */
  inUse: () => Iterable<string>;
  /** False while what the node has mounted is not known yet: until then nothing is taken out. */
  mayShrink: () => boolean;
  clock: Clock;
  random: Random;
  log: Log;
}): VolumesInUse {
  const { kube, nodeName } = ports;
  /** Asked for by operations under way, whatever the state says. */
  const claimed = new Map<string, number>();
  let reported: ReadonlySet<string> | undefined;
  const waiting = new Set<() => void>();

  const loop: Loop = createLoop({
    name: 'volumes-in-use',
    clock: ports.clock,
    random: ports.random,
    log: ports.log,
    backoff: { startMs: 200, maxMs: 10_000, jitter: 0.1 },
    async reconcile(_key, { signal }) {
      reported ??= new Set(ports.node.get(nodeName)?.status?.volumesInUse ?? []);
      const wanted = new Set([...ports.inUse(), ...claimed.keys()]);
      if (!ports.mayShrink()) for (const key of reported) wanted.add(key);
      if (wanted.size !== reported.size || [...wanted].some((key) => !reported?.has(key))) {
        const patch = { status: { volumesInUse: [...wanted].sort() } };
        await kube.patch(nodes, { name: nodeName }, patch, { subresource: 'status', type: 'merge', signal });
        reported = wanted;
      }
      for (const look of [...waiting]) look();
      return done;
    },
  });

  return {
    async ensure(volumeKey, signal) {
      signal.throwIfAborted();
      claimed.set(volumeKey, (claimed.get(volumeKey) ?? 0) + 1);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const look = () => {
        if (reported?.has(volumeKey)) resolve();
      };
      const stopListening = onAbort(signal, () => reject(signal.reason));
      waiting.add(look);
      look();
      if (!reported?.has(volumeKey)) loop.add(KEY);
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
    changed: () => loop.addAfter(KEY, SETTLE_MS),
    run: (signal) => loop.run(signal),
  };
}
