// The QoS class of a pod, from the requests and limits of its containers.

import { getOwn } from '../../api/own-property.ts';
import { compareQuantities, isQuantity } from '../../api/quantity.ts';
import { type LooseMap, mapOf, mapsOf } from './loose.ts';

const COUNTED = ['cpu', 'memory'];

export function qosClassOf(spec: LooseMap): 'Guaranteed' | 'Burstable' | 'BestEffort' {
  const containers = [...mapsOf(spec.containers), ...mapsOf(spec.initContainers)];
  const amount = (container: LooseMap, kind: string, resource: string): string | undefined => {
    const value = getOwn(mapOf(getOwn(mapOf(container.resources), kind)), resource);
    return isQuantity(value) && compareQuantities(String(value), '0') > 0 ? String(value) : undefined;
  };
  const asks = containers.some((each) =>
    COUNTED.some((resource) => amount(each, 'requests', resource) || amount(each, 'limits', resource)),
  );
  if (!asks) return 'BestEffort';
  const guaranteed = containers.every((each) =>
    COUNTED.every((resource) => {
      const limit = amount(each, 'limits', resource);
      const request = amount(each, 'requests', resource) ?? limit;
      return limit !== undefined && request !== undefined && compareQuantities(limit, request) === 0;
    }),
  );
  return guaranteed ? 'Guaranteed' : 'Burstable';
}
