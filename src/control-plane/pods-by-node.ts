// Which pods are on a node. One index in the shared informer serves all controllers.

import type { Pod } from '../api/kinds.ts';
import type { Informer } from '../runtime/informer/informer.ts';

const INDEX = 'pods-by-node';
const nodeOf = ({ spec }: Pod): string[] => (spec.nodeName ? [spec.nodeName] : []);

/** `informer` must be asked for with the same options by everyone, so that it is the same one. */
export function indexPodsByNode(informer: Informer<Pod>): (nodeName: string) => readonly Pod[] {
  informer.addIndex(INDEX, nodeOf);
  return (nodeName) => informer.byIndex(INDEX, nodeName);
}
