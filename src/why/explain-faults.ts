// Faults that were set on purpose (`berth fault`), as the CSIDriver objects say. Pure.

import type { CSIDriver } from '../api/kinds.ts';
import { ANN_FAULTS } from '../api/well-known.ts';
import type { Link } from './chain.ts';
import type { Facts } from './facts.ts';
import { end } from './link.ts';

const LIFT = 'lift them: berth fault remove --all';

/** `f1: CreateVolume delay 5s; f2: …`; undefined when none are set. */
export function faultsSet({ drivers }: Pick<Facts, 'drivers'>): string | undefined {
  const texts = drivers.flatMap(({ metadata }) => metadata.annotations?.[ANN_FAULTS] ?? []);
  return texts.length === 0 ? undefined : [...new Set(texts)].join('; ');
}

/** First of all, since whoever set them may have forgotten. */
export const withFaults = (link: Link, faults: string): Link => ({
  ...link,
  todo: [`faults are set on purpose (${faults}); ${LIFT}`, ...link.todo],
});

/** Nothing, or the link of a driver whose calls are disturbed. */
export function explainFaults(facts: Facts, { name, annotations }: CSIDriver['metadata']): Link[] {
  const set = annotations?.[ANN_FAULTS];
  if (set === undefined) return [];
  return [end(facts, 'waits', `calls to ${name}`, `faults are set on purpose: ${set}`, { todo: [LIFT] })];
}
