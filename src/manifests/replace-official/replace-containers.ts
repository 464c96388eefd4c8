// Exchanges the official sidecars in the containers of a pod for Berth's: the same flags, the same account, mounts and
// resources, another image and command. What will differ is said in notes. Pure.

import type { Container } from 'kubernetes-types/core/v1.js';
import type { FlagTable } from '../../runtime/flags/flag.ts';
import { FlagError, parseFlags } from '../../runtime/flags/parse-flags.ts';

/** Commands of Berth by the name of the official image, whatever its registry. */
const COMMANDS: Readonly<Record<string, string>> = {
  'csi-provisioner': 'provisioner',
  'csi-attacher': 'attacher',
  'csi-resizer': 'resizer',
  'csi-snapshotter': 'snapshotter',
  'csi-external-health-monitor-controller': 'health-monitor',
  'csi-snapshot-metadata': 'snapshot-metadata',
  'csi-node-driver-registrar': 'node-registrar',
  livenessprobe: 'livenessprobe',
  'snapshot-controller': 'snapshot-controller',
  'volume-data-source-validator': 'data-source-validator',
};
/** Those that connect to no driver. */
const WITHOUT_DRIVER = ['snapshot-controller', 'data-source-validator'];
/** Those that elect no leader, because each pod has its own work. */
const WITHOUT_LEADER = ['node-registrar', 'livenessprobe', 'snapshot-metadata'];

/** The command that stands for an official image; undefined for any other image. */
export function commandOf(image: string | undefined): string | undefined {
  const name = image?.split('/').at(-1)?.split(/[:@]/)[0] ?? '';
  return Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
}

export interface Replacement {
  container: Container;
  /** The command of Berth; undefined if the container stays as it is. */
  command?: string;
  notes: readonly string[];
}

export function replaceContainer(
  container: Container,
  { berthImage, flagsOf }: { berthImage: string; flagsOf: (command: string) => FlagTable | undefined },
): Replacement {
  const command = commandOf(container.image);
  const table = command === undefined ? undefined : flagsOf(command);
  if (command === undefined || table === undefined) return { container, notes: [] };
  const given = [...(container.command ?? []).slice(1), ...(container.args ?? [])];
  const { args, notes } = checkedArguments(given, table, container);
  const { securityContext = {} } = container;
  // Berth's image has a user of its own; the socket of most drivers belongs to root.
  const isRoot = !WITHOUT_DRIVER.includes(command) && securityContext.runAsUser === undefined;
  const { command: _, ...rest } = container;
  return {
    command,
    container: {
      ...rest,
      image: berthImage,
      command: ['berth', command],
      args,
      ...(isRoot &&
        !securityContext.runAsNonRoot && { securityContext: { ...securityContext, runAsUser: 0 } }),
    },
    notes: [
      ...notes,
      ...(isRoot && securityContext.runAsNonRoot
        ? ["runs as user 65532 of Berth's image: the driver's socket must be open to that user"]
        : []),
      ...electionNotes(command, args),
    ],
  };
}

function electionNotes(command: string, args: readonly string[]): string[] {
  const isElected = args.some((arg) => /^--?leader-election(=true)?$/.test(arg));
  if (isElected || WITHOUT_LEADER.includes(command)) return [];
  return ['has no --leader-election: stop the official one before this one starts, or both act at once'];
}

/** The arguments that Berth accepts. The others are left out, with a note for each. */
function checkedArguments(
  given: readonly string[],
  table: FlagTable,
  { env = [] }: Container,
): { args: string[]; notes: string[] } {
  const optional = Object.fromEntries(
    Object.entries(table).map(([name, flag]) => [name, { ...flag, required: false }]),
  );
  const expanded = (text: string): string =>
    text.replaceAll(
      /\$\(([^)]+)\)/g,
      (whole, name) => env.find((each) => each.name === name)?.value ?? whole,
    );
  const args: string[] = [];
  const notes: string[] = [];
  for (const group of byFlag(given, table)) {
    const argv = group.map(expanded);
    const isKnown = nameOf(group[0] ?? '') in table;
    try {
      notes.push(...parseFlags({ table: optional, argv }).notes);
      args.push(...group);
    } catch (error) {
      if (!(error instanceof FlagError)) throw error;
      // A variable that the kubelet fills in cannot be judged here.
      if (isKnown && argv.some((text) => text.includes('$('))) args.push(...group);
      else notes.push(`${group.join(' ')} is left out: ${error.message}`);
    }
  }
  return { args, notes };
}

/** Each flag with its value, where that is an argument of its own. */
function byFlag(given: readonly string[], table: FlagTable): string[][] {
  const groups: string[][] = [];
  for (let at = 0; at < given.length; at++) {
    const argument = given[at] as string;
    const next = given[at + 1];
    const isAlone =
      argument.startsWith('-') && !argument.includes('=') && !table[nameOf(argument)]?.isBoolean;
    const takesNext = isAlone && next !== undefined && !next.startsWith('-');
    groups.push(takesNext ? [argument, next] : [argument]);
    if (takesNext) at++;
  }
  return groups;
}

/** Kubernetes takes `_` for `-` in flag names. */
const nameOf = (argument: string): string => (/^--?([^=]+)/.exec(argument)?.[1] ?? '').replaceAll('_', '-');
