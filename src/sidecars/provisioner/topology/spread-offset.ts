// The index in a list of segments where a StatefulSet's volumes start, from the claim's name alone: all members of a
// set share a hash, and their ordinal is added to it. So they spread evenly over the segments, and two claims of one
// member are in the same segment.

export function spreadOffset(claimName: string, prefer: 'none' | 'statefulset' | 'hash'): number | undefined {
  if (prefer === 'none') return undefined;
  const { base, ordinal = '' } = /^(?<base>.+)-(?<ordinal>[0-9]+)$/.exec(claimName)?.groups ?? {};
  if (base !== undefined && Number(ordinal) < 2 ** 32) {
    const dash = base.lastIndexOf('-');
    // `<template>-<set>-<ordinal>` is a StatefulSet's claim; `<name>-<ordinal>`, or an ordinal with leading zeros, is
    // not.
    const isMember = dash > 0 && String(Number(ordinal)) === ordinal;
    if (isMember || prefer === 'hash') return (fnv32(base.slice(dash + 1)) + Number(ordinal)) % 2 ** 32;
  }
  return prefer === 'hash' ? fnv32(claimName) : undefined;
}

/** FNV-1, 32 bits, over UTF-8: the hash the official provisioner uses, so that a set keeps its spread on migration. */
function fnv32(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text, 'utf8')) {
    hash = Math.imul(hash, 0x01000193) >>> 0;
    hash = (hash ^ byte) >>> 0;
  }
  return hash;
}
