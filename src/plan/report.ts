// A plan as text for a terminal: one table of parts, one of limits, and what to do. Pure.

import type { ScalePlan } from './plan.ts';

const MOST_LIMITS = 6;

export function planLines(plan: ScalePlan): string[] {
  const { input, limits } = plan;
  return [
    `${count(input.volumes)} volumes in use on ${count(input.nodes)} nodes; ${rate(input.churn)} a second are made, mounted, unmounted`,
    `and deleted; a call to the driver takes ${count(input.callMs)} ms.`,
    '',
    ...partTable(plan),
    '',
    ...table([
      ['limit, the first that is met first', 'used', 'met at'],
      ...limits
        .slice(0, MOST_LIMITS)
        .map(({ what, used, at }) => [what, percent(used), `${rate(at.number)} ${at.of}`]),
    ]),
    '',
    ...adviceLines(plan),
  ];
}

function partTable({ parts, others, total }: ScalePlan): string[] {
  return table([
    ['part', 'replicas', 'MB', 'cores', 'start s', 'writes/s', 'reads/s', 'events/s', 'MB/s'],
    ...parts.map(({ title, replicas, memoryMb, cores, startSeconds, traffic }) => [
      title,
      count(replicas),
      count(memoryMb),
      cores < 0.01 && cores > 0 ? '<0.01' : cores.toFixed(2),
      rate(startSeconds),
      ...trafficCells(traffic),
    ]),
    ['users and kubelets', '', '', '', '', ...trafficCells(others)],
    ['together', '', '', '', '', ...trafficCells(total)],
  ]);
}

const trafficCells = ({ writes, reads, watchEvents, watchBytes }: ScalePlan['total']): string[] => [
  rate(writes),
  rate(reads),
  rate(watchEvents),
  rate(watchBytes / 1e6),
];

function adviceLines({ input, limits, wantedReplicas }: ScalePlan): string[] {
  const lines: string[] = [];
  const [first] = limits;
  if (first) {
    const verdict = first.used > 1 ? 'is exceeded' : 'is met first';
    lines.push(`${first.what} ${verdict}. What helps:`, `  ${first.remedy}.`);
  }
  const have = input.replicas;
  if (wantedReplicas === undefined) {
    lines.push('No number of replicas of the sidecars carries this churn.');
  } else if (have !== undefined && have < wantedReplicas) {
    lines.push(
      `${have} replicas of the sidecars are too few: ${wantedReplicas} are wanted, with --sharding.`,
    );
  } else if (wantedReplicas > 1) {
    lines.push(`${wantedReplicas} replicas of the sidecars are wanted, with --sharding.`);
  } else {
    lines.push('One replica of the sidecars is enough; a second, with --leader-election, is a standby.');
  }
  return lines;
}

/** `--sharding --replicas N` and so on, for `berth manifests`. */
export function manifestFlagsOf({ parts, input }: ScalePlan): string {
  const replicas = parts.find(({ name }) => name === 'sidecars' || name === 'provisioner')?.replicas ?? 1;
  return [
    ...(replicas > 1 ? ['--sharding', `--replicas ${replicas}`] : ['--replicas 2']),
    ...(input.isSeparate ? ['--separate'] : []),
    ...(input.workers === undefined ? [] : workerArguments(input.workers, input.isSeparate === true)),
  ].join(' ');
}

const workerArguments = (workers: number, isSeparate: boolean): string[] =>
  isSeparate
    ? [`--arg provisioner=--worker-threads=${workers}`, `--arg attacher=--worker-threads=${workers}`]
    : [
        `--arg sidecars=--provisioner-worker-threads=${workers}`,
        `--arg sidecars=--attacher-worker-threads=${workers}`,
      ];

/** Of the containers that `berth manifests` prints: a request of a tenth of a core at least where work is expected. */
export function resourcesOf({
  parts,
}: ScalePlan): Record<string, { requests: { cpu: string; memory: string } }> {
  const printed = parts.filter(({ name }) => !['controller-manager', 'scheduler', 'node'].includes(name));
  return Object.fromEntries(
    printed.map(({ name, cores, requestMib }) => [
      name,
      {
        requests: { cpu: `${Math.max(10, Math.ceil((cores * 1000) / 10) * 10)}m`, memory: `${requestMib}Mi` },
      },
    ]),
  );
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
}

const count = (value: number): string => Math.round(value).toLocaleString('en');
/** Two digits that matter, and no more. */
const rate = (value: number): string =>
  value >= 10 ? count(value) : value.toLocaleString('en', { maximumSignificantDigits: 2 });
const percent = (part: number): string => (part > 0 && part < 0.01 ? '<1 %' : `${count(part * 100)} %`);
