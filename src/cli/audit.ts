// `berth audit`: what the storage has and the cluster does not know, and the reverse. Reads only, except for `fix` and `apply`.

import { readFile, writeFile } from 'node:fs/promises';
import { type Audit, type AuditOptions, type AuditPorts, audit } from '../audit/audit.ts';
import { DEFAULT_JUDGE_OPTIONS } from '../audit/decide/options.ts';
import { applyPlan } from '../audit/perform/apply-plan.ts';
import { type Plan, PlanError, parsePlan, planOf, planText } from '../audit/plan-file.ts';
import { auditJson, auditLines, type Verdict, verdictOf } from '../audit/report.ts';
import { connectCsi } from '../csi/client/connect-csi.ts';
import { boolFlag, choiceFlag, durationFlag, mapFlag, stringFlag } from '../runtime/flags/flag.ts';
import type { FlagValues } from '../runtime/flags/parse-flags.ts';
import { printableLine } from '../runtime/log/printable.ts';
import { realClock } from '../runtime/time/clock.ts';
import { findDriver } from './auditing/find-driver.ts';
import { auditThisNode, nodeLines } from './auditing/node-command.ts';
import { type CommandOutput, defineCommand, ExitCode, UsageError } from './command.ts';
import { connectionFlags } from './objects/object-flags.ts';
import { openClient } from './objects/open-client.ts';

const EXIT: Readonly<Record<Verdict, ExitCode>> = {
  clean: ExitCode.ok,
  leaks: ExitCode.leaks,
  doubts: ExitCode.doubts,
};

const flags = {
  ...connectionFlags,
  'csi-address': stringFlag({
    help: "Socket of the driver's controller service, unix:///path; without it hostpath of `berth up`",
    group: 'Server',
  }),
  timeout: durationFlag({
    help: 'Time-out of each call to the driver',
    default: 60_000,
    min: 1,
    group: 'Server',
  }),
  'lease-namespace': stringFlag({
    help: 'Namespace of the provisioner’s records; without it all namespaces are read',
    group: 'Server',
  }),
  'min-age': durationFlag({
    help: 'What is younger is not a leak yet; where the age is not known, the time since it was first seen counts',
    default: DEFAULT_JUDGE_OPTIONS.minAgeMs,
    min: 0,
  }),
  'confirm-after': durationFlag({ help: 'Time between the two looks', default: 10_000, min: 0 }),
  'volume-name-prefix': stringFlag({
    help: 'As given to the provisioner: other prefixes are of other clusters',
    default: DEFAULT_JUDGE_OPTIONS.volumeNamePrefix,
  }),
  'cluster-id': mapFlag({
    help: 'KEY=VALUE in the context of this cluster’s volumes; another value is another cluster’s',
  }),
  exclusive: boolFlag({ help: 'No other cluster uses this storage: what nobody knows is this cluster’s' }),
  'include-kept': boolFlag({
    help: 'Plan to delete also what a class with policy Retain may have left on purpose',
  }),
  'plan-out': stringFlag({ help: 'Write what would be done to this file, for `berth audit apply`' }),
  'dry-run': boolFlag({ help: 'With fix and apply: check everything, and do nothing' }),
  root: stringFlag({ help: 'With node: the kubelet’s directory', group: 'Node' }),
  output: choiceFlag({ help: 'Output format (also -o)', choices: ['text', 'json'], default: 'text' }),
  o: choiceFlag({ help: 'Same as --output', choices: ['text', 'json'], default: 'text', hidden: true }),
};
type Flags = FlagValues<typeof flags>;

