// One command line for several sidecars. A flag may be given once for all sidecars that have it
// (`--worker-threads=20`), and with a sidecar's name as prefix for that one alone (`--attacher-worker-threads=5`),
// which wins. A flag that is not given keeps each sidecar's own default. Pure.

import { type Flag, type FlagTable, InvalidValue, pairs } from '../../runtime/flags/flag.ts';
import { valueKey } from '../../runtime/flags/parse-flags.ts';
import { paceFlags } from '../../runtime/process/process-flags.ts';
import { commonFlags } from '../common/common-flags.ts';
import type { SidecarKind } from '../common/sidecar.ts';

type Gates = Readonly<Record<string, boolean>>;
const GATES = 'feature-gates';

// biome-ignore lint/suspicious/noExplicitAny: each kind's flags are its own business, as in cli/command.ts
export type AnySidecarKind = SidecarKind<any>;

export function sharedFlags(kinds: readonly AnySidecarKind[]): FlagTable {
  const table: Record<string, Flag<unknown>> = { ...commonFlags };
  for (const kind of kinds) {
    for (const [name, flag] of Object.entries(kind.flags as FlagTable)) {
      const others = kinds.filter((other) => other !== kind && name in other.flags);
      table[name] ??=
        name === GATES
          ? unionOfGates(kinds.map((each) => each.flags[GATES] as Flag<Gates> | undefined))
          : others.length === 0
            ? flag
            : {
                ...flag,
                default: undefined,
                format: (value) => (value === undefined ? '' : flag.format(value)),
              };
    }
    Object.assign(table, ownFlags(kind));
    for (const [name, flag] of Object.entries(paceFlags)) {
      table[`${kind.name}-${name}`] = override(kind, name, flag as Flag<unknown>);
    }
  }
  return table;
}

/** Each flag of one sidecar under its prefixed name. */
export function ownFlags(kind: AnySidecarKind): Record<string, Flag<unknown>> {
  return Object.fromEntries(
    Object.entries(kind.flags as FlagTable).map(([name, flag]) => [
      `${kind.name}-${name}`,
      override(kind, name, flag),
    ]),
  );
}

function override(kind: AnySidecarKind, name: string, flag: Flag<unknown>): Flag<unknown> {
  const help = `As --${name}, for the ${kind.name} alone`;
  return { ...flag, help, required: false, env: undefined, group: `Only the ${kind.name}` };
}

/** The flags as if the sidecar had been started with its own command line. */
export function flagsFor(
  kind: AnySidecarKind,
  values: Readonly<Record<string, unknown>>,
  given: ReadonlySet<string>,
): Record<string, unknown> {
  const flags: Record<string, unknown> = {};
  for (const [name, flag] of Object.entries(commonFlags))
    flags[valueKey(name, flag)] = values[valueKey(name, flag)];
  for (const [name, flag] of Object.entries({ ...paceFlags, ...kind.flags } as FlagTable)) {
    const own = `${kind.name}-${name}`;
    const from = given.has(own) ? own : given.has(name) ? name : undefined;
    const value = from === undefined ? flag.default : values[valueKey(from, flag)];
    flags[valueKey(name, flag)] =
      name === GATES && from === name ? { ...flag.default, ...pick(value as Gates, flag.default) } : value;
  }
  return flags;
}

/** Whether this sidecar was given client rate limits of its own. */
export function hasOwnPace(kind: AnySidecarKind, given: ReadonlySet<string>): boolean {
  return Object.keys(paceFlags).some((name) => given.has(`${kind.name}-${name}`));
}

/** Each gate is validated by the sidecars that know it. The value holds only the gates that were given. */
function unionOfGates(flags: readonly (Flag<Gates> | undefined)[]): Flag<Gates> {
  const all = flags.filter((flag) => flag !== undefined);
  const first = all[0] as Flag<Gates>;
  const collective = ['AllAlpha', 'AllBeta'];
  const parse = (text: string, previous: Gates | undefined): Gates => {
    const named = pairs(text, '=');
    const known = (flag: Flag<Gates>, name: string) => name in flag.default || collective.includes(name);
    const stranger = named.find(([name]) => !all.some((flag) => known(flag, name)));
    if (stranger !== undefined) {
      const names = [...new Set(all.flatMap((flag) => Object.keys(flag.default)))];
      throw new InvalidValue(`unknown feature gate ${stranger[0]}; known are ${names.join(', ')}`);
    }
    const result: Record<string, boolean> = { ...previous };
    for (const flag of all) {
      const own = named.filter(([name]) => known(flag, name));
      if (own.length === 0) continue;
      const before = { ...flag.default, ...pick(previous, flag.default) };
      Object.assign(result, flag.parse(own.map((pair) => pair.join('=')).join(','), before));
    }
    return result;
  };
  const help = [...new Set(all.flatMap((flag) => flag.help.split('\n')))].join('\n');
  return {
    ...first,
    help,
    default: {},
    parse,
    format: (value) =>
      Object.keys(value)
        .map((name) => `${name}=${value[name]}`)
        .join(','),
  };
}

function pick(gates: Gates | undefined, names: Gates): Gates {
  return Object.fromEntries(Object.entries(gates ?? {}).filter(([name]) => name in names));
}
