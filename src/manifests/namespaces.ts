// The namespaces of a deployment, each with the strictest Pod Security level that its pods meet. Pure.

import type { Manifest, Plan } from './plan.ts';

export type SecurityLevel = 'restricted' | 'baseline' | 'privileged';

export const namespaceObject = (name: string, level: SecurityLevel): Manifest => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: { 'pod-security.kubernetes.io/enforce': level } },
});

/** The node pods are privileged, and with them their namespace; the controller's can be stricter when it is another one. */
export function namespaceObjects(plan: Plan): Manifest[] {
  const { namespace, nodeNamespace, controllerUser } = plan;
  if (!plan.makesNamespace) return [];
  const ofNodes = namespaceObject(nodeNamespace, 'privileged');
  if (nodeNamespace === namespace) return [ofNodes];
  return [namespaceObject(namespace, controllerUser === undefined ? 'baseline' : 'restricted'), ofNodes];
}
