// What protects the pods of a deployment: a PodDisruptionBudget where there are several replicas, and a NetworkPolicy that
// lets in only the ports that the containers declare. Pure.

import type { PodTemplateSpec } from 'kubernetes-types/core/v1.js';
import type { Manifest } from './plan.ts';

/** The workload that is protected: its name, namespace and labels are those of the policies. */
export interface Workload {
  metadata: { name: string; namespace: string; labels: Record<string, string> };
  replicas: number;
}

/** A drained node takes one replica at a time, so that a standby remains. */
export function disruptionBudgets({ metadata, replicas }: Workload): Manifest[] {
  if (replicas < 2) return [];
  const spec = { maxUnavailable: 1, selector: { matchLabels: metadata.labels } };
  return [{ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata, spec }];
}

/**
 * Outgoing traffic is not limited: neither the address of the storage nor that of the API server is known here. A pod in the
 * host's network has none, since policies do not apply to it.
 */
export function networkPolicies(
  metadata: Workload['metadata'],
  { spec }: PodTemplateSpec,
  driverPorts: readonly number[] = [],
): Manifest[] {
  if (spec?.hostNetwork) return [];
  const declared = spec?.containers.flatMap(({ ports = [] }) =>
    ports.map(({ containerPort }) => containerPort),
  );
  const ports = [...(declared ?? []), ...driverPorts].map((port) => ({ port, protocol: 'TCP' }));
  return [
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata,
      spec: {
        podSelector: { matchLabels: metadata.labels },
        policyTypes: ['Ingress'],
        // Without a rule nothing is let in; a rule without ports would let in everything.
        ...(ports.length > 0 && { ingress: [{ ports }] }),
      },
    },
  ];
}
