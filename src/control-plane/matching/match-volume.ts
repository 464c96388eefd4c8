// Which existing volume a claim gets: the rule that the binder and the scheduler share. Pure.

import type { Node, PersistentVolume, PersistentVolumeClaim } from '../../api/kinds.ts';
import { compareQuantities, parseQuantity, type Quantity } from '../../api/quantity.ts';
import { affinityAdmits, labelSelectorOf, matchesLabels } from '../../api/selectors.ts';
import { refersToClaim, storageClassOf } from '../../api/volumes.ts';

/** Why a volume cannot serve a claim; undefined when it can. Does not check whether another claim has it. */
export function mismatch(volume: PersistentVolume, claim: PersistentVolumeClaim): string | undefined {
  const why = unfit(volume, claim, parseQuantity);
  if (why !== undefined) return why;
  return sameClass(volume, claim) ? undefined : 'storageClassName does not match';
}

/**
 * The best volume for this claim. A volume whose `claimRef` names the claim comes before any free one. Among free
 * volumes the one with the fewest access modes wins, so that a shared volume is not used for a claim of one node; then
 * the smallest, then the first by name. `node` is given where binding was delayed and the pod's node is known.
 */
export function matchVolume(
  claim: PersistentVolumeClaim,
  candidates: Iterable<PersistentVolume>,
  node?: Node,
): PersistentVolume | undefined {
  const selector = claim.spec.selector ? labelSelectorOf(claim.spec.selector) : undefined;
  const parse = remembering(parseQuantity);
  let own: PersistentVolume | undefined;
  let free: PersistentVolume | undefined;
  for (const volume of candidates) {
    const reserved = volume.spec.claimRef !== undefined;
    if (reserved && !refersToClaim(volume.spec.claimRef, claim)) continue;
    if (unfit(volume, claim, parse) !== undefined) continue;
    if (reserved) {
      if (own === undefined || isBetter(volume, own, parse)) own = volume;
      continue;
    }
    if (volume.status?.phase !== 'Available' || !sameClass(volume, claim)) continue;
    if (selector && !matchesLabels(selector, volume.metadata.labels ?? {})) continue;
    if (free !== undefined && !isBetter(volume, free, parse)) continue;
    if (node === undefined || affinityAdmits(volume, node)) free = volume;
  }
  if (own === undefined) return free;
  // The volume was chosen for the claim: class and selector are not checked, and there is no second choice.
  return node === undefined || affinityAdmits(own, node) ? own : undefined;
}

type ParseQuantity = (text: string) => Quantity;

/** Cached: thousands of candidates share a handful of sizes. */
function remembering(parse: ParseQuantity): ParseQuantity {
  const known = new Map<string, Quantity>();
  return (text) => {
    const found = known.get(text) ?? parse(text);
    known.set(text, found);
    return found;
  };
}

/** Checks everything but the class. */
function unfit(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
  parse: ParseQuantity,
): string | undefined {
  if (volume.metadata.deletionTimestamp) return 'the volume is being deleted';
  const wanted = claim.spec.resources?.requests?.storage ?? '0';
  if (compareQuantities(parse(sizeOf(volume)), parse(wanted)) < 0) return 'requested PV is too small';
  if ((volume.spec.volumeMode ?? 'Filesystem') !== (claim.spec.volumeMode ?? 'Filesystem')) {
    return 'incompatible volumeMode';
  }
  if (attributesClass(volume) !== attributesClass(claim)) return 'incompatible volumeAttributesClassName';
  const offered = volume.spec.accessModes ?? [];
  if (!(claim.spec.accessModes ?? []).every((mode) => offered.includes(mode)))
    return 'incompatible accessMode';
  return undefined;
}

function isBetter(a: PersistentVolume, b: PersistentVolume, parse: ParseQuantity): boolean {
  const order = modeCount(a) - modeCount(b) || compareQuantities(parse(sizeOf(a)), parse(sizeOf(b)));
  return order < 0 || (order === 0 && a.metadata.name < b.metadata.name);
}

function modeCount({ spec: { accessModes } }: PersistentVolume): number {
  return new Set(accessModes).size;
}

function sameClass(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  return (storageClassOf(volume) ?? '') === (storageClassOf(claim) ?? '');
}

function sizeOf(volume: PersistentVolume): string {
  return volume.spec.capacity?.storage ?? '0';
}

function attributesClass(object: PersistentVolume | PersistentVolumeClaim): string {
  return object.spec.volumeAttributesClassName ?? '';
}
