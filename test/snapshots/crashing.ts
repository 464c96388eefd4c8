// For the crash tests of snapshots: the snapshot controller or the snapshotter, with a crash at one of its calls.

import type { Crash } from '../../src/sidecars/testing/crash.ts';
import type { Ends, World } from './world.ts';

export const components = ['controller', 'snapshotter'] as const;
export type Component = (typeof components)[number];

export const other = (component: Component): Component =>
  component === 'controller' ? 'snapshotter' : 'controller';

export async function start(
  world: World,
  component: Component,
  crash?: Crash,
): Promise<{ stop(): Promise<void> }> {
  const how = crash && {
    through: ({ kube, csi }: Ends) => ({ kube: crash.kube(kube), csi: crash.csi(csi) }),
    abandoned: true,
  };
  return component === 'controller' ? world.startController(how) : world.startSnapshotter(how);
}
