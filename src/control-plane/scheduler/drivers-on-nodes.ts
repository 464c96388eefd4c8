// What CSINodes publish about drivers: which run on a node, their topology keys, and their volume limits.

import type { CSIDriver, CSINode, CSINodeInfo } from '../../api/kinds.ts';
import { type DriverOnNode, driverOnNode } from '../../api/volumes.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import type { NodeInfo } from './node-info.ts';

export class DriversOnNodes {
  readonly #drivers: Informer<CSIDriver>;
  readonly #csiNodes: Informer<CSINode>;
  readonly #csiNodeInfos: Informer<CSINodeInfo>;
  /** On how many nodes each driver runs. */
  readonly #counts = new Map<string, number>();

  constructor(informers: {
    drivers: Informer<CSIDriver>;
    csiNodes: Informer<CSINode>;
    csiNodeInfos: Informer<CSINodeInfo>;
  }) {
    this.#drivers = informers.drivers;
    this.#csiNodes = informers.csiNodes;
    this.#csiNodeInfos = informers.csiNodeInfos;
    this.#csiNodes.subscribe({
      added: (csiNode) => this.#count(csiNode, 1),
      updated: (before, after) => {
        this.#count(before, -1);
        this.#count(after, 1);
      },
      deleted: (csiNode) => this.#count(csiNode, -1),
    });
  }

  /** A CSIDriver or a CSINode names it. */
  isCsiDriver(driver: DriverName): boolean {
    return this.#drivers.get(driver) !== undefined || (this.#counts.get(driver) ?? 0) > 0;
  }

  publishesCapacity(driver: DriverName): boolean {
    return this.#drivers.get(driver)?.spec.storageCapacity === true;
  }

  mustBeInstalled(driver: DriverName): boolean {
    const spec = this.#drivers.get(driver)?.spec as { preventPodSchedulingIfMissing?: boolean } | undefined;
    return spec?.preventPodSchedulingIfMissing === true;
  }

  driverOn(driver: DriverName, { name, node }: NodeInfo): DriverOnNode | undefined {
    return driverOnNode(driver, {
      csiNode: this.#csiNodes.get(name),
      csiNodeInfo: this.#csiNodeInfos.get(name),
      node,
    });
  }

  volumeLimit(driver: DriverName, { name }: NodeInfo): number | undefined {
    const drivers = this.#csiNodes.get(name)?.spec?.drivers;
    return drivers?.find((each) => each.name === driver)?.allocatable?.count;
  }

  #count(csiNode: CSINode, by: 1 | -1): void {
    for (const { name } of csiNode.spec?.drivers ?? []) {
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + by);
    }
  }
}
