// The report of a failing run: the rule, the smallest run that still violates it, and a timeline.

import { RULES, type Rule } from './checkers/index.ts';
import type { Entry } from './history.ts';
import type { Plan } from './plan.ts';
import { isNoise, lineOf } from './render.ts';
import type { Shrunk } from './shrink.ts';

/** A longer timeline is reduced to the entries about the violation's objects. */
const LONGEST_TIMELINE = 120;

/** `flags`: those of the command line that the seed alone does not say. */
export function reportOf(shrunk: Shrunk, flags = ''): string {
  const { run } = shrunk;
  const [violation] = run.violations;
  if (violation === undefined) return `seed ${run.seed}: nothing was violated\n`;
  const lines = [
    `seed ${run.seed} violates ${violation.rule}: ${RULES[violation.rule as Rule] ?? ''}`,
    `  ${violation.text}`,
    '',
    `the smallest run found in ${shrunk.runs} attempts: ${run.plan.steps.length} user actions, ` +
      `${run.plan.events.length} planned events, faults: ${shrunk.faults.join(', ') || 'none'}`,
    ...describePlan(run.plan),
    '',
    'what happened:',
    ...timelineOf(run.entries).map(lineOf),
    '',
    `again: berth sim --seed ${run.seed}${flags} --trace`,
  ];
  return `${lines.join('\n')}\n`;
}

export function describePlan({ drivers, nodes, classes, steps, events }: Plan): string[] {
  return [
    ...drivers.map(({ name, short: _short, ...can }) => {
      const able = Object.entries(can).filter(([, value]) => value === true);
      return `  driver ${name}: ${able.map(([key]) => key).join(', ') || 'bare'}, replicas ${can.replicas}`;
    }),
    `  nodes ${nodes.map(({ name, zone }) => `${name} (zone ${zone})`).join(', ')}`,
    `  classes ${classes.map(({ name, reclaim, binding }) => `${name} (${reclaim}, ${binding})`).join(', ')}`,
    ...steps.map(({ atMs, action }) => `  ${(atMs / 1000).toFixed(3)}s ${JSON.stringify(action)}`),
    ...events.map(
      ({ atMs, id, target, forMs, answer }) =>
        `  ${(atMs / 1000).toFixed(3)}s ${id} ${target} for ${forMs} ms${answer ? ` with another ${answer}` : ''}`,
    ),
  ];
}

/** The entries up to the violation; only those about the same objects if there are too many. */
export function timelineOf(entries: readonly Entry[]): Entry[] {
  const end = entries.findIndex(({ kind }) => kind === 'violation');
  const told = (end < 0 ? entries : entries.slice(0, end + 1)).filter((entry) => !isNoise(entry));
  if (told.length <= LONGEST_TIMELINE) return told;
  const concerned = concernedBy(told);
  const related = told.filter((entry) => {
    if (entry.kind === 'process' || entry.kind === 'phase' || entry.kind === 'violation') return true;
    return entry.kind === 'fault'
      ? !entry.fault.startsWith('watch-')
      : namesIn(entry).some((name) => concerned.has(name));
  });
  return related.slice(-LONGEST_TIMELINE);
}

/** Names in the violation, and names that share an entry with them: a claim's volume, the volume's handle. */
function concernedBy(entries: readonly Entry[]): Set<string> {
  const text = entries.findLast((entry) => entry.kind === 'violation')?.text ?? '';
  const concerned = new Set(entries.flatMap(namesIn).filter((name) => text.includes(name)));
  for (let round = 0; round < 3; round++) {
    for (const entry of entries) {
      const names = namesIn(entry);
      if (names.some((name) => concerned.has(name))) for (const name of names) concerned.add(name);
    }
  }
  return concerned;
}

const OBJECTS =
  /^(persistentvolumes|persistentvolumeclaims|pods|volumeattachments|volume(group)?snapshot(content)?s)$/;

function namesIn(entry: Entry): string[] {
  switch (entry.kind) {
    case 'api': {
      if (!OBJECTS.test(entry.plural)) return [];
      const { spec } = (entry.after ?? entry.before) as unknown as { spec?: Record<string, never> };
      const source = spec as {
        volumeName?: string;
        csi?: { volumeHandle?: string };
        source?: { persistentVolumeName?: string };
      };
      const others = [source?.volumeName, source?.csi?.volumeHandle, source?.source?.persistentVolumeName];
      return [entry.key, ...others.filter((name) => name !== undefined)];
    }
    case 'call':
    case 'delivered':
    case 'returned':
      return [entry.call.volume];
    case 'storage':
      return [entry.volume, entry.name].filter((name) => name !== '');
    case 'snapshot':
      return [entry.snapshot, entry.source, entry.name, entry.group].filter((name) => name !== '');
    case 'write':
      return OBJECTS.test(entry.plural) ? [entry.key] : [];
    case 'user':
      return [...entry.text.matchAll(/"(?:name|claims)":\[?"([^"]+)"/g)].map(([, name]) => `default/${name}`);
    default:
      return [];
  }
}
