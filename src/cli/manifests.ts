// `berth manifests`: prints the manifests that run a CSI driver in a cluster, for `kubectl apply -f -`; writes them as a
// Helm chart or a Kustomize base; or compares them with a cluster.

import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { askBroughtDriver } from '../cluster/brought-driver.ts';
import { socketPath } from '../csi/names/socket-path.ts';
import { commandLineProblem } from '../manifests/check-command-lines.ts';
import { compareWithCluster } from '../manifests/compare-with-cluster.ts';
import { driverObjects, PARTS, type Part } from '../manifests/driver-objects.ts';
import { driverChart, onceChart } from '../manifests/helm/driver-chart.ts';
import { kustomizeBase, manifestsText } from '../manifests/kustomize-base.ts';
import { onceObjects } from '../manifests/once-per-cluster.ts';
import { type Manifest, problemOf, warningOf } from '../manifests/plan.ts';
import { possibleDriverObjects, possibleOnceObjects } from '../manifests/possible-objects.ts';
import { realClock } from '../runtime/time/clock.ts';
import { type CommandContext, defineCommand, ExitCode, standardFlags, UsageError } from './command.ts';
import { commands } from './commands.ts';
import { availableSidecars, isOnce, manifestFlags, oncePlanOf, planOf } from './manifest-flags.ts';
import { openClient } from './objects/open-client.ts';
import { replaceOfficial } from './replace-official.ts';
import { packageVersion } from './version.ts';

const WITHOUT_ARGUMENTS =
  'berth manifests: warning: the driver gets no arguments, only CSI_ENDPOINT and NODE_ID in its environment; if it reads ' +
  "neither, give its arguments, as in --arg 'driver=--endpoint=$(CSI_ENDPOINT)' --arg 'driver=--nodeid=$(NODE_ID)'\n";

type Context = CommandContext<typeof manifestFlags>;

/** What was asked for, in each form. */
interface Deployment {
  /** By part; only those that are wanted. */
  parts: Record<string, Manifest[]>;
  chart(): Promise<Record<string, string>>;
  /** What other flags would have made. */
  possible(): Promise<Manifest[]>;
}

export const command = defineCommand({
  summary: 'Prints manifests that run a CSI driver in a cluster',
  description:
    'Accounts and roles, the CSIDriver object, a DaemonSet for the nodes and a Deployment or StatefulSet for the ' +
    'controller, in the order in which to apply them. The driver gets its socket in CSI_ENDPOINT and its node name in ' +
    'NODE_ID; arguments may use them as $(CSI_ENDPOINT) and $(NODE_ID). ' +
    'Example: `berth manifests --from unix:///tmp/csi.sock --image registry/driver:1.0 | kubectl apply -f -`. With --diff ' +
    'nothing is printed but the differences from a cluster, and the exit code is 1 if there are any.',
  flags: manifestFlags,
  async run(context: Context) {
    const { flags: values, stdout } = context;
    if (values.replaceOfficial) return await replaceOfficial(context);
    if (values.format !== 'yaml' && (values.output === undefined || values.diff)) {
      throw new UsageError(`--format=${values.format} writes files: give --output DIRECTORY, and not --diff`);
    }
    if (values.format === 'yaml' && values.output !== undefined) {
      throw new UsageError(
        '--output is for --format=helm and --format=kustomize; plain manifests are printed',
      );
    }
    const isPartly = values.part !== 'all' && !isOnce(values.part);
    if (values.format === 'helm' && (values.createNamespace || isPartly)) {
      throw new UsageError(
        '--format=helm makes one chart of all parts, and Helm creates namespaces: leave out --part and --create-namespace',
      );
    }
    const deployment = isOnce(values.part)
      ? await onceDeployment(context, values.part)
      : await driverDeployment(context);
    if (values.diff) return await diff(context, deployment);
    if (values.format === 'helm') await writeFiles(values.output ?? '', await deployment.chart(), context);
    else if (values.format === 'kustomize')
      await writeFiles(values.output ?? '', kustomizeBase(deployment.parts), context);
    else stdout.write(manifestsText(Object.values(deployment.parts).flat()));
    return ExitCode.ok;
  },
});

