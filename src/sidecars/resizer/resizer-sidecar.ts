// `berth resizer` as a sidecar: the official external-resizer's flags, lease and events.

import { defineSidecar } from '../common/sidecar.ts';
import { createResizer } from './resizer.ts';
import { resizerFlags } from './resizer-flags.ts';

export const resizerSidecar = defineSidecar({
  name: 'resizer',
  shards: true,
  flags: resizerFlags,
  leaseName: (driver) => `external-resizer-${driver}`,
  eventSource: (driver) => `external-resizer ${driver}`,
  // A driver that expands on the node alone reports that among the plugin's capabilities.
  suits: ({ controller, plugin }) =>
    controller.has('EXPAND_VOLUME') || controller.has('MODIFY_VOLUME') || plugin.volumeExpansion.size > 0,
  create: createResizer,
});
