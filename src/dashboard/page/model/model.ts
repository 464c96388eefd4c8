// The page's model, and how each message changes it. Pure: returns a new model that shares unchanged parts, so that
// components can compare by identity.

import type { About, Changes, Message, Sample, Step, TableChange, Tables } from '../../page-messages.ts';

/** `lost`: will be retried. `refused`: the link with which the page was opened is no longer valid. */
export type Connection = 'live' | 'lost' | 'refused';

export type KeyedTables = { readonly [T in keyof Tables]: ReadonlyMap<string, Tables[T][number]> };

export interface Model {
  /** Absent until the first message. */
  readonly about: About | undefined;
  readonly tables: KeyedTables;
  /** Oldest first. */
  readonly samples: readonly Sample[];
  /** Oldest first. */
  readonly steps: readonly Step[];
  readonly trouble: string | undefined;
  /** Since when an object is not well, as seen by this page; by its name among those that a trouble affects. */
  readonly unwellSince: ReadonlyMap<string, number>;
  /** The server's clock minus this one. */
  readonly offsetMs: number;
  readonly connection: Connection;
  /** By this machine's clock. */
  readonly heardMs: number | undefined;
}

/** Ten minutes at one a second. */
const KEPT_SAMPLES = 600;
const KEPT_STEPS = 500;

const tableNames = [
  'troubles',
  'volumes',
  'pods',
  'nodes',
  'drivers',
  'classes',
  'snapshots',
  'groups',
] as const satisfies readonly (keyof Tables)[];

export const emptyModel: Model = {
  about: undefined,
  tables: Object.fromEntries(tableNames.map((name) => [name, new Map()])) as unknown as KeyedTables,
  samples: [],
  steps: [],
  trouble: undefined,
  unwellSince: new Map(),
  offsetMs: 0,
  connection: 'lost',
  heardMs: undefined,
};

/** `atMs`: the local time at which the message arrived. */
export function withMessage(model: Model, message: Message, atMs: number): Model {
  const heard: Model = { ...model, connection: 'live', heardMs: atMs };
  switch (message.kind) {
    case 'all': {
      const tables = keyedTables(message.tables);
      return {
        ...heard,
        about: message.about,
        tables,
        samples: message.samples.slice(-KEPT_SAMPLES),
        steps: withSteps([], message.steps),
        trouble: undefined,
        unwellSince: unwellSince(model, tables, message.nowMs),
        offsetMs: message.nowMs - atMs,
      };
    }
    case 'changes': {
      const tables = changedTables(model.tables, message.changes);
      const since = unwellSince(model, tables, message.nowMs);
      return { ...heard, tables, unwellSince: since, offsetMs: message.nowMs - atMs };
    }
    case 'steps':
      return { ...heard, steps: withSteps(model.steps, message.steps) };
    case 'sample':
      return { ...heard, samples: [...model.samples, message.sample].slice(-KEPT_SAMPLES) };
    case 'trouble':
      return { ...heard, trouble: message.says };
    default:
      // Messages of a newer server that this page does not know are ignored.
      return heard;
  }
}

function keyedTables(tables: Tables): KeyedTables {
  return Object.fromEntries(
    tableNames.map((name) => [name, new Map(tables[name].map((row) => [row.id, row]))]),
  ) as unknown as KeyedTables;
}

function changedTables(tables: KeyedTables, changes: Changes): KeyedTables {
  return Object.fromEntries(
    tableNames.map((name) => [name, changed<{ readonly id: string }>(tables[name], changes[name])]),
  ) as unknown as KeyedTables;
}

function changed<R extends { readonly id: string }>(
  table: ReadonlyMap<string, R>,
  change: TableChange<R> | undefined,
): ReadonlyMap<string, R> {
  if (change === undefined || change.put.length + change.gone.length === 0) return table;
  const next = new Map(table);
  for (const id of change.gone) next.delete(id);
  for (const row of change.put) next.set(row.id, row);
  return next;
}

/** A call in flight has no sequence number, and its end arrives as another step: only the details show it. */
function withSteps(known: readonly Step[], more: readonly Step[]): readonly Step[] {
  const seen = new Set(known.map(({ seq }) => seq));
  const fresh = more.filter(({ seq }) => seq >= 0 && !seen.has(seq) && seen.add(seq));
  return fresh.length === 0 ? known : [...known, ...fresh].slice(-KEPT_STEPS);
}

/** At first sight the trouble may be as old as the objects. It keeps its time when another object becomes its first. */
function unwellSince(before: Model, tables: KeyedTables, nowMs: number): ReadonlyMap<string, number> {
  if (tables.troubles === before.tables.troubles) return before.unwellSince;
  const since = new Map<string, number>();
  for (const { affects, createdMs } of tables.troubles.values()) {
    const known = affects.flatMap((name) => before.unwellSince.get(name) ?? []);
    const start = known.length > 0 ? Math.min(...known) : before.about === undefined ? createdMs : nowMs;
    for (const name of affects) since.set(name, start);
  }
  return since;
}
