// Keeps a topology index up to date with the cluster: CSINode, CSINodeInfo where its CRD is installed, and Node, all named after
// the node. Watches these three; writes nothing.

import { type CSINode, csiNodeInfos, csiNodes, type Node, nodes } from '../../../api/kinds.ts';
import type { KubeObject } from '../../../api/object.ts';
import { driverOnNode } from '../../../api/volumes.ts';
import type { DriverName } from '../../../csi/names/driver-name.ts';
import type { Informer, Informers } from '../../../runtime/informer/informer.ts';
import { TopologyIndex } from './topology-index.ts';

export function watchTopology(informers: Informers, driver: DriverName): TopologyIndex {
  const index = new TopologyIndex();
  const csiNodeInformer = informers.of<CSINode>(csiNodes);
  const csiNodeInfoInformer = informers.of(csiNodeInfos, { optional: true });
  const nodeInformer = informers.of<Node>(nodes);

  const refresh = (name: string): void => {
    const node = nodeInformer.get(name);
    const found = driverOnNode(driver, {
      csiNode: csiNodeInformer.get(name),
      csiNodeInfo: csiNodeInfoInformer.get(name),
      node,
    });
    // A deleted node has no labels, so its remaining CSINode is ignored.
    index.update(name, node && found && { driver: found, labels: node.metadata.labels });
  };
  const follow = <T extends KubeObject>(informer: Informer<T>): void => {
    informer.subscribe({
      added: (object) => refresh(object.metadata.name),
      updated: (before, after) => {
        if (before !== after) refresh(after.metadata.name);
      },
      deleted: (object) => refresh(object.metadata.name),
    });
  };
  follow(csiNodeInformer);
  follow(csiNodeInfoInformer);
  follow(nodeInformer);
  return index;
}
