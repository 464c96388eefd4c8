// The objects that a deployment of the same driver could have with other flags: what a change of flags may leave over.

import { driverObjects, PARTS, type Part } from './driver-objects.ts';
import { type OncePlan, onceObjects } from './once-per-cluster.ts';
import type { ControllerShape, Manifest, Plan } from './plan.ts';

const SHAPES: readonly ControllerShape[] = ['deployment', 'statefulset', 'daemonset'];

export async function possibleDriverObjects(
  plan: Plan,
  sidecars: readonly string[],
  parts: readonly Part[],
): Promise<Manifest[]> {
  const made = SHAPES.flatMap((controller) =>
    [plan.secrets, 'everywhere' as const].map((secrets) =>
      driverObjects({
        ...plan,
        controller,
        secrets,
        sidecars,
        replicas: 2,
        hasNetworkPolicy: true,
        hostNetwork: false,
        makesNamespace: false,
      }),
    ),
  );
  // The parts differ in where an object is: a controller's is its own part, or the nodes'.
  return (await Promise.all(made)).flatMap((objects) =>
    PARTS.filter((part) => parts.includes(part)).flatMap((part) => objects[part]),
  );
}

export const possibleOnceObjects = (plan: OncePlan): Promise<Manifest[]> =>
  onceObjects({ ...plan, replicas: 2, hasNetworkPolicy: true, makesNamespace: false });
