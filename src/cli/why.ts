// `berth why`: which step in the lifecycle of a volume is stuck, which component has to act, and what to do. Read-only,
// for any cluster.

import { persistentVolumeClaims, persistentVolumes, pods } from '../api/kinds.ts';
import type { Resource } from '../api/object.ts';
import { choiceFlag } from '../runtime/flags/flag.ts';
import { printableLine } from '../runtime/log/printable.ts';
import { realClock } from '../runtime/time/clock.ts';
import type { Link } from '../why/chain.ts';
import { explain, type Subject } from '../why/explain.ts';
import { readFacts } from '../why/facts.ts';
import { defineCommand } from './command.ts';
import { connectionFlags, namespaceFlags } from './objects/object-flags.ts';
import { openClient } from './objects/open-client.ts';
import { aligned } from './objects/print-table.ts';
import { subjectOf } from './objects/subject-argument.ts';

const SUBJECTS: Readonly<Record<Subject, Resource>> = {
  pod: pods as Resource,
  claim: persistentVolumeClaims as Resource,
  volume: persistentVolumes as Resource,
};

export const command = defineCommand({
  summary: 'Shows why a pod, claim or volume is stuck, which component has to act, and what to do',
  description:
    'Follows the objects from the pod to its storage, up to the first step that is not done. Works ' +
    'with any cluster and only reads. Examples: `berth why pod web`, `berth why pvc/data`, `berth why pv pvc-1`.',
  arguments: { usage: 'pod|pvc|pv NAME', min: 1, max: 2 },
  flags: {
    ...connectionFlags,
    ...namespaceFlags,
    output: choiceFlag({ help: 'Output format (also -o)', choices: ['text', 'json'], default: 'text' }),
    o: choiceFlag({ help: 'Same as --output', choices: ['text', 'json'], default: 'text', hidden: true }),
  },
  async run({ flags, args, env, log, signal, stdout }) {
    const { kind: subject, name } = subjectOf(args, ['pod', 'claim', 'volume']);
    await using client = await openClient({ flags, env, log });
    const resource = SUBJECTS[subject];
    const namespace = resource.namespaced
      ? (flags.namespace ?? flags.n ?? client.defaultNamespace)
      : undefined;
    const asked = await client.kube.get(resource, { name, ...(namespace && { namespace }) }, { signal });
    const facts = await readFacts(client.kube, { nowMs: realClock.now(), namespace, signal });
    const links = explain(facts, subject, asked);
    const isJson = flags.output === 'json' || flags.o === 'json';
    const lines = isJson
      ? [JSON.stringify({ links, unread: facts.unread }, undefined, 2)]
      : linesOf(`${resource.kind} ${namespace ? `${namespace}/` : ''}${name}`, links, facts.unread);
    stdout.write(`${lines.join('\n')}\n`);
  },
});

const SHOWN = { ok: 'ok', waits: 'WAITS', stuck: 'STUCK' } as const;

export function linesOf(asked: string, links: readonly Link[], unread: readonly string[]): string[] {
  const culprit = links.find(({ state }) => state !== 'ok');
  const answer = culprit
    ? printableLine(`${culprit.subject}: ${culprit.says}`)
    : `nothing is wrong with ${asked}`;
  return [
    answer,
    '',
    ...aligned(links.map(({ state, subject, says }) => [`  ${SHOWN[state]}`, subject, says])),
    ...(culprit?.said ?? []).map((text) => `        ${printableLine(text)}`),
    ...(culprit?.todo ?? []).map((text) => `        → ${text}`),
    ...(unread.length === 0
      ? []
      : [
          '',
          `This account may not list ${unread.join(', ')}, or the server does not serve them: the answer may be incomplete.`,
        ]),
  ];
}
