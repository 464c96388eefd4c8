// `berth attacher` as a sidecar: the official external-attacher's flags, lease and events.

import { defineSidecar } from '../common/sidecar.ts';
import { createAttacher } from './attacher.ts';
import { attacherFlags } from './attacher-flags.ts';

export const attacherSidecar = defineSidecar({
  name: 'attacher',
  shards: true,
  flags: attacherFlags,
  leaseName: (driver) => `external-attacher-leader-${driver}`,
  eventSource: (driver) => `external-attacher ${driver}`,
  create: createAttacher,
});
