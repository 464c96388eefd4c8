// What is not well, worst first, and the counts in the header and the document's title. Pure.

import type { PodRow, State, VolumeRow } from '../../page-messages.ts';
import { type KeyedTables, type Model, unwellKey } from './model.ts';
import { type Route, routeOfPod, routeOfVolume } from './routes.ts';

/** Volumes and pods wait briefly in normal operation; this delay keeps the list from flickering. */
const SHOWN_AFTER_MS = 3_000;

export interface NotWell {
  readonly key: string;
  readonly kind: 'claim' | 'volume' | 'pod';
  readonly name: string;
  readonly state: Exclude<State, 'ok'>;
  readonly says: string;
  readonly createdMs: number;
  readonly route: Route;
}

/** `nowMs`: the server's clock. Stuck before waiting, then the oldest first. */
export function notWell({ tables, unwellSince }: Model, nowMs: number): NotWell[] {
  const found: NotWell[] = [];
  const look = (key: string, { state, says, createdMs }: VolumeRow | PodRow, rest: () => Described): void => {
    if (state === 'ok') return;
    if (state === 'waits' && nowMs - (unwellSince.get(key) ?? createdMs) < SHOWN_AFTER_MS) return;
    found.push({ key, state, says, createdMs, ...rest() });
  };
  for (const row of tables.volumes.values()) {
    look(unwellKey('volumes', row.id), row, () => ({
      kind: row.subject,
      name: nameOf(row),
      route: routeOfVolume(row),
    }));
  }
  for (const row of tables.pods.values()) {
    look(unwellKey('pods', row.id), row, () => ({ kind: 'pod', name: nameOf(row), route: routeOfPod(row) }));
  }
  return found.sort((a, b) =>
    a.state === b.state
      ? a.createdMs - b.createdMs || (a.key < b.key ? -1 : 1)
      : a.state === 'stuck'
        ? -1
        : 1,
  );
}

type Described = Pick<NotWell, 'kind' | 'name' | 'route'>;

/** In the usual format: `namespace/name`. */
export function nameOf({ namespace, name }: { namespace?: string; name: string }): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** `2 stuck, 1 waits`; empty when all is well. */
export function describeNotWell(list: readonly NotWell[]): string {
  const stuck = list.filter(({ state }) => state === 'stuck').length;
  const waits = list.length - stuck;
  return [stuck > 0 ? `${stuck} stuck` : '', waits > 0 ? `${waits} ${waits === 1 ? 'waits' : 'wait'}` : '']
    .filter((part) => part !== '')
    .join(', ');
}

export function titleOf({ about, connection }: Model, list: readonly NotWell[]): string {
  if (about === undefined) return 'Berth';
  const says = connection === 'live' ? describeNotWell(list) : 'not connected';
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