export const command = defineCommand({
  summary: 'Finds volumes, snapshots, attachments and mounts that are leaked or stale',
  description:
    'Compares what the driver lists with what the cluster knows, twice, and shows the evidence for each difference. It changes ' +
    'nothing, except: `fix FINDING…` does what the report says for these, and `apply FILE` carries out a reviewed plan of ' +
    '--plan-out; both check everything again, and refuse when anything has changed or is under way. `node [NAME]` looks on ' +
    'this machine for mounts and directories that no pod owns. Exit codes: 0 nothing found, 3 something is leaked or stale, ' +
    '4 something is doubtful or could not be compared, 1 failed or refused.',
  arguments: { usage: '[fix FINDING… | apply FILE | node [NAME]]', min: 0, max: 1_000 },
  completes: ['fix', 'apply', 'node'],
  flags,
  async run({ flags, args, env, log, signal, stdout, stderr }) {
    const [verb, ...rest] = args;
    if (verb !== undefined && !['fix', 'apply', 'node'].includes(verb))
      throw new UsageError(`expected fix, apply, node or nothing, got ${verb}`);
    const plan = verb === 'apply' ? await readPlan(rest) : undefined;
    if (verb === 'fix' && rest.length === 0)
      throw new UsageError('fix which? Name a finding of `berth audit`');
    await using client = await openClient({ flags, env, log });
    const isJson = flags.output === 'json' || flags.o === 'json';
    if (verb === 'node') {
      const found = await auditThisNode({ kube: client.kube, flags, env, name: rest[0], signal });
      const { facts: _facts, ...json } = found;
      stdout.write(isJson ? `${JSON.stringify(json, undefined, 2)}\n` : `${nodeLines(found).join('\n')}\n`);
      return found.orphans.length > 0 ? ExitCode.leaks : ExitCode.ok;
    }
    const { address, isOwn } = findDriver(flags, env);
    const csi = connectCsi({ address, clock: realClock, log });
    try {
      const ports: AuditPorts = { kube: client.kube, csi, clock: realClock };
      const options = optionsOf(flags, isOwn);
      const progress = stderr.isTTY ? (text: string) => void stderr.redraw(text) : () => {};
      if (plan) return await apply(ports, plan, options, { signal, stdout, flags });
      const found = await audit(ports, options, signal, progress);
      if (stderr.isTTY) stderr.redraw('');
      if (verb === 'fix') return await apply(ports, planFor(found, rest), options, { signal, stdout, flags });
      await report(found, { isJson, stdout, planOut: flags.planOut });
      return EXIT[verdictOf(found)];
    } finally {
      csi.close();
    }
  },
});

function optionsOf(flags: Flags, isOwn: boolean): AuditOptions {
  const [mark, ...more] = Object.entries(flags.clusterId);
  if (more.length > 0) throw new UsageError('--cluster-id takes one KEY=VALUE');
  return {
    minAgeMs: flags.minAgeMs,
    volumeNamePrefix: flags.volumeNamePrefix,
    isExclusive: flags.exclusive || isOwn,
    includesKept: flags.includeKept,
    ...(mark && { clusterMark: { key: mark[0], value: mark[1] } }),
    timeoutMs: flags.timeoutMs,
    confirmAfterMs: flags.confirmAfterMs,
    leaseNamespace: flags.leaseNamespace,
  };
}

async function report(
  found: Audit,
  to: { isJson: boolean; stdout: CommandOutput; planOut: string | undefined },
): Promise<void> {
  const { isJson, stdout, planOut } = to;
  if (isJson) stdout.write(`${JSON.stringify(auditJson(found), undefined, 2)}\n`);
  else for (const line of auditLines(found)) stdout.write(`${printableLine(line)}\n`);
  if (planOut === undefined) return;
  const plan = planOf(found);
  await writeFile(planOut, planText(plan), { mode: 0o600 });
  if (!isJson)
    stdout.write(
      `${plan.steps.length} steps written to ${planOut}; review them, then: berth audit apply ${planOut}\n`,
    );
}

function planFor(found: Audit, ids: readonly string[]): Plan {
  const known = new Map(found.findings.map((finding) => [finding.id, finding]));
  const findings = ids.map((id) => {
    const finding = known.get(id);
    if (finding === undefined) throw new Error(`there is no finding ${id} now; nothing was done`);
    if (finding.action === undefined)
      throw new Error(`nothing is done about ${id}: ${finding.advice ?? finding.says}; nothing was done`);
    return finding;
  });
  return planOf({ ...found, findings });
}

async function readPlan(args: readonly string[]): Promise<Plan> {
  const [file, ...more] = args;
  if (file === undefined || more.length > 0)
    throw new UsageError('apply which plan? Name the file of --plan-out');
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new UsageError(`cannot read ${file}: ${error.message}`);
  });
  try {
    return parsePlan(text);
  } catch (error) {
    if (!(error instanceof PlanError)) throw error;
    throw new UsageError(`${file} is not a plan: ${error.message}; nothing was done`);
  }
}

async function apply(
  ports: AuditPorts,
  plan: Plan,
  options: AuditOptions,
  to: { signal: AbortSignal; stdout: CommandOutput; flags: Flags },
): Promise<ExitCode> {
  const { signal, stdout, flags } = to;
  if (plan.steps.length === 0) {
    stdout.write('the plan has no steps\n');
    return ExitCode.ok;
  }
  const isDryRun = flags.dryRun;
  const done = await applyPlan(ports, plan, { ...options, isDryRun }, signal, ({ does }) =>
    stdout.write(`${printableLine(`done: ${does}`)}\n`),
  );
  if (isDryRun) {
    for (const { does } of plan.steps) stdout.write(`${printableLine(`would ${does}`)}\n`);
    return ExitCode.ok;
  }
  stdout.write(`${done} of ${plan.steps.length} steps done\n`);
  return ExitCode.ok;
}
