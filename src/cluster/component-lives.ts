// The components of a cluster as processes that can be crashed one by one, although they share one. A crash cuts a component
// off from the API server, the drivers, files and time for ever, and builds a new one from nothing. What it had in memory is
// lost. The caches of API objects are shared and stay, as if the new one had listed at once.

import type { Clock, Log } from '../runtime/ports.ts';
import { MortalProcess } from '../runtime/process/mortal-process.ts';
import { onAbort } from '../runtime/time/on-abort.ts';
import { untilAborted } from '../runtime/time/until-aborted.ts';
import { OwnedTimers } from './owned-timers.ts';

export interface Component {
  /** `provisioner`, `node-1`, `scheduler`. */
  readonly name: string;
  /** Of a sidecar. */
  readonly driver?: string;
}

/** As fast as a kubelet starts a container again the first time. */
const RESTART_MS = 500;

export class ComponentLives {
  readonly #ports: { clock: Clock; log: Log };
  readonly #running = new Map<MortalProcess, Component & { crash(): void }>();
  readonly #known = new Map<string, Component>();
  /** Names of components that are not to start again, and who waits for that. */
  readonly #held = new Map<string, PromiseWithResolvers<void>>();

  constructor(ports: { clock: Clock; log: Log }) {
    this.#ports = ports;
  }

  /** All components that have run. */
  names(): string[] {
    return [...new Set([...this.#known.values()].map(({ name }) => name))].sort();
  }

  /** Runs `live` until it ends or `signal` aborts; again from nothing whenever the component was crashed. */
  async run(
    component: Component,
    signal: AbortSignal,
    live: (process: MortalProcess) => Promise<void>,
  ): Promise<void> {
    const { clock, log } = this.#ports;
    this.#known.set(`${component.name} ${component.driver ?? ''}`, component);
    for (;;) {
      const timers = new OwnedTimers(clock);
      const process = new MortalProcess(component.name, timers);
      const crashed = Promise.withResolvers<'crashed'>();
      const crash = (): void => {
        this.#running.delete(process);
        process.crash();
        timers.cancelAll();
        crashed.resolve('crashed');
      };
      this.#running.set(process, { ...component, crash });
      const forget = onAbort(signal, () => process.stop());
      if (signal.aborted) process.stop();
      try {
        const lived = live(process);
        lived.catch(() => {});
        if ((await Promise.race([lived, crashed.promise])) !== 'crashed') return;
      } finally {
        forget();
        this.#running.delete(process);
      }
      log.warn('A component was crashed on purpose; starting it again', { ...component });
      await clock.sleep(RESTART_MS, signal);
      await untilAborted(this.#held.get(component.name)?.promise ?? Promise.resolve(), signal);
    }
  }

  /** False when no such component runs. */
  crash(name: string, driver?: string): boolean {
    const hit = [...this.#running.values()].filter(
      (each) => each.name === name && (driver === undefined || each.driver === driver),
    );
    for (const each of hit) each.crash();
    return hit.length > 0;
  }

  /** Crashes it, and does not start it again until `release`. */
  hold(name: string): boolean {
    if (!this.#held.has(name)) this.#held.set(name, Promise.withResolvers());
    return this.crash(name);
  }

  release(name: string): boolean {
    const held = this.#held.get(name);
    this.#held.delete(name);
    held?.resolve();
    return held !== undefined;
  }

  releaseAll(): void {
    for (const name of [...this.#held.keys()]) this.release(name);
  }
}
