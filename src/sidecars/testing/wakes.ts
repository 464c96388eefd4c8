// For tests of which change wakes which loop of a sidecar.

import type { TestContext } from 'node:test';
import type { ControllerCapability } from '../../csi/messages/capabilities.ts';
import { parseDriverName } from '../../csi/names/driver-name.ts';
import { unanswered, wokenLoops } from '../../runtime/informer/testing/woken-loops.ts';
import type { Sidecar, SidecarPorts } from '../common/sidecar.ts';

export { type Change, changesOf } from '../../runtime/informer/testing/woken-loops.ts';

export const DRIVER = parseDriverName('d.example');

export function wokenBy(
  t: TestContext,
  create: (ports: SidecarPorts) => Sidecar,
  {
    capabilities = [],
    ...given
  }: Parameters<typeof wokenLoops>[2] & { capabilities?: readonly ControllerCapability[] },
): Promise<string[]> {
  const driver = {
    name: DRIVER,
    plugin: { services: new Set(['CONTROLLER_SERVICE']), volumeExpansion: new Set() },
    controller: new Set(capabilities),
    group: new Set(),
  };
  return wokenLoops(
    t,
    (ports) => create({ ...ports, csi: unanswered, driver } as unknown as SidecarPorts),
    given,
  );
}
