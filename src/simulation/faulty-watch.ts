// One watch of a process: it can be late, fall silent, be dropped, or have expired (410).

import type { KubeObject, Resource } from '../api/object.ts';
import type { WatchEvent, WatchOptions } from '../runtime/kube/kube.ts';
import { KubeError } from '../runtime/kube/kube-error.ts';
import type { Random, Timer } from '../runtime/ports.ts';
import { onAbort } from '../runtime/time/on-abort.ts';
import type { KubeLink } from './faulty-kube.ts';
import { never } from './sim-process.ts';

type Result<T extends KubeObject> = IteratorResult<WatchEvent<T>, undefined>;

const OVER = { done: true, value: undefined } as const;

/** Opened by the first `next`. Only one `next` may be under way. */
export class FaultyWatch<T extends KubeObject> implements AsyncIterableIterator<WatchEvent<T>, undefined> {
  readonly #link: KubeLink;
  readonly #random: Random;
  readonly #resource: Resource<T>;
  readonly #options: WatchOptions;
  readonly #timers: Timer[] = [];
  #inner: AsyncIterator<WatchEvent<T>, undefined> | undefined;
  #unlisten: (() => void) | undefined;
  #arrival: Timer | undefined;
  #lagMs = 0;
  #stallMs = 0;
  #isSilent = false;
  #isOver = false;
  #broken: KubeError | undefined;
  #seenAtMs = -1;
  #resolve: (result: Result<T>) => void = () => {};
  #reject: (error: unknown) => void = () => {};

  constructor(link: KubeLink, random: Random, resource: Resource<T>, options: WatchOptions) {
    this.#link = link;
    this.#random = random;
    this.#resource = resource;
    this.#options = options;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Result<T>> {
    if (!this.#link.process.alive) return never();
    return new Promise((resolve, reject) => {
      if (this.#broken) throw this.#broken;
      if (this.#isOver) return resolve(OVER);
      if (this.#inner === undefined) this.#open();
      const { process, mayPause } = this.#link;
      this.#resolve = mayPause ? (result) => process.notice(() => resolve(result)) : resolve;
      this.#reject = mayPause ? (error) => process.notice(() => reject(error)) : reject;
      this.#inner?.next().then(this.#sent, this.#failed);
    });
  }

  async return(): Promise<Result<T>> {
    this.#close();
    return this.#link.process.alive ? OVER : never();
  }

  #open(): void {
    const { process, clock, faults, inner } = this.#link;
    const { plural } = this.#resource;
    const { signal } = this.#options;
    signal?.throwIfAborted();
    const { fault, afterMs, forMs } = faults.watch(process.name, plural) ?? {};
    if (fault === 'watch-expired') {
      const message = `watch ${plural}: too old resource version`;
      throw new KubeError({ reason: 'Expired', code: 410, message });
    }
    const random = this.#random;
    this.#lagMs = fault === 'watch-late' ? 50 + random.int(3000) : 1 + random.int(30);
    const drawnAtMs = 500 + random.int(60_000);
    this.#stallMs = 5_000 + random.int(60_000);
    const troubleAtMs = afterMs ?? drawnAtMs;
    if (forMs !== undefined && fault === 'watch-late') this.#lagMs = forMs;
    if (forMs !== undefined && fault === 'watch-stalled') this.#stallMs = forMs;
    if (fault === 'watch-dropped') this.#timers.push(clock.setTimeout(this.#breakOff, troubleAtMs));
    if (fault === 'watch-stalled') {
      this.#timers.push(
        clock.setTimeout(() => {
          this.#isSilent = true;
        }, troubleAtMs),
        clock.setTimeout(this.#breakOff, troubleAtMs + this.#stallMs),
      );
    }
    if (signal) {
      this.#unlisten = onAbort(signal, () => {
        this.#close();
        if (process.alive) this.#reject(signal.reason);
      });
    }
    this.#inner = inner.watch(this.#resource, this.#options)[Symbol.asyncIterator]() as AsyncIterator<
      WatchEvent<T>,
      undefined
    >;
  }

  /** The server has sent something: it arrives later, with everything else that was sent meanwhile. */
  readonly #sent = (result: Result<T>): void => {
    if (this.#isOver) return;
    if (result.done) {
      this.#close();
      this.#resolve(result);
    } else if (this.#link.clock.monotonicMs() === this.#seenAtMs) this.#arrive(result);
    else this.#arrival = this.#link.clock.setTimeout(() => this.#arrive(result), this.#lagMs);
  };

  #arrive(result: Result<T>): void {
    const { clock, process } = this.#link;
    if (this.#isSilent) {
      this.#arrival = clock.setTimeout(() => this.#arrive(result), this.#stallMs);
      return;
    }
    this.#seenAtMs = clock.monotonicMs();
    if (process.alive) this.#resolve(result);
  }

  readonly #failed = (error: unknown): void => {
    if (this.#isOver) return;
    this.#close();
    if (this.#link.process.alive) this.#reject(error);
  };

  readonly #breakOff = (): void => {
    const message = `watch ${this.#resource.plural}: the connection was lost`;
    this.#broken = new KubeError({ reason: 'Unreachable', code: 0, message });
    this.#close();
    this.#reject(this.#broken);
  };

  #close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#unlisten?.();
    this.#arrival?.cancel();
    for (const timer of this.#timers) timer.cancel();
    void this.#inner?.return?.();
  }
}
