// PodDisruptionBudgets and NetworkPolicies, as objects, so that a deployment can be tried as it will be applied. No
// controller here counts disruptions, and evictions and traffic are not limited by them.

import type { Kind } from '../kind.ts';
import { disruptionBudgetColumns, networkPolicyColumns } from '../printing/policy-columns.ts';
import { validateDisruptionBudget, validateNetworkPolicy } from '../validation/policies.ts';
import { defineKind } from './define-kind.ts';
import { ensureMap, mapsOf, setDefault, stringsOf } from './loose.ts';

const disruptionBudgetKind = defineKind({
  group: 'policy',
  version: 'v1',
  module: 'policy/v1',
  kind: 'PodDisruptionBudget',
  plural: 'poddisruptionbudgets',
  namespaced: true,
  shortNames: ['pdb'],
  subresources: ['status'],
  columns: disruptionBudgetColumns,
  hasGeneration: true,
  validate: validateDisruptionBudget,
});

const networkPolicyKind = defineKind({
  group: 'networking.k8s.io',
  version: 'v1',
  module: 'networking/v1',
  kind: 'NetworkPolicy',
  plural: 'networkpolicies',
  namespaced: true,
  shortNames: ['netpol'],
  columns: networkPolicyColumns,
  hasGeneration: true,
  setDefaults(policy) {
    const spec = ensureMap(policy, 'spec');
    const [ingress, egress] = [mapsOf(spec.ingress), mapsOf(spec.egress)];
    if (stringsOf(spec.policyTypes).length === 0) {
      spec.policyTypes = ['Ingress', ...(egress.length > 0 ? ['Egress'] : [])];
    }
    for (const port of [...ingress, ...egress].flatMap(({ ports }) => mapsOf(ports))) {
      setDefault(port, 'protocol', 'TCP');
    }
  },
  validate: validateNetworkPolicy,
});

export const policyKinds: readonly Kind[] = [networkPolicyKind, disruptionBudgetKind];
