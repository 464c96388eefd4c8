// For tests: a sidecar that crashes at one boundary. The call does not go out, or its answer is not seen, and no other
// call goes out. Writes and CSI calls count; Events are told beside the work, and may be lost.

import { events } from '../../api/kinds.ts';
import type { Resource } from '../../api/object.ts';
import type { CsiTransport } from '../../csi/client/transport.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';

export class Crash {
  readonly #at: number;
  readonly #when: 'before' | 'after';
  #calls = 0;
  #crashed = false;
  readonly happened = Promise.withResolvers<void>();

  constructor(at: number, when: 'before' | 'after') {
    this.#at = at;
    this.#when = when;
  }

  get calls(): number {
    return this.#calls;
  }

  async during<T>(call: () => Promise<T>): Promise<T> {
    const isNow = this.#calls++ === this.#at;
    if (this.#crashed || (isNow && this.#when === 'before')) return this.#crash();
    const answer = await call();
    return isNow || this.#crashed ? this.#crash() : answer;
  }

  /** A crashed process sees nothing any more. */
  #crash(): Promise<never> {
    this.#crashed = true;
    this.happened.resolve();
    return new Promise(() => {});
  }

  kube(kube: KubeClient): KubeClient {
    return {
      ...kube,
      create: (...args: Parameters<KubeClient['create']>) =>
        isEvent(args[0]) ? kube.create(...args) : this.during(() => kube.create(...args)),
      patch: (...args: Parameters<KubeClient['patch']>) =>
        isEvent(args[0]) ? kube.patch(...args) : this.during(() => kube.patch(...args)),
      delete: (...args: Parameters<KubeClient['delete']>) => this.during(() => kube.delete(...args)),
    } as KubeClient;
  }

  csi(csi: CsiTransport): CsiTransport {
    return {
      call: (...args: Parameters<CsiTransport['call']>) => this.during(() => csi.call(...args)),
    } as CsiTransport;
  }
}

const isEvent = ({ plural }: Resource): boolean => plural === events.plural;
