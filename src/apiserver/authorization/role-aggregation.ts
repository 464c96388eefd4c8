// Writes the aggregated rules into each aggregated ClusterRole, for users. Nothing depends on it: the authorizer
// computes them itself.

import { clusterRoles } from '../../api/kinds.ts';
import { sameJson } from '../../api/same-json.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isConflict, isNotFound } from '../../runtime/kube/kube-error.ts';
import type { Log } from '../../runtime/ports.ts';
import type { Reader } from '../pipeline.ts';
import type { PolicyRule } from './policy-rules.ts';
import { effectiveRules } from './role-index.ts';

/** Aggregated roles whose stored rules are out of date. */
function staleAggregations(reader: Reader): { name: string; rules: readonly PolicyRule[] }[] {
  const stale: { name: string; rules: readonly PolicyRule[] }[] = [];
  const all = [...reader.list(clusterRoles)];
  for (const role of all) {
    if (!role.aggregationRule) continue;
    const rules = effectiveRules(role, all);
    if (!sameJson(rules, role.rules ?? [])) stale.push({ name: role.metadata.name, rules });
  }
  return stale;
}

/**
 * `client` may change any ClusterRole; `isDone`: nothing is to do until a role changes. Returns a function that stops
 * it.
 */
export function followRoleAggregation(ports: {
  reader: Reader;
  client: KubeClient;
  log: Log;
  isDone: boolean;
}): () => void {
  const { reader, client, log } = ports;
  let isRunning = false;
  let isStale = !ports.isDone;
  let isOver = false;

  async function bringUpToDate(): Promise<void> {
    if (isRunning) return;
    isRunning = true;
    while (isStale && !isOver) {
      isStale = false;
      for (const { name, rules } of staleAggregations(reader)) {
        try {
          await client.patch(clusterRoles, { name }, { rules }, { type: 'merge' });
        } catch (error) {
          // On a conflict the other write causes a change event, which triggers the next run.
          if (isNotFound(error) || isConflict(error) || isOver) continue;
          log.error('the rules of an aggregated role were not written', error, { clusterRole: name });
        }
      }
    }
    isRunning = false;
  }

  const unsubscribe = reader.subscribe(clusterRoles, () => {
    isStale = true;
    void bringUpToDate();
  });
  void bringUpToDate();
  return () => {
    isOver = true;
    unsubscribe();
  };
}
