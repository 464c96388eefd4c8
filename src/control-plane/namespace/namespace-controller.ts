// The namespace controller: when a namespace is being deleted, deletes its contents, writes the progress as conditions,
// and removes the finalizer of its spec when nothing is left. Watches namespaces; writes these two.

import { type Namespace, namespaces } from '../../api/kinds.ts';
import { isConflict, isNotFound } from '../../runtime/kube/kube-error.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import { done, failed } from '../../runtime/queue/loop.ts';
import { cachesSynced } from '../caches-synced.ts';
import type { Controller, DiscoveringPorts } from '../controller.ts';
import { emptyNamespace } from './empty-namespace.ts';
import { isEmpty, type NamespaceContent, namespaceConditions } from './namespace-conditions.ts';

const FINALIZER = 'kubernetes';
const WORKERS = 10;
/** Most contents are gone within milliseconds; the rest wait for finalizers, whose removal sends no event here. */
const LOOK_AGAIN = { startMs: 100, maxMs: 10_000 };

export function createNamespaceController(ports: DiscoveringPorts): Controller {
  const { kube, informers, clock } = ports;
  const log = ports.log.with({ controller: 'namespace' });
  const informer = informers.of(namespaces);

  const loop = createLoop({
    ...ports,
    log,
    name: 'namespaces',
    workers: WORKERS,
    backoff: LOOK_AGAIN,
    async reconcile(name, { signal }) {
      const namespace = informer.get(name);
      if (!namespace || !isOurs(namespace)) return done;
      const content = await emptyNamespace(ports, name, signal);
      if (isEmpty(content)) {
        await finalize(name, signal);
        return done;
      }
      await report(namespace, content, signal);
      return failed({ why: 'the namespace is not empty yet', quiet: true });
    },
  });

  async function finalize(name: string, signal: AbortSignal): Promise<void> {
    try {
      const live = await kube.get(namespaces, { name }, { signal });
      if (!isOurs(live)) return;
      const finalizers = live.spec?.finalizers?.filter((each) => each !== FINALIZER) ?? [];
      const next = { ...live, spec: { ...live.spec, finalizers } };
      await kube.update(namespaces, next, { subresource: 'finalize', signal });
      log.info('A namespace is empty; removed its finalizer', { namespace: name });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** Progress for users. Nothing depends on it, so a conflict is ignored. */
  async function report(namespace: Namespace, content: NamespaceContent, signal: AbortSignal): Promise<void> {
    const now = `${new Date(clock.now()).toISOString().slice(0, 19)}Z`;
    const conditions = namespaceConditions(namespace, content, now);
    if (conditions === undefined) return;
    const next = { ...namespace, status: { ...namespace.status, conditions } };
    try {
      await kube.update(namespaces, next, { subresource: 'status', signal });
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
  }

  const look = (namespace: Namespace): void => {
    if (isOurs(namespace)) loop.add(namespace.metadata.name);
  };
  informer.subscribe({ added: look, updated: (_before, after) => look(after) });

  return {
    name: 'namespace-controller',
    async run(signal) {
      if (await cachesSynced([informer], signal)) await loop.run(signal);
    },
  };
}

/** Is being deleted and still has the finalizer that this controller removes. */
function isOurs({ metadata, spec }: Namespace): boolean {
  return metadata.deletionTimestamp !== undefined && (spec?.finalizers?.includes(FINALIZER) ?? false);
}
