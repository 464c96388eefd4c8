// Test support: a watch of one kind that lags as long as the test wants it to.

import type { KubeObject, Resource } from '../../../api/object.ts';
import type { KubeClient } from '../../kube/kube.ts';
import { KubeError } from '../../kube/kube-error.ts';

export interface Lagging {
  faults(kube: KubeClient): KubeClient;
  /** From now on nothing of the kind comes through. */
  hold(): void;
  /** Everything that was held comes through, and what follows too. */
  release(): void;
  /** What was held is lost: the watch ends with "410 Expired", and whoever watches has to list again. */
  expire(): void;
  readonly isHeld: boolean;
}

export function lagging<K extends KubeObject>(resource: Resource<K>): Lagging {
  let held: PromiseWithResolvers<void> | undefined;
  async function* watch<T extends KubeObject>(
    kube: KubeClient,
    kind: Resource<T>,
    options: Parameters<KubeClient['watch']>[1],
  ) {
    for await (const event of kube.watch(kind, options)) {
      if (kind.plural === resource.plural) await held?.promise;
      yield event;
    }
  }
  return {
    faults: (kube) => ({ ...kube, watch: (kind, options) => watch(kube, kind, options) }),
    hold() {
      held ??= Promise.withResolvers();
    },
    release() {
      held?.resolve();
      held = undefined;
    },
    expire() {
      // Nobody may have been waiting for it.
      held?.promise.catch(() => {});
      held?.reject(new KubeError({ reason: 'Expired', code: 410, message: 'too old resource version' }));
      held = undefined;
    },
    get isHeld() {
      return held !== undefined;
    },
  };
}
