// `berth why`: what is wrong with a volume or anything that it depends on, which component reported it, and what to do. Read-only, for
// any cluster.

import {
  csiDrivers,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  storageClasses,
  volumeGroupSnapshots,
  volumeSnapshots,
} from '../api/kinds.ts';
import type { ObjectName, Resource } from '../api/object.ts';
import { boolFlag, choiceFlag } from '../runtime/flags/flag.ts';
import { printableLine } from '../runtime/log/printable.ts';
import type { Piece, Tone } from '../runtime/log/styled-text.ts';
import { realClock } from '../runtime/time/clock.ts';
import type { Link, Trouble } from '../why/chain.ts';
import { type ExplainedKind, explain } from '../why/explain.ts';
import { type Facts, readFacts } from '../why/facts.ts';
import { findTroubles } from '../why/find-troubles.ts';
import { defineCommand, ExitCode } from './command.ts';
import { connectionFlags, namespaceFlags } from './objects/object-flags.ts';
import { type ObjectClient, openClient } from './objects/open-client.ts';
import { aligned } from './objects/print-table.ts';
import { subjectOf } from './objects/subject-argument.ts';

export const EXPLAINED_RESOURCES: Readonly<Record<ExplainedKind, Resource>> = {
  pod: pods as Resource,
  claim: persistentVolumeClaims as Resource,
  volume: persistentVolumes as Resource,
  snapshot: volumeSnapshots as Resource,
  group: volumeGroupSnapshots as Resource,
  node: nodes as Resource,
  driver: csiDrivers as Resource,
  class: storageClasses as Resource,
};
const KINDS = Object.keys(EXPLAINED_RESOURCES) as ExplainedKind[];

/** Between two readings of `-w`. */
const WATCH_MS = 2_000;

interface Answer {
  readonly lines: readonly string[];
  readonly json: object;
  readonly worst: Link['state'];
}

export const command = defineCommand({
  summary: 'Shows what is wrong with volumes, who reported it, and what to do',
  description:
    'With a name: follows the objects from there to the storage, up to the first step that is not done. Without one: ' +
    'everything that is not well, one entry a cause, the worst first. Works with any cluster and only reads. Examples: ' +
    '`berth why`, `berth why pod web`, `berth why pvc/data`, `berth why node node-1`. With --exit-code it exits ' +
    'with 3 when something is stuck and 4 when something only waits.',
  arguments: { usage: '[pod|pvc|pv|snapshot|group|node|driver|class NAME]', min: 0, max: 2 },
  completes: 'subjects',
  flags: {
    ...connectionFlags,
    ...namespaceFlags,
    output: choiceFlag({ help: 'Output format (also -o)', choices: ['text', 'json'], default: 'text' }),
    o: choiceFlag({ help: 'Same as --output', choices: ['text', 'json'], default: 'text', hidden: true }),
    watch: boolFlag({ help: 'Answer again whenever the answer changes (also -w)' }),
    w: boolFlag({ help: 'Same as --watch', hidden: true }),
    'exit-code': boolFlag({ help: 'Exit with 3 when something is stuck, with 4 when something waits' }),
  },
  async run({ flags, args, env, log, signal, stdout }) {
    const asked = args.length === 0 ? undefined : subjectOf(args, KINDS);
    await using client = await openClient({ flags, env, log });
    const given = flags.namespace ?? flags.n;
    const isJson = flags.output === 'json' || flags.o === 'json';
    const answer = (): Promise<Answer> =>
      asked === undefined
        ? answerAll(client, given, signal)
        : answerOne(client, { ...asked, namespace: given ?? client.defaultNamespace }, signal);
    const textOf = ({ lines, json }: Answer): string =>
      isJson ? JSON.stringify(json, undefined, 2) : lines.join('\n');
    const print = (given: Answer): void => {
      if (isJson) stdout.write(`${textOf(given)}\n`);
      else for (const line of given.lines) stdout.line(piecesOf(line));
    };
    let last = await answer();
    print(last);
    while (flags.watch || flags.w) {
      await realClock.sleep(WATCH_MS, signal);
      const next = await answer();
      if (withoutAges(textOf(next)) !== withoutAges(textOf(last))) {
        if (!isJson) stdout.write(`\n${new Date(realClock.now()).toISOString()}\n`);
        print(next);
      }
      last = next;
    }
    if (!flags.exitCode || last.worst === 'ok') return ExitCode.ok;
    return last.worst === 'stuck' ? ExitCode.stuck : ExitCode.waits;
  },
});

