// The shared core of hostpath, with the node that it acts for.

import type { NodeId } from '../../../csi/names/driver-name.ts';
import type { HostpathCore } from '../core.ts';
import type { HostpathNodeOptions } from '../options.ts';

export interface HostpathNode {
  readonly core: HostpathCore;
  readonly nodeId: NodeId;
  readonly options: HostpathNodeOptions;
}
