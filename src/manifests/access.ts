// Service accounts and bindings: one account for the controller pod, bound to the published roles of its sidecars only,
// and one without rights for the node pods. Also the CSIDriver object, by which the driver declares its needs to
// Kubernetes.

import type { CSIDriverSpec } from 'kubernetes-types/storage/v1.js';
import { namespaceObjects } from './namespaces.ts';
import { baseName, controllerName, labelsOf, type Manifest, nodeName, type Plan } from './plan.ts';
import { publishedRbac, RBAC_COMPONENTS } from './published-rbac.ts';

export async function accessObjects(plan: Plan): Promise<Manifest[]> {
  const { namespace, secrets } = plan;
  const account = (component: 'controller' | 'node', at: { name: string; namespace: string }) => ({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { ...at, labels: labelsOf(plan, component) },
  });
  const isAudited = plan.arguments('sidecars').some((argument) => /^--?audit-interval\b/.test(argument));
  const components = RBAC_COMPONENTS.filter(
    (component) => plan.sidecars.includes(component) || (component === 'audit' && isAudited),
  );
  const roles = await publishedRbac({
    components,
    namespace,
    secrets: components.length === 0 ? 'none' : secrets,
    serviceAccount: controllerName(plan),
    suffix: baseName(plan),
  });
  return [
    ...namespaceObjects(plan),
    ...(plan.controller === 'none'
      ? []
      : [
          account('controller', { name: controllerName(plan), namespace }),
          ...roles.filter(({ kind }) => kind !== 'ServiceAccount'),
        ]),
    account('node', { name: nodeName(plan), namespace: plan.nodeNamespace }),
  ];
}

export function csiDriverObjects(plan: Plan): Manifest[] {
  // The cluster-registrar creates it.
  if (plan.sidecars.includes('cluster-registrar')) return [];
  const { csiDriver } = plan;
  const spec: CSIDriverSpec = {
    attachRequired: plan.sidecars.includes('attacher'),
    podInfoOnMount: csiDriver.podInfo,
    fsGroupPolicy: csiDriver.fsGroupPolicy,
    volumeLifecycleModes: [...csiDriver.lifecycleModes],
    storageCapacity: csiDriver.storageCapacity,
    requiresRepublish: csiDriver.requiresRepublish,
    ...(csiDriver.seLinuxMount && { seLinuxMount: true }),
    ...(csiDriver.tokenAudiences.length > 0 && {
      tokenRequests: csiDriver.tokenAudiences.map((audience) => ({ audience })),
    }),
  };
  const metadata = { name: plan.driverName };
  return [{ apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata, spec }];
}