async function onceDeployment(
  { flags: values }: Context,
  part: Parameters<typeof oncePlanOf>[1],
): Promise<Deployment> {
  const version = await packageVersion();
  const plan = oncePlanOf(values, part, `berth:${version}`);
  const objects = await onceObjects(plan);
  await checkCommandLines(objects);
  return {
    parts: { [part]: objects },
    chart: () => onceChart(plan, version),
    possible: () => possibleOnceObjects(plan),
  };
}

async function driverDeployment({ flags: values, signal, stderr }: Context): Promise<Deployment> {
  const version = await packageVersion();
  const driver =
    values.from === undefined
      ? undefined
      : await askBroughtDriver(socketPath(values.from), { clock: realClock, signal });
  const plan = planOf(values, driver, `berth:${version}`);
  const problem = problemOf(plan);
  if (problem !== undefined) throw new UsageError(problem);
  const made = await driverObjects(plan);
  await checkCommandLines(Object.values(made).flat());
  if (!values.arg.some(([name]) => name.endsWith('driver'))) stderr.write(WITHOUT_ARGUMENTS);
  const warning = warningOf(plan);
  if (warning !== undefined) stderr.write(`berth manifests: warning: ${warning}\n`);
  const chosen = PARTS.filter((part) => values.part === 'all' || values.part === part);
  const available = availableSidecars(plan);
  return {
    parts: Object.fromEntries(chosen.map((part: Part) => [part, made[part]])),
    chart: () => driverChart(plan, { version, available }),
    possible: () =>
      possibleDriverObjects(plan, availableSidecars({ controller: 'deployment', isPerNode: false }), chosen),
  };
}

/** Throws if a container would reject its command line. */
async function checkCommandLines(manifests: readonly Manifest[]): Promise<void> {
  const wrong = await commandLineProblem(manifests, async (name) => {
    const row = commands[name];
    return row && { ...(await row.load()).command.flags, ...standardFlags };
  });
  if (wrong !== undefined) throw new UsageError(wrong);
}

/** Files that only some flags write: an earlier run may have left them. */
const SOMETIMES = ['access', 'csidriver', 'node', 'controller'].flatMap((part) => [
  `${part}.yaml`,
  `templates/${part}.yaml`,
]);

async function writeFiles(
  directory: string,
  files: Readonly<Record<string, string>>,
  { stderr }: Context,
): Promise<void> {
  for (const path of SOMETIMES)
    if (!Object.hasOwn(files, path)) await rm(join(directory, path), { force: true });
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
  }
  stderr.write(`wrote ${Object.keys(files).length} files to ${directory}\n`);
}

async function diff({ flags, env, log, signal, stdout }: Context, deployment: Deployment): Promise<ExitCode> {
  await using client = await openClient({ flags, env, log });
  const { resources: served } = await client.kube.servedResources({ signal });
  const wanted = Object.values(deployment.parts).flat();
  const possible = await deployment.possible();
  let count = 0;
  for await (const { object, state, details } of compareWithCluster(client.kube, {
    wanted,
    possible,
    served,
    signal,
  })) {
    if (state === 'same') continue;
    count++;
    stdout.write(`${object}: ${SAID[state]}\n`);
    for (const detail of details) stdout.write(`  ${detail}\n`);
  }
  stdout.write(
    count === 0
      ? `all ${wanted.length} objects are as printed\n`
      : `${count} objects differ from what is printed\n`,
  );
  return count === 0 ? ExitCode.ok : ExitCode.failed;
}

const SAID = {
  missing: 'missing in the cluster',
  extra: 'in the cluster, and not among what is printed: left over from other flags',
  differs: 'differs',
} as const;
