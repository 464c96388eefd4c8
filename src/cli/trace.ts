// `berth trace`: the recorded history of an object, from `berth up`, and what it waits for now.

import { keyOf } from '../api/object.ts';
import { boolFlag, choiceFlag, durationFlag } from '../runtime/flags/flag.ts';
import { isNotFound } from '../runtime/kube/kube-error.ts';
import { printableLine } from '../runtime/log/printable.ts';
import type { Piece } from '../runtime/log/styled-text.ts';
import { realClock } from '../runtime/time/clock.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../trace/related-entries.ts';
import { duration, Timeline } from '../trace/timeline.ts';
import type { CsiEntry, RetryEntry, TraceLine } from '../trace/trace-entry.ts';
import { TRACE_PATH } from '../trace/trace-path.ts';
import { explain } from '../why/explain.ts';
import { readFacts } from '../why/facts.ts';
import { defineCommand, ExitCode } from './command.ts';
import { connectionFlags, namespaceFlags } from './objects/object-flags.ts';
import { type ObjectClient, openClient } from './objects/open-client.ts';
import { findKubeConfig, readLines } from './objects/read-lines.ts';
import { subjectOf } from './objects/subject-argument.ts';
import { EXPLAINED_RESOURCES } from './why.ts';

interface Asked {
  readonly kind: SubjectKind;
  readonly namespace: string;
  readonly name: string;
}

export const command = defineCommand({
  summary:
    'Shows the history of a pod, claim, volume or snapshot: every change, CSI call and retry, in order',
  description:
    'Needs the API server of `berth up`, which records it, and keeps it over restarts when it has a data directory. It is the ' +
    'history of the object that exists now; a line marks where an earlier one of that name ended. The last line says what is ' +
    'waited for. Examples: `berth trace pod web`, `berth trace pvc data -f`, `berth trace pvc data --calls --since 10m`.',
  arguments: { usage: 'pod|pvc|pv|snapshot|group NAME', min: 1, max: 2 },
  completes: 'subjects',
  flags: {
    ...connectionFlags,
    ...namespaceFlags,
    follow: boolFlag({ help: 'Follow new entries (also -f)' }),
    f: boolFlag({ help: 'Same as --follow', hidden: true }),
    calls: boolFlag({ help: 'Only CSI calls' }),
    since: durationFlag({ help: 'Only entries of this last time, such as 10m; 0: all', default: 0 }),
    output: choiceFlag({ help: 'Output format (also -o)', choices: ['text', 'json'], default: 'text' }),
    o: choiceFlag({ help: 'Same as --output', choices: ['text', 'json'], default: 'text', hidden: true }),
  },
  async run({ flags, args, env, log, signal, stdout, stderr }) {
    const subject = subjectOf(args, SUBJECT_KINDS);
    const config = await findKubeConfig(flags, env);
    const asked = { ...subject, namespace: flags.namespace ?? flags.n ?? config.namespace ?? 'default' };
    const follow = flags.follow || flags.f;
    const isText = flags.output !== 'json' && flags.o !== 'json';
    const query = new URLSearchParams({ ...asked, follow: String(follow) });
    const timeline = new Timeline({ columns: stdout.columns });
    const sinceMs = flags.sinceMs > 0 ? realClock.now() - flags.sinceMs : 0;
    const all: TraceLine[] = [];
    let told = 0;
    for await (const text of readLines(config, { path: `${TRACE_PATH}?${query}`, what: 'trace', signal })) {
      const line = JSON.parse(text) as TraceLine;
      all.push(line);
      if (line.atMs < sinceMs || (flags.calls && line.kind !== 'csi')) continue;
      told += 1;
      if (!isText) stdout.write(`${printableLine(text)}\n`);
      else for (const pieces of timeline.lines(line, realClock.now())) stdout.line(pieces);
    }
    if (told === 0 && !signal.aborted) {
      stderr.write(
        `berth trace: nothing is recorded of ${subject.kind} ${asked.namespace}/${subject.name}` +
          `${flags.calls || sinceMs > 0 ? ' that fits --calls and --since' : '; entries are kept only since the start of berth up'}\n`,
      );
      return ExitCode.failed;
    }
    if (!isText || follow) return ExitCode.ok;
    await using client = await openClient({ flags, env, log });
    stdout.line(await nowLine(all, { asked, client, signal }));
    return ExitCode.ok;
  },
});

/** What is waited for: the answer to a call, the next try, or what `berth why` names. */
async function nowLine(
  lines: readonly TraceLine[],
  { asked, client, signal }: { asked: Asked; client: ObjectClient; signal: AbortSignal },
): Promise<Piece[]> {
  const nowMs = realClock.now();
  const now = (text: string, tone: Piece['tone']): Piece[] => [
    { text: 'now: ', tone: 'strong' },
    { text, tone },
  ];
  const call = lines.findLast(
    (line): line is CsiEntry => line.kind === 'csi' && line.durationMs === undefined,
  );
  if (call)
    return now(
      `${call.by} waits for the answer to ${call.method}, for ${duration(nowMs - call.atMs)}`,
      'warn',
    );
  const isRetry = (line: TraceLine): line is RetryEntry => line.kind === 'retry';
  const at = lines.findLastIndex(isRetry);
  const retry = lines.slice(at).find(isRetry);
  // What the component did later ended the failure.
  const isOver = lines.slice(at + 1).some((line) => line.kind !== 'earlier' && line.by === retry?.by);
  const dueMs = retry ? retry.atMs + retry.retryInMs : 0;
  if (retry && !isOver && dueMs > nowMs) {
    return now(
      `${retry.by} tries ${retry.loop} ${retry.key} again in ${duration(dueMs - nowMs)}: ${retry.error}`,
      'warn',
    );
  }
  const resource = EXPLAINED_RESOURCES[asked.kind];
  const target = { name: asked.name, ...(resource.namespaced && { namespace: asked.namespace }) };
  const name = `${resource.kind} ${target.namespace ? `${target.namespace}/` : ''}${target.name}`;
  try {
    const object = await client.kube.get(resource, target, { signal });
    const facts = await readFacts(client.kube, { nowMs, namespace: object.metadata.namespace, signal });
    const culprit = explain(facts, asked.kind, object).find(({ state }) => state !== 'ok');
    if (culprit)
      return now(`${culprit.subject}: ${culprit.says}`, culprit.state === 'stuck' ? 'bad' : 'warn');
    return now(`nothing is waited for: ${resource.kind} ${keyOf(object)} is well`, 'good');
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return now(`${name} is gone`, 'plain');
  }
}
