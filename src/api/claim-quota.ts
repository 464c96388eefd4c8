// Usage of a claim under a ResourceQuota: storage and count, in total and per class. Used by admission and the quota
// controller. Pure.

import type { PersistentVolumeClaim, ResourceQuota } from './kinds.ts';
import {
  addQuantities,
  compareQuantities,
  parseQuantity,
  type Quantity,
  quantityFromBytes,
  quantityToBytes,
  subtractQuantities,
} from './quantity.ts';
import { storageClassOf } from './volumes.ts';

/** Amounts by resource name, as in `spec.hard`. */
export type Usage = ReadonlyMap<string, Quantity>;

const CLAIMS = 'persistentvolumeclaims';
const STORAGE = 'requests.storage';
const OF_CLASS = '.storageclass.storage.k8s.io/';

const ONE = parseQuantity('1');
export const NO_USAGE: Usage = new Map();

/** Whether a resource of `spec.hard` is about claims. */
export function countsClaims(resource: string): boolean {
  return (
    resource === CLAIMS ||
    resource === STORAGE ||
    resource === `count/${CLAIMS}` ||
    resource.endsWith(OF_CLASS + CLAIMS) ||
    resource.endsWith(OF_CLASS + STORAGE)
  );
}

/** A quota with scopes counts certain pods, and no claims. */
export function isAboutClaims({ spec }: ResourceQuota): boolean {
  const isScoped =
    (spec?.scopes ?? []).length > 0 || (spec?.scopeSelector?.matchExpressions ?? []).length > 0;
  return !isScoped && Object.keys(spec?.hard ?? {}).some(countsClaims);
}

export function claimUsage(claim: PersistentVolumeClaim): Usage {
  const usage = new Map<string, Quantity>([
    [CLAIMS, ONE],
    [`count/${CLAIMS}`, ONE],
  ]);
  const className = storageClassOf(claim);
  if (className) usage.set(className + OF_CLASS + CLAIMS, ONE);
  const storage = storageOf(claim);
  if (storage === undefined) return usage;
  usage.set(STORAGE, storage);
  if (className) usage.set(className + OF_CLASS + STORAGE, storage);
  return usage;
}

/** In whole bytes. An expansion that was begun counts until the claim is known to be smaller again. */
function storageOf({ spec, status }: PersistentVolumeClaim): Quantity | undefined {
  const requested = spec.resources?.requests?.storage;
  if (requested === undefined) return undefined;
  const allocated = status?.allocatedResources?.storage;
  const isGrowing = allocated !== undefined && compareQuantities(allocated, requested) > 0;
  const counted = parseQuantity(isGrowing ? allocated : requested);
  return quantityFromBytes(quantityToBytes(counted), counted.format);
}

export function addUsage(a: Usage, b: Usage): Usage {
  return combine(a, b, addQuantities);
}

export function subtractUsage(a: Usage, b: Usage): Usage {
  return combine(a, b, subtractQuantities);
}

function combine(a: Usage, b: Usage, how: (a: Quantity | string, b: Quantity | string) => Quantity): Usage {
  const result = new Map(a);
  for (const [name, amount] of b) result.set(name, how(result.get(name) ?? '0', amount));
  return result;
}

/** The resources for which `used` and what is asked for go beyond the quota; nothing is asked for where it is zero. */
export function exceeded({ spec }: ResourceQuota, { used, asked }: { used: Usage; asked: Usage }): string[] {
  return Object.entries(spec?.hard ?? {})
    .filter(([name, hard]) => {
      const more = asked.get(name);
      if (!countsClaims(name) || more === undefined || more.nano <= 0n) return false;
      return compareQuantities(addQuantities(used.get(name) ?? '0', more), hard) > 0;
    })
    .map(([name]) => name)
    .sort();
}
