// What is not well, one entry a cause, and the counts in the header and the document's title. Pure.

import type { TroubleRow } from '../../page-messages.ts';
import type { KeyedTables, Model } from './model.ts';

/** Volumes and pods wait briefly in normal operation; this delay keeps the list from flickering. */
const SHOWN_AFTER_MS = 3_000;

export interface ShownTrouble extends TroubleRow {
  readonly sinceMs: number;
}

/** `nowMs`: the server's clock. In the server's order: the worst first. */
export function shownTroubles({ tables, unwellSince }: Model, nowMs: number): ShownTrouble[] {
  return [...tables.troubles.values()]
    .map((row) => ({ ...row, sinceMs: unwellSince.get(row.id) ?? row.createdMs }))
    .filter(({ state, sinceMs }) => state === 'stuck' || nowMs - sinceMs >= SHOWN_AFTER_MS)
    .sort((a, b) => a.order - b.order);
}

/** In the usual format: `namespace/name`. */
export function nameOf({ namespace, name }: { namespace?: string; name: string }): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** `2 stuck, 1 waits`; empty when all is well. */
export function describeTroubles(list: readonly Pick<TroubleRow, 'state'>[]): string {
  const stuck = list.filter(({ state }) => state === 'stuck').length;
  const waits = list.length - stuck;
  return [stuck > 0 ? `${stuck} stuck` : '', waits > 0 ? `${waits} ${waits === 1 ? 'waits' : 'wait'}` : '']
    .filter((part) => part !== '')
    .join(', ');
}

export function titleOf({ about, connection }: Model, list: readonly Pick<TroubleRow, 'state'>[]): string {
  if (about === undefined) return 'Berth';
  const says = connection === 'live' ? describeTroubles(list) : 'not connected';
  return says === '' ? 'Berth' : `${says} – Berth`;
}

export interface Counts {
  readonly claims: number;
  readonly bound: number;
  readonly attached: number;
  readonly pods: number;
  readonly running: number;
}

export function countsOf({ volumes, pods }: KeyedTables): Counts {
  let [claims, bound, attached, running] = [0, 0, 0, 0];
  for (const row of volumes.values()) {
    if (row.subject === 'claim') claims += 1;
    if (row.subject === 'claim' && row.phase === 'Bound') bound += 1;
    attached += row.attachments.filter((attachment) => attachment.attached).length;
  }
  for (const { phase } of pods.values()) if (phase === 'Running') running += 1;
  return { claims, bound, attached, pods: pods.size, running };
}
