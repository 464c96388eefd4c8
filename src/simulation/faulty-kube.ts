// The connection of one process to the API server: every request takes time, and can be lost before or after it took
// effect, be refused, or kill its process. Records writes. Watches are in faulty-watch.ts.

import { keyOf, type ObjectName, type Resource } from '../api/object.ts';
import type { Discovery, KubeClient, KubeList } from '../runtime/kube/kube.ts';
import { KubeError } from '../runtime/kube/kube-error.ts';
import type { Clock, Random } from '../runtime/ports.ts';
import { onAbort } from '../runtime/time/on-abort.ts';
import type { Faults, KubeFault } from './faults.ts';
import { FaultyWatch } from './faulty-watch.ts';
import type { History } from './history.ts';
import { never, type SimProcess } from './sim-process.ts';

export interface KubeLink {
  inner: KubeClient & Discovery;
  process: SimProcess;
  clock: Clock;
  random: Random;
  faults: Faults;
  history: History;
  /** Requests about leases go unanswered while everything else works, so that a leader loses its lease while it works. */
  isStalled(): boolean;
  /** Kills the process now; it is restarted later. */
  crash(): void;
  /** Processes are paused in this world. */
  mayPause?: boolean;
}

/** A stopping process may still release its lease and write events. */
const ALLOWED_AT_THE_END = new Set(['leases', 'events']);

