// Calls to the driver that are checked right before they are sent: a replica whose Lease is over must not act, also when it
// was stopped and goes on in the middle of something.

import type { CsiStreamTransport, CsiTransport } from '../../csi/client/transport.ts';
import type { Fence } from '../../runtime/sharding/fenced-ports.ts';

export function fencedCsi<T extends CsiTransport | CsiStreamTransport>(csi: T, fence: Fence): T {
  return {
    ...csi,
    async call(...given: Parameters<CsiTransport['call']>) {
      fence.check();
      return csi.call(...given);
    },
  } as T;
}
