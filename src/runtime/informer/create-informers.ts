// The informers of one process: the same resource with the same options is one informer, whoever asks. Owns their
// lifetime; what they do is in shared-informer.ts.

import type { KubeObject, Resource } from '../../api/object.ts';
import type { Informer, InformerOptions, Informers } from '../informer.ts';
import { type InformerPorts, SharedInformer } from './shared-informer.ts';

interface Entry {
  readonly trim: unknown;
  // One map holds informers of every kind; `of` gives the type back, from the descriptor it was made for.
  readonly informer: SharedInformer<never>;
}

export function createInformers(ports: InformerPorts): Informers {
  const entries = new Map<string, Entry[]>();
  let running: AbortSignal | undefined;

  function all(): SharedInformer<never>[] {
    return [...entries.values()].flat().map((entry) => entry.informer);
  }

  function of<T extends KubeObject>(resource: Resource<T>, options: InformerOptions<T> = {}): Informer<T> {
    const identity = identityOf(resource, options);
    const same = entries.get(identity) ?? [];
    const known = same.find((entry) => entry.trim === options.trim) ?? fuller(resource, options);
    if (known !== undefined) return known.informer as unknown as Informer<T>;
    const informer = new SharedInformer(resource, options, ports);
    entries.set(identity, [
      ...same,
      { trim: options.trim, informer: informer as unknown as SharedInformer<never> },
    ]);
    if (running !== undefined) void informer.run(running);
    return informer;
  }

  /** Who would do with less, or without, is well served by a cache of whole objects that is there anyway. */
  function fuller<T extends KubeObject>(
    resource: Resource<T>,
    options: InformerOptions<T>,
  ): Entry | undefined {
    const { trim: _trim, optional: _optional, ...rest } = options;
    const whole = entries.get(identityOf(resource, rest))?.find((entry) => entry.trim === undefined);
    return whole ?? undefined;
  }

  return {
    of,
    start(signal) {
      if (running !== undefined) throw new Error('informers were already started');
      running = signal;
      for (const informer of all()) void informer.run(signal);
    },
    async synced(signal) {
      await Promise.all(all().map((informer) => informer.synced(signal)));
    },
  };
}

/** Functions have no text that identifies them: `trim` is compared on its own, by identity. */
function identityOf<T extends KubeObject>(resource: Resource<T>, options: InformerOptions<T>): string {
  const { group, version, plural } = resource;
  const { namespace = '', labelSelector = '', fieldSelector = '', resyncMs = 0, optional = false } = options;
  return `${group}\n${version}\n${plural}\n${namespace}\n${labelSelector}\n${fieldSelector}\n${resyncMs}\n${optional}`;
}
