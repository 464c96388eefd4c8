// Which pods are on a node. One index in the shared informer serves all controllers.

import type { Pod } from '../api/kinds.ts';
import type { Informer } from '../runtime/informer/informer.ts';

const INDEX = 'pods-by-node';
const nodeOf = ({ spec }: Pod): string[] => (spec.nodeName ? [spec.nodeName] : []);

/** Every caller must ask for `informer` with the same options, so that all of them get the same one. */
export function indexPodsByNode(informer: Informer<Pod>): (nodeName: string) => readonly Pod[] {
  informer.addIndex(INDEX, nodeOf);
  return (nodeName) => informer.byIndex(INDEX, nodeName);
}
