// `berth complete -- WORD…`: the candidates for the last word, one a line. Called by the scripts of `berth completion`; never
// fails, since a shell can show no error.

import type { FlagTable } from '../runtime/flags/flag.ts';
import { type FlagValues, parseFlags } from '../runtime/flags/parse-flags.ts';
import { realClock } from '../runtime/time/clock.ts';
import { startDeadline } from '../runtime/time/deadline.ts';
import { type Command, defineCommand, type Environment, standardFlags } from './command.ts';
import { commands } from './commands.ts';
import { findResource } from './objects/find-resource.ts';
import type { connectionFlags, namespaceFlags } from './objects/object-flags.ts';
import { type ObjectClient, openClient } from './objects/open-client.ts';
import { kindOfWord, SUBJECT_WORDS } from './objects/subject-argument.ts';
import { EXPLAINED_RESOURCES } from './why.ts';

/** Nobody waits longer for a list. */
const TIMEOUT_MS = 3_000;

interface Asking {
  readonly env: Environment;
  readonly log: Parameters<typeof openClient>[0]['log'];
  readonly signal: AbortSignal;
}

export const command = defineCommand({
  summary: 'Prints the candidates for shell completion',
  arguments: { usage: '-- WORD…', min: 0, max: 1_000 },
  flags: {},
  async run({ args, env, log, signal, stdout }) {
    const last = args.at(-1) ?? '';
    const found = await candidates(args, { env, log, signal }).catch(() => []);
    for (const each of found.filter((candidate) => candidate.startsWith(last))) stdout.write(`${each}\n`);
  },
});

async function candidates(words: readonly string[], asking: Asking): Promise<string[]> {
  const [name = '', ...rest] = words;
  if (words.length <= 1) return Object.keys(commands).filter((each) => !commands[each]?.hidden);
  const row = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (row === undefined) return [];
  const { command: chosen } = await row.load();
  const last = rest.at(-1) ?? '';
  if (last.startsWith('-')) return flagsOf(chosen);
  const { completes } = chosen;
  if (completes === undefined) return [];
  if (typeof completes !== 'string') return [...completes];
  return objectCandidates(chosen, rest, asking);
}

function flagsOf({ flags }: Command): string[] {
  const table: FlagTable = { ...flags, ...standardFlags };
  return Object.keys(table).flatMap((name) =>
    table[name]?.hidden ? [] : [name.length === 1 ? `-${name}` : `--${name}`],
  );
}

/** `KIND`, then `NAME`; or `KIND/NAME`. */
async function objectCandidates(
  chosen: Command,
  words: readonly string[],
  { env, log, signal }: Asking,
): Promise<string[]> {
  const last = words.at(-1) ?? '';
  // The flags that stand before the word: the namespace, the kubeconfig.
  const table: FlagTable = { ...chosen.flags, ...standardFlags };
  const { values, args } = parseFlags({ table, argv: words.slice(0, -1), env });
  const flags = values as unknown as FlagValues<typeof connectionFlags & typeof namespaceFlags>;
  const slash = last.indexOf('/');
  const isKind = args.length === 0 && slash < 0;
  if (isKind && chosen.completes === 'subjects') return SUBJECT_WORDS;
  await using client = await openClient({ flags, env, log });
  if (isKind) {
    const { resources } = await client.kube.servedResources({ signal: within(signal) });
    return resources.map(({ plural }) => plural).toSorted();
  }
  const kind = slash < 0 ? (args[0] ?? '') : last.slice(0, slash);
  const names = await namesOf(client, { kind, namespace: flags.namespace ?? flags.n, signal });
  return slash < 0 ? names : names.map((name) => `${kind}/${name}`);
}

async function namesOf(
  { kube, defaultNamespace }: ObjectClient,
  asked: { kind: string; namespace: string | undefined; signal: AbortSignal },
): Promise<string[]> {
  const signal = within(asked.signal);
  const known = kindOfWord(asked.kind);
  const resource =
    known === undefined
      ? findResource((await kube.servedResources({ signal })).resources, asked.kind)
      : EXPLAINED_RESOURCES[known];
  const { items } = await kube.list(resource, {
    ...(resource.namespaced && { namespace: asked.namespace ?? defaultNamespace }),
    signal,
  });
  return items.map(({ metadata }) => metadata.name);
}

const within = (parent: AbortSignal): AbortSignal =>
  startDeadline({
    clock: realClock,
    delayMs: TIMEOUT_MS,
    reason: () => new Error('the server does not answer'),
    parent,
  }).signal;
