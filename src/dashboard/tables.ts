// All tables of the page, what differs between two states of them, and their figures. Pure.

import { sameJson } from '../api/same-json.ts';
import { classRows, driverRows, groupRows, nodeRows, snapshotRows } from './cluster-rows.ts';
import { judge } from './judgement.ts';
import type { Observation } from './observed.ts';
import type { Changes, Sample, TableChange, Tables } from './page-messages.ts';
import { podRows, volumeRows } from './volume-rows.ts';

export function tablesOf(observation: Observation): Tables {
  const judgement = judge(observation);
  return {
    troubles: judgement.troubles,
    volumes: volumeRows(observation, judgement),
    pods: podRows(observation, judgement),
    nodes: nodeRows(observation, judgement),
    drivers: driverRows(observation, judgement),
    classes: classRows(observation, judgement),
    snapshots: snapshotRows(observation, judgement),
    groups: groupRows(observation, judgement),
  };
}

/** Undefined when they are the same. */
export function changesBetween(before: Tables, after: Tables): Changes | undefined {
  const changes = Object.entries(after).flatMap(([table, rows]) => {
    const change = changeOf<{ id: string }>(before[table as keyof Tables], rows);
    return change === undefined ? [] : [[table, change]];
  });
  return changes.length === 0 ? undefined : (Object.fromEntries(changes) as Changes);
}

function changeOf<R extends { id: string }>(
  before: readonly R[],
  after: readonly R[],
): TableChange<R> | undefined {
  const old = new Map(before.map((row) => [row.id, row]));
  const put: R[] = [];
  for (const row of after) {
    const known = old.get(row.id);
    if (known === undefined || !sameJson(known, row)) put.push(row);
    old.delete(row.id);
  }
  return put.length === 0 && old.size === 0 ? undefined : { put, gone: [...old.keys()] };
}

export function sampleOf({ volumes, pods }: Tables, atMs: number): Sample {
  const claims = volumes.filter(({ subject }) => subject === 'claim');
  const attachments = volumes.flatMap((row) => row.attachments);
  return {
    atMs,
    claims: claims.length,
    bound: claims.filter(({ phase }) => phase === 'Bound').length,
    pods: pods.length,
    running: pods.filter(({ phase }) => phase === 'Running').length,
    attached: attachments.filter(({ attached }) => attached).length,
  };
}
