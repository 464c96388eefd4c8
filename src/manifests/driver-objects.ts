// All objects of a driver's deployment, by part, in the order of installation: nodes before the controller, since the
// provisioner reads their topology.

import { accessObjects, csiDriverObjects } from './access.ts';
import { controllerObjects } from './controller.ts';
import { nodeObjects } from './node.ts';
import type { Manifest, Plan } from './plan.ts';

export const PARTS = ['access', 'csidriver', 'node', 'controller'] as const;
export type Part = (typeof PARTS)[number];

export async function driverObjects(plan: Plan): Promise<Record<Part, Manifest[]>> {
  return {
    access: await accessObjects(plan),
    csidriver: csiDriverObjects(plan),
    node: nodeObjects(plan),
    controller: controllerObjects(plan),
  };
}
