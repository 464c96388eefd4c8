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
  const { namespace, nodeNamespace } = plan;
  if (!plan.makesNamespace) return [];
  const ofNodes = namespaceObject(nodeNamespace, 'privileged');
  if (nodeNamespace === namespace) return [ofNodes];
  return [namespaceObject(namespace, controllerLevel(plan)), ofNodes];
}

function controllerLevel({ controllerUser, controllerHostPaths }: Plan): SecurityLevel {
  // No other level allows volumes of the kind hostPath.
  if (controllerHostPaths.length > 0) return 'privileged';
  return controllerUser === undefined ? 'baseline' : 'restricted';
}
