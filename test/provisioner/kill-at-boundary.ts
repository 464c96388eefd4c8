// Ends a provisioner before or after its n-th call to the API server or the driver, as kill -9 would: from then on
// nothing of it reaches anybody. Calls that only follow the cluster (lists and watches) do not count.

import type { KubeClient } from '../../src/runtime/kube/kube.ts';
import type { Ends } from './world.ts';

export interface Boundaries {
  through(ends: Ends): Ends;
  /** Where it was ended, as in `after patch persistentvolumeclaims`; undefined when it never came that far. */
  readonly hit: string | undefined;
  readonly reached: Promise<void>;
  /** Calls that were begun after the end and reached somebody. */
  readonly late: readonly string[];
}

/** `at` counts both sides of every call, from 0. Without `hangs` the code goes on after it was told to stop. */
export function killAtBoundary(at: number, kill: () => void, { hangs = true } = {}): Boundaries {
  const late: string[] = [];
  let next = 0;
  let hit: string | undefined;
  const reached = Promise.withResolvers<void>();
  const never = new Promise<never>(() => {});

  /** Hangs for ever once dead, as a process that is gone does. */
  async function pass(what: string): Promise<void> {
    if (hit !== undefined) {
      if (hangs) await never;
      return;
    }
    if (next++ !== at) return;
    hit = what;
    kill();
    reached.resolve();
    if (hangs) await never;
  }
  async function around<T>(what: string, call: () => Promise<T>): Promise<T> {
    const isLate = hit !== undefined;
    await pass(`before ${what}`);
    const answer = await call();
    if (isLate) late.push(what);
    await pass(`after ${what}`);
    return answer;
  }

  return {
    get hit() {
      return hit;
    },
    reached: reached.promise,
    late,
    through({ kube, csi }) {
      const counted = ['get', 'create', 'update', 'patch', 'delete'] as const;
      const client = Object.create(kube) as KubeClient;
      for (const verb of counted) {
        const call = (kube[verb] as (...given: unknown[]) => Promise<unknown>).bind(kube);
        Object.assign(client, {
          [verb]: (resource: { plural: string }, ...rest: unknown[]) =>
            // Events are said on the side and nobody waits for them.
            resource.plural === 'events'
              ? hit === undefined
                ? call(resource, ...rest)
                : never
              : around(`${verb} ${resource.plural}`, () => call(resource, ...rest)),
        });
      }
      return {
        kube: client,
        csi: { call: (method, ...rest) => around(method.name, () => csi.call(method, ...rest)) },
      };
    },
  };
}
