// The informers of one process: the same resource with the same options is one informer, whoever asks. Owns their
// lifetime; what they do is in shared-informer.ts.

import type { KubeObject, Resource } from '../../api/object.ts';
import type { Informer, InformerOptions, InformerPorts, Informers } from './informer.ts';
import { SharedInformer } from './shared-informer.ts';

interface Entry {
  readonly options: InformerOptions<never>;
  // One list holds informers of every kind; `of` gives the type back, from the descriptor it was made for.
  readonly informer: SharedInformer<never>;
}

export function createInformers(ports: InformerPorts): Informers {
  const entries: Entry[] = [];
  let running: AbortSignal | undefined;

  function all(): SharedInformer<never>[] {
    return entries.map((entry) => entry.informer);
  }

  function of<T extends KubeObject>(resource: Resource<T>, options: InformerOptions<T> = {}): Informer<T> {
    const alike = entries.filter(
      (entry) => isSameKind(entry.informer.resource, resource) && isSameSelection(entry.options, options),
    );
    const known =
      alike.find(
        (entry) => entry.options.trim === options.trim && isOptional(entry.options) === isOptional(options),
      ) ??
      // A caller that needs trimmed objects can use an existing cache of whole ones.
      alike.find((entry) => entry.options.trim === undefined && !isOptional(entry.options));
    if (known !== undefined) return known.informer as unknown as Informer<T>;
    const informer = new SharedInformer(resource, options, ports);
    entries.push({
      options: options as unknown as InformerOptions<never>,
      informer: informer as unknown as SharedInformer<never>,
    });
    if (running !== undefined) void informer.run(running);
    return informer;
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

function isSameKind(a: Resource, b: Resource): boolean {
  return a === b || (a.plural === b.plural && a.group === b.group && a.version === b.version);
}

function isSameSelection<T extends KubeObject>(a: InformerOptions<never>, b: InformerOptions<T>): boolean {
  return (
    (a.namespace ?? '') === (b.namespace ?? '') &&
    (a.labelSelector ?? '') === (b.labelSelector ?? '') &&
    (a.fieldSelector ?? '') === (b.fieldSelector ?? '') &&
    (a.resyncMs ?? 0) === (b.resyncMs ?? 0)
  );
}

function isOptional<T extends KubeObject>({ optional = false }: InformerOptions<T>): boolean {
  return optional;
}
