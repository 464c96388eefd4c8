// A node of hostpath: the shared core seen from one node of the machine.

import type { HostpathCore } from '../core.ts';
import type { HostpathNodeOptions } from '../options.ts';

export interface HostpathNode {
  readonly core: HostpathCore;
  readonly nodeId: string;
  readonly options: HostpathNodeOptions;
}
