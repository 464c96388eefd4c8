// Writes the usage of each ResourceQuota into its status, for users: admission counts usage itself. Watches quotas and
// claims; writes `status` of quotas. Only resources about claims are counted.

import {
  addUsage,
  claimUsage,
  countsClaims,
  isAboutClaims,
  NO_USAGE,
  type Usage,
} from '../../api/claim-quota.ts';
import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type ResourceQuota,
  resourceQuotas,
} from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { formatQuantity } from '../../api/quantity.ts';
import { sameJson } from '../../api/same-json.ts';
import { ifThere } from '../../runtime/kube/if-there.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import { done } from '../../runtime/queue/loop.ts';
import { cachesSynced } from '../caches-synced.ts';
import type { Controller, ControllerPorts } from '../controller.ts';

const WORKERS = 5;
const BACKOFF = { startMs: 50, maxMs: 60_000 };
const QUOTAS_IN = 'resource-quota/quotas-by-namespace';
const CLAIMS_IN = 'resource-quota/claims-by-namespace';

const namespaceOf = ({ metadata }: ResourceQuota | PersistentVolumeClaim): string => metadata.namespace ?? '';

export function createResourceQuota(ports: ControllerPorts): Controller {
  const { kube, informers } = ports;
  const log = ports.log.with({ controller: 'resourcequota' });
  const quotas = informers.of(resourceQuotas);
  const claims = informers.of(persistentVolumeClaims);
  quotas.addIndex(QUOTAS_IN, (quota) => [namespaceOf(quota)]);
  claims.addIndex(CLAIMS_IN, (claim) => [namespaceOf(claim)]);

  const loop = createLoop({
    ...ports,
    log,
    name: 'resource-quota',
    workers: WORKERS,
    backoff: BACKOFF,
    async reconcile(key, { signal }) {
      const quota = quotas.get(key);
      if (!quota) return done;
      const status = statusOf(quota, claims.byIndex(CLAIMS_IN, namespaceOf(quota)));
      if (sameJson(status, quota.status ?? {})) return done;
      await ifThere(kube.update(resourceQuotas, { ...quota, status }, { subresource: 'status', signal }));
      return done;
    },
  });

  const look = (quota: ResourceQuota): void => loop.add(keyOf(quota));
  const lookIn = (namespace: string): void => {
    for (const quota of quotas.byIndex(QUOTAS_IN, namespace)) look(quota);
  };
  quotas.subscribe({ added: look, updated: (_before, after) => look(after) });
  claims.subscribe({
    added: (claim) => lookIn(namespaceOf(claim)),
    updated: (_before, claim) => lookIn(namespaceOf(claim)),
    deleted: (claim) => lookIn(namespaceOf(claim)),
  });

  return {
    name: 'resourcequota-controller',
    async run(signal) {
      if (await cachesSynced([quotas, claims], signal)) await loop.run(signal);
    },
  };
}

function statusOf(
  quota: ResourceQuota,
  claims: Iterable<PersistentVolumeClaim>,
): NonNullable<ResourceQuota['status']> {
  const { hard = {} } = quota.spec ?? {};
  let usage: Usage = NO_USAGE;
  if (isAboutClaims(quota)) for (const claim of claims) usage = addUsage(usage, claimUsage(claim));
  const used = Object.keys(hard)
    .filter(countsClaims)
    .map((name) => {
      const amount = usage.get(name);
      return [name, amount ? formatQuantity(amount) : '0'];
    });
  return { hard, used: Object.fromEntries(used) };
}
