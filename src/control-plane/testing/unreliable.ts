// Test support: a connection that loses some requests and some responses, until it is turned off.

import type { KubeClient } from '../../runtime/kube/kube.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { Random } from '../../runtime/ports.ts';

const FAULTY: readonly PropertyKey[] = ['create', 'update', 'patch', 'delete', 'get', 'createSubresource'];

const unreachable = () =>
  new KubeError({ reason: 'Unreachable', code: 0, message: 'the connection broke off' });

export interface Unreliable {
  faults(kube: KubeClient): KubeClient;
  stop(): void;
}

export function unreliable(random: Random): Unreliable {
  let isOn = true;
  return {
    faults: (kube) =>
      new Proxy(kube, {
        get(target, property, receiver) {
          const method = Reflect.get(target, property, receiver);
          if (!FAULTY.includes(property)) return method;
          return async (...args: unknown[]) => {
            const fate = isOn ? random.next() : 1;
            if (fate < 0.1) throw unreachable();
            const answer = await method.apply(target, args);
            if (fate < 0.25) throw unreachable();
            return answer;
          };
        },
      }),
    stop() {
      isOn = false;
    },
  };
}
