// Test support: the ports of one controller whose caches and clock are changed by hand. Its events and log are not read.

import { manualInformers } from '../../runtime/informer/testing/manual-informers.ts';
import { silentLog } from '../../runtime/log/log.ts';
import { seededRandom } from '../../runtime/random.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import type { ControllerPorts } from '../controller.ts';

/** `kube`: what the controller asks of it, and no more. */
export function manualPorts(kube: object) {
  const informers = manualInformers();
  const clock = new VirtualClock();
  const ports = {
    kube,
    informers,
    clock,
    random: seededRandom('manual'),
    log: silentLog,
    recorder: { event() {}, flush: async () => {} },
  } as unknown as ControllerPorts;
  return { informers, clock, ports };
}