const TONES: Readonly<Record<string, Tone>> = { ok: 'good', WAITS: 'warn', STUCK: 'bad' };

/** The state is coloured, and what to do stands out. */
function piecesOf(line: string): Piece[] {
  const [, indent = '', state = '', rest = ''] = /^(\s*)(ok|WAITS|STUCK)(\s.*)$/.exec(line) ?? [];
  const tone = TONES[state];
  if (tone === undefined) return [{ text: line, tone: line.includes('→ ') ? 'strong' : 'plain' }];
  return [
    { text: indent, tone: 'plain' },
    { text: state, tone },
    { text: rest, tone: 'plain' },
  ];
}

/** Durations and counts change all the time. */
const withoutAges = (text: string): string => text.replaceAll(/\b(?:\d+h)?(?:\d+m)?\d+s\b|, \d+ times/g, '');

async function answerOne(
  { kube }: ObjectClient,
  asked: { kind: ExplainedKind; name: string; namespace: string },
  signal: AbortSignal,
): Promise<Answer> {
  const resource = EXPLAINED_RESOURCES[asked.kind];
  const namespace = resource.namespaced ? asked.namespace : undefined;
  const at: ObjectName = { name: asked.name, ...(namespace !== undefined && { namespace }) };
  const object = await kube.get(resource, at, { signal });
  const facts = await readFacts(kube, { nowMs: realClock.now(), namespace, signal });
  const links = explain(facts, asked.kind, object);
  const { unread } = facts;
  const name = `${resource.kind} ${namespace ? `${namespace}/` : ''}${asked.name}`;
  return {
    lines: linesOf(name, links, unread),
    json: { links, unread },
    worst: links.find(({ state }) => state !== 'ok')?.state ?? 'ok',
  };
}

async function answerAll(
  { kube }: ObjectClient,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<Answer> {
  const facts = await readFacts(kube, { nowMs: realClock.now(), namespace, signal });
  const troubles = findTroubles(facts);
  return {
    lines: troubleLines(troubles, facts),
    json: { troubles, unread: facts.unread },
    worst: troubles[0]?.state ?? 'ok',
  };
}

const SHOWN = { ok: 'ok', waits: 'WAITS', stuck: 'STUCK' } as const;

export function linesOf(asked: string, links: readonly Link[], unread: readonly string[]): string[] {
  const culprit = links.find(({ state }) => state !== 'ok');
  const answer = culprit
    ? printableLine(`${culprit.subject}: ${culprit.says}`)
    : `nothing is wrong with ${asked}`;
  return [
    answer,
    ...(culprit?.todo ?? []).map((text) => `  → ${printableLine(text)}`),
    '',
    ...aligned(links.map(({ state, subject, says }) => [`  ${SHOWN[state]}`, subject, says])),
    ...(culprit?.said ?? []).map((text) => `        ${printableLine(text)}`),
    ...incomplete(unread),
  ];
}

/** Affected objects that are listed by name. */
const MOST_NAMED = 4;

export function troubleLines(
  troubles: readonly Trouble[],
  facts: Pick<Facts, 'unread' | 'claims' | 'pods'>,
): string[] {
  const entries = troubles.flatMap(({ state, subject, says, todo, affects }) => {
    const others = affects.filter((name) => name !== subject);
    const named = others.slice(0, MOST_NAMED).join(', ');
    const more = others.length > MOST_NAMED ? ` and ${others.length - MOST_NAMED} more` : '';
    return [
      printableLine(`${SHOWN[state]}  ${subject}: ${says}`),
      ...(others.length > 0 ? [`       affects ${named}${more}`] : []),
      ...todo.map((text) => `       → ${printableLine(text)}`),
    ];
  });
  const looked = `${facts.pods.length} pods and ${facts.claims.length} claims were looked at`;
  return [...(entries.length > 0 ? entries : [`nothing is wrong: ${looked}`]), ...incomplete(facts.unread)];
}

function incomplete(unread: readonly string[]): string[] {
  if (unread.length === 0) return [];
  return [
    '',
    `This account may not list ${unread.join(', ')}, or the server does not serve them: the answer may be incomplete.`,
  ];
}