export function faultyKube(link: KubeLink): KubeClient & Discovery {
  const { inner, process, clock, random, faults, history } = link;
  const detail = faults.stream(`kube-detail/${process.name}`);
  const strikes = faults.kube(process.name);

  /** A paused process gets its answers when it goes on. */
  function carry<T>(
    verb: string,
    resource: Resource,
    name: ObjectName | undefined,
    signal: AbortSignal | undefined,
    effect: () => Promise<T>,
  ): Promise<T> {
    const carried = carryNow(verb, resource, name, signal, effect);
    if (!link.mayPause) return carried;
    return new Promise((resolve, reject) => {
      carried.then(
        (answer) => process.notice(() => resolve(answer)),
        (error: unknown) => process.notice(() => reject(error)),
      );
    });
  }

  async function carryNow<T>(
    verb: string,
    resource: Resource,
    name: ObjectName | undefined,
    signal: AbortSignal | undefined,
    effect: () => Promise<T>,
  ): Promise<T> {
    if (!process.alive) return never();
    signal?.throwIfAborted();
    const { plural } = resource;
    const writes = verb !== 'get' && verb !== 'list';
    if (process.stopping && writes && !ALLOWED_AT_THE_END.has(plural)) {
      const what = textOf(verb, plural, name);
      history.violate('acts-after-stop', `${process.name} was told to stop and began: ${what}`);
    }
    const fault = strikes(verb, plural);
    if (plural === 'leases' && link.isStalled()) {
      await clock.sleep(4000, signal);
      throw unreachable(textOf(verb, plural, name));
    }
    const delayMs = fault === 'kube-slow' ? 1000 + random.int(9000) : 1 + random.int(12);
    const isSent = random.next() < 0.5;
    const isNoted = writes && plural !== 'leases' && plural !== 'events';
    await onTheWay(delayMs, signal, () => {
      // Already sent when its sender gave up.
      if (!isSent || !writes) return;
      if (isNoted) note(verb, plural, name, 'given up, took effect');
      effect().catch(() => {});
    });
    if (fault !== undefined) failBefore(fault, verb, plural, name, isNoted);
    if (fault === 'kube-crash-before') return never();
    let result: T;
    try {
      result = await effect();
    } catch (error) {
      if (isNoted) note(verb, plural, name, error instanceof KubeError ? error.reason : String(error));
      if (!process.alive) return never();
      throw error;
    }
    if (fault === 'kube-crash-after') {
      if (isNoted) note(verb, plural, name, 'done, then crashed');
      link.crash();
      return never();
    }
    if (fault === 'kube-lost-after') {
      if (isNoted) note(verb, plural, name, 'done, answer lost');
      throw unreachable(textOf(verb, plural, name));
    }
    if (isNoted) note(verb, plural, name, 'done');
    return process.alive ? result : never();
  }

  function note(verb: string, plural: string, name: ObjectName | undefined, outcome: string): void {
    const key = name ? keyOf({ metadata: name }) : '';
    history.add({ kind: 'write', actor: process.name, verb, plural, key, outcome });
  }

  /** Throws the error that the process sees, where the request never arrived. */
  function failBefore(
    fault: KubeFault,
    verb: string,
    plural: string,
    name: ObjectName | undefined,
    isNoted: boolean,
  ): void {
    const what = textOf(verb, plural, name);
    if (fault === 'kube-crash-before') link.crash();
    else if (fault === 'kube-lost-before') {
      if (isNoted) note(verb, plural, name, 'lost before');
      throw unreachable(what);
    } else if (fault === 'kube-429') {
      const message = `${what}: too many requests`;
      throw new KubeError({
        reason: 'TooManyRequests',
        code: 429,
        message,
        details: { retryAfterSeconds: 1 },
      });
    } else if (fault === 'kube-conflict' && (verb === 'update' || verb === 'patch')) {
      if (isNoted) note(verb, plural, name, 'conflict');
      const message = `Operation cannot be fulfilled on ${what}: the object has been modified`;
      throw new KubeError({ reason: 'Conflict', code: 409, message });
    }
  }

  /** Rejects at once when `signal` aborts; `abandoned` then decides whether the request still takes effect. */
  function onTheWay(delayMs: number, signal: AbortSignal | undefined, abandoned: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const stopListening =
        signal &&
        onAbort(signal, () => {
          timer.cancel();
          if (!process.alive) return;
          clock.setTimeout(abandoned, delayMs);
          reject(signal.reason);
        });
      const timer = clock.setTimeout(() => {
        stopListening?.();
        if (process.alive) resolve();
      }, delayMs);
    });
  }

  return {
    get: (resource, name, options) =>
      carry('get', resource, name, options?.signal, () => inner.get(resource, name)),
    list: (resource, options = {}) => {
      const { signal, ...rest } = options;
      return carry('list', resource, undefined, signal, () => inner.list(resource, rest)) as Promise<
        KubeList<never>
      >;
    },
    watch: (resource, options = {}) => new FaultyWatch(link, detail, resource, options),
    create: (resource, object, options = {}) => {
      const { signal, ...rest } = options;
      return carry('create', resource, object.metadata as ObjectName, signal, () =>
        inner.create(resource, object, rest),
      );
    },
    update: (resource, object, options = {}) => {
      const { signal, ...rest } = options;
      return carry('update', resource, object.metadata as ObjectName, signal, () =>
        inner.update(resource, object, rest),
      );
    },
    patch: (resource, name, patch, options) => {
      const { signal, known, ...rest } = options;
      return carry('patch', resource, name, signal, async () => {
        const answer = await inner.patch(resource, name, patch, rest);
        // As over HTTP, where only the metadata of such an answer is read.
        return known === undefined ? answer : ({ ...known, metadata: answer.metadata } as typeof answer);
      });
    },
    delete: (resource, name, options = {}) => {
      const { signal, ...rest } = options;
      return carry('delete', resource, name, signal, () => inner.delete(resource, name, rest));
    },
    deleteCollection: (resource, selection, options = {}) => {
      const { signal, ...rest } = options;
      return carry('deletecollection', resource, undefined, signal, () =>
        inner.deleteCollection(resource, selection, rest),
      );
    },
    createSubresource: (resource, name, subresource, body, options = {}) => {
      const { signal, ...rest } = options;
      return carry(`create ${subresource} of`, resource, name, signal, () =>
        inner.createSubresource(resource, name, subresource, body, rest),
      );
    },
    servedResources: () => inner.servedResources(),
  };
}

function textOf(verb: string, plural: string, name: ObjectName | undefined): string {
  return `${verb} ${plural} ${name ? keyOf({ metadata: name }) : ''}`;
}

function unreachable(what: string): KubeError {
  return new KubeError({ reason: 'Unreachable', code: 0, message: `${what}: the connection was lost` });
}
