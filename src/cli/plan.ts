// `berth plan`: what a cluster of a given size needs, from measured costs. Asks no cluster.

import { stringify } from 'yaml';
import type { PlanInput } from '../plan/load.ts';
import { planScale } from '../plan/plan.ts';
import { manifestFlagsOf, planLines, resourcesOf } from '../plan/report.ts';
import {
  boolFlag,
  choiceFlag,
  durationFlag,
  type Flag,
  flagOf,
  InvalidValue,
  intFlag,
} from '../runtime/flags/flag.ts';
import { defineCommand } from './command.ts';

const PER: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 };
const MOST_A_SECOND = 1_000_000;
const OUTPUTS = ['text', 'json', 'yaml'] as const;

/** A second; `5`, `5/s`, `300/m`, `2000/h`. */
const rateFlag = (options: { help: string; default: number }): Flag<number> =>
  flagOf<number>(
    {
      type: 'rate',
      parse(text) {
        const [, number, unit = 's'] = /^(\d+(?:\.\d+)?)(?:\/([smh]))?$/.exec(text) ?? [];
        if (number === undefined) throw new InvalidValue('must be a rate such as 5, 5/s, 300/m or 2000/h');
        const perSecond = Number(number) / (PER[unit] ?? 1);
        if (perSecond > MOST_A_SECOND) throw new InvalidValue(`must be at most ${MOST_A_SECOND}/s`);
        return perSecond;
      },
      format: (value) => `${value}/s`,
    },
    options,
  );

export const command = defineCommand({
  summary: 'Says what a cluster of a given size needs, and which limit it meets first',
  description:
    'Memory, processor time and traffic of each part, the limits in the order in which they are met, how many replicas with ' +
    '--sharding are wanted, and requests for `berth manifests`. From measured costs, without asking a cluster: docs/scale.md says ' +
    'how they were measured and how far predictions were off. Example: `berth plan --volumes 100000 --nodes 5000 --churn 20/s`.',
  flags: {
    volumes: intFlag({
      help: 'Volumes in use, each with its claim, its attachment and a pod',
      required: true,
      min: 0,
      max: 100_000_000,
    }),
    nodes: intFlag({ help: 'Nodes', required: true, min: 1, max: 1_000_000 }),
    churn: rateFlag({
      help: 'Volumes made, mounted, unmounted and deleted again: so many a second, as in 5, 5/s, 300/m or 2000/h',
      default: 1,
    }),
    'call-duration': durationFlag({
      help: 'How long the driver takes to create, delete, attach or detach a volume',
      default: 200,
    }),
    replicas: intFlag({
      help: 'Replicas of the sidecars, each on its share (--sharding); as many as are wanted unless given',
      min: 1,
      max: 1_000,
    }),
    'worker-threads': intFlag({
      help: 'Of provisioner and attacher; 100 and 10, their defaults, unless given',
      min: 1,
      max: 100_000,
    }),
    separate: boolFlag({ help: 'A container for each sidecar instead of one for all' }),
    'apiserver-cores': intFlag({
      help: 'Cores that kube-apiserver has, on all its machines together',
      default: 8,
      min: 1,
      max: 10_000,
    }),
    'etcd-writes': intFlag({
      help: 'Writes a second that etcd takes: measure your own; this is a cautious figure for good disks',
      default: 5_000,
      min: 1,
      max: 1_000_000,
    }),
    output: choiceFlag({ help: 'Output format (also -o)', choices: OUTPUTS, default: 'text' }),
    o: choiceFlag({ help: 'Same as --output', choices: OUTPUTS, default: 'text', hidden: true }),
  },
  async run({ flags, stdout }) {
    const input: PlanInput = {
      volumes: flags.volumes as number,
      nodes: flags.nodes as number,
      churn: flags.churn,
      callMs: flags.callDurationMs,
      apiserverCores: flags.apiserverCores,
      etcdWrites: flags.etcdWrites,
      isSeparate: flags.separate,
      ...(flags.replicas !== undefined && { replicas: flags.replicas }),
      ...(flags.workerThreads !== undefined && { workers: flags.workerThreads }),
    };
    const plan = planScale(input);
    const resources = resourcesOf(plan);
    const manifests = manifestFlagsOf(plan);
    const format = flags.o === 'text' ? flags.output : flags.o;
    if (format !== 'text') {
      const whole = { ...plan, manifests: { flags: manifests, resources } };
      stdout.write(format === 'json' ? `${JSON.stringify(whole, undefined, 2)}\n` : stringify(whole));
      return;
    }
    for (const line of planLines(plan)) stdout.write(`${line}\n`);
    stdout.write(`\nberth manifests … ${manifests}\n`);
    stdout.write(`# values of the chart that --format helm writes, and resources of the containers\n`);
    stdout.write(stringify({ resources }));
  },
});
