// Which existing volume a claim may have: the one rule that binder and scheduler share. Pure.

import type { Node, PersistentVolume, PersistentVolumeClaim } from '../../api/kinds.ts';
import { compareQuantities, parseQuantity, type Quantity } from '../../api/quantity.ts';
import { labelSelectorOf, matchesLabels, matchesNodeSelectorTerms } from '../../api/selectors.ts';
import { refersToClaim, storageClassOf } from '../../api/volumes.ts';

/** Why a volume cannot serve a claim; undefined when it can. Says nothing about who else has it. */
export function mismatch(volume: PersistentVolume, claim: PersistentVolumeClaim): string | undefined {
  const why = unfit(volume, claim, parseQuantity);
  if (why !== undefined) return why;
  return sameClass(volume, claim) ? undefined : 'storageClassName does not match';
}

/** Whether the volume's node affinity admits a node with these labels. */
export function affinityAdmits(volume: PersistentVolume, node: Node): boolean {
  const required = volume.spec.nodeAffinity?.required;
  return required === undefined || matchesNodeSelectorTerms(required.nodeSelectorTerms, node);
}

/**
 * The volume that this claim should have: the one that already names it, otherwise the smallest available one that
 * fits. `node` is given where the claim's binding was delayed and the pod's node is known.
 */
export function matchVolume(
  claim: PersistentVolumeClaim,
  candidates: Iterable<PersistentVolume>,
  node?: Node,
): PersistentVolume | undefined {
  const selector = claim.spec.selector ? labelSelectorOf(claim.spec.selector) : undefined;
  const parse = remembering(parseQuantity);
  let best: PersistentVolume | undefined;
  for (const volume of candidates) {
    const reserved = volume.spec.claimRef !== undefined;
    if (reserved && !refersToClaim(volume.spec.claimRef, claim)) continue;
    if (unfit(volume, claim, parse) !== undefined) continue;
    const admitted = node === undefined || affinityAdmits(volume, node);
    // Reserved for this claim: there is no second choice, whatever else would fit. Who reserved it knew what they
    // wanted, so that the class is not asked for.
    if (reserved) return admitted ? volume : undefined;
    if (!admitted || volume.status?.phase !== 'Available' || !sameClass(volume, claim)) continue;
    if (selector && !matchesLabels(selector, volume.metadata.labels ?? {})) continue;
    if (best === undefined || isSmaller(volume, best, parse)) best = volume;
  }
  return best;
}

type ParseQuantity = (text: string) => Quantity;

/** Thousands of candidates have a handful of sizes between them. */
function remembering(parse: ParseQuantity): ParseQuantity {
  const known = new Map<string, Quantity>();
  return (text) => {
    const found = known.get(text) ?? parse(text);
    known.set(text, found);
    return found;
  };
}

/** Everything but the class. */
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

/** By size, then by name, so that the same candidates always give the same choice. */
function isSmaller(a: PersistentVolume, b: PersistentVolume, parse: ParseQuantity): boolean {
  const order = compareQuantities(parse(sizeOf(a)), parse(sizeOf(b)));
  return order < 0 || (order === 0 && a.metadata.name < b.metadata.name);
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
