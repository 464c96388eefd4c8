// One cache per kind for all parts of a cluster in one process. A part gets the shared cache only of kinds that its own account
// may list and watch. For other kinds it gets an informer of its own, which the server rejects as it would reject a separate
// process.

import type { KubeObject, Resource } from '../../api/object.ts';
import type { KubeClient } from '../kube/kube.ts';
import { mayFollow } from '../kube/may-follow.ts';
import { onAbort } from '../time/on-abort.ts';
import { createInformers } from './create-informers.ts';
import type { Informer, InformerOptions, InformerPorts, Informers } from './informer.ts';
import { PartInformer } from './part-informer.ts';

export interface SharedCaches {
  /** Informers of one part; `ports.kube` is the part's own client. */
  informersFor(ports: InformerPorts & { kube: KubeClient }): Informers;
}

/** Of any kind: `of` gives the type back, from the descriptor that the view was made for. */
interface View {
  readonly resource: unknown;
  readonly options: Comparable;
  readonly informer: Pick<PartInformer<never>, 'synced' | 'release'>;
  review(): Promise<boolean>;
  connect(source: Informers): void;
}

/** Key of a cache: kind and options. */
interface Comparable extends Omit<InformerOptions<never>, 'trim'> {
  trim?: unknown;
}

/** `ports.kube` may read everything. The caches are kept until `signal` aborts. */
export function createSharedCaches(ports: InformerPorts, signal: AbortSignal): SharedCaches {
  const shared = createInformers(ports);
  shared.start(signal);
  let parts = 0;
  return { informersFor: (part) => partInformers(shared, part, `${++parts} `) };
}

function partInformers(
  shared: Informers,
  ports: InformerPorts & { kube: KubeClient },
  prefix: string,
): Informers {
  const own = createInformers(ports);
  const views: View[] = [];
  let running: AbortSignal | undefined;

  function of<T extends KubeObject>(resource: Resource<T>, options: InformerOptions<T> = {}): Informer<T> {
    // A cache with a selector is not shared.
    if (options.fieldSelector !== undefined || options.labelSelector !== undefined)
      return own.of(resource, options);
    const known = views.find((view) => view.resource === resource && isSame(view.options, options));
    if (known !== undefined) return known.informer as unknown as Informer<T>;
    const informer = new PartInformer(resource, prefix);
    const view: View = {
      resource,
      options,
      informer,
      review: () => mayFollow(ports.kube, resource, options.namespace).catch(() => false),
      connect: (source) => informer.connect(source.of(resource, options)),
    };
    views.push(view);
    if (running !== undefined) void connect([view], running);
    return informer;
  }

  /** In order of request: a caller that needs trimmed objects uses an existing cache of whole ones. */
  async function connect(asked: readonly View[], signal: AbortSignal): Promise<void> {
    const allowed = await Promise.all(asked.map((view) => view.review()));
    if (signal.aborted) return;
    for (const [i, view] of asked.entries()) view.connect(allowed[i] ? shared : own);
  }

  return {
    of,
    start(signal) {
      running = signal;
      own.start(signal);
      void connect([...views], signal);
      onAbort(signal, () => {
        for (const { informer } of views) informer.release();
      });
    },
    async synced(signal) {
      await Promise.all([own.synced(signal), ...views.map(({ informer }) => informer.synced(signal))]);
    },
  };
}

function isSame(left: Comparable, right: Comparable): boolean {
  return (
    left.namespace === right.namespace &&
    left.trim === right.trim &&
    left.resyncMs === right.resyncMs &&
    left.optional === right.optional
  );
}
