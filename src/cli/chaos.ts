// `berth chaos`: runs scenarios with faults, each in a temporary cluster of its own, and reports whether what they expect holds.

import { chaosFormats, formatReport } from '../chaos/chaos-report.ts';
import { runScenario } from '../chaos/run-scenario.ts';
import { type Scenario, ScenarioError } from '../chaos/scenario.ts';
import type { ScenarioResult } from '../chaos/scenario-result.ts';
import { openScenario, shippedNames } from '../chaos/shipped-scenarios.ts';
import { askAbilities, subjectOf } from '../check/driver-under-test.ts';
import { sidecarFlags } from '../cluster/parts.ts';
import { startTemporaryCluster } from '../cluster/temporary-cluster.ts';
import { choiceFlag } from '../runtime/flags/flag.ts';
import { FlagError, parseFlags } from '../runtime/flags/parse-flags.ts';
import { silentLog } from '../runtime/log/log.ts';
import { quietLog } from '../runtime/log/quiet-log.ts';
import { checkUser } from '../runtime/mount/tried-mounter.ts';
import { realRandom } from '../runtime/random.ts';
import { realClock } from '../runtime/time/clock.ts';
import { type CommandContext, defineCommand, ExitCode, UsageError } from './command.ts';
import { withConnections } from './driver-connections.ts';
import { checkRootlessDrivers, driverFlags, nodesOfDrivers } from './driver-flags.ts';
import { aligned } from './objects/print-table.ts';
import { enterNamespace, rootlessFlag } from './rootless.ts';
import { packageVersion } from './version.ts';

const ACTIONS = ['run', 'list'] as const;
/** For the questions before the first step. */
const ASK_MS = 10_000;

const flags = {
  ...driverFlags,
  rootless: rootlessFlag,
  output: choiceFlag({ help: 'Output format (also -o)', choices: chaosFormats, default: 'text' }),
  o: choiceFlag({ help: 'Same as --output', choices: chaosFormats, default: 'text', hidden: true }),
};
type ChaosContext = CommandContext<typeof flags>;

export const command = defineCommand({
  summary: 'Runs scenarios with faults against a driver: berth chaos run crash-after-create',
  description:
    'A scenario is a YAML file with steps (objects, faults, crashes) and expectations (everything runs, nothing leaked), or the ' +
    'name of one that comes with Berth; `berth chaos list` shows those, and `berth chaos run all` runs them. Each runs in a ' +
    'temporary cluster of its own, on your driver with --driver or --exec, else on hostpath. -o markdown is meant for an issue ' +
    "of the driver's project. Exit code 0 when no scenario failed. Needs root, for mounts, or --rootless.",
  arguments: { usage: 'run FILE|NAME… | list', min: 1, max: 100 },
  completes: ACTIONS,
  flags,
  async run(context) {
    const [action, ...sources] = context.args;
    if (action === 'list') return list(context);
    if (action !== 'run') throw new UsageError(`berth chaos ${action}: there is only ${ACTIONS.join(', ')}`);
    if (sources.length === 0)
      throw new UsageError('which scenario? Give files, names of `berth chaos list`, or all');
    return run(context, sources[0] === 'all' ? await shippedNames() : sources);
  },
});

async function list({ stdout }: ChaosContext): Promise<ExitCode> {
  const rows = await Promise.all(
    (await shippedNames()).map(async (name) => {
      const { about } = await openScenario(name);
      return [name, about];
    }),
  );
  for (const line of aligned([['NAME', 'ABOUT'], ...rows])) stdout.write(`${line}\n`);
  return ExitCode.ok;
}

interface Opened {
  readonly source: string;
  readonly scenario: Scenario;
}

async function run(context: ChaosContext, sources: readonly string[]): Promise<ExitCode> {
  const { flags: values, signal, stdout, stderr, env } = context;
  if (values.driver.length > 1) throw new UsageError('--driver: one driver at a time');
  // All are read before the first is run.
  const opened: Opened[] = [];
  for (const source of sources) {
    const scenario = await openScenario(source).catch((error: unknown) => {
      throw error instanceof ScenarioError ? new UsageError(error.message) : error;
    });
    sidecarFlagsOf(scenario);
    opened.push({ source, scenario });
  }
  if (values.rootless) {
    checkRootlessDrivers(values);
    enterNamespace(env);
  }
  checkUser();
  const format = values.o === 'text' ? values.output : values.o;
  const berth = await packageVersion();
  const results: ScenarioResult[] = [];
  for (const each of opened) {
    try {
      results.push(await runOne(context, each));
    } catch (error) {
      if (!signal.aborted) throw error;
      stderr.write('berth chaos: interrupted\n');
      break;
    }
  }
  if (stderr.isTTY) stderr.redraw('');
  stdout.write(formatReport({ berth, results }, format));
  const isWell = !signal.aborted && results.every(({ state }) => state !== 'failed');
  return isWell ? ExitCode.ok : ExitCode.failed;
}

async function runOne(context: ChaosContext, { source, scenario }: Opened): Promise<ScenarioResult> {
  const { flags: values, signal, log, stderr } = context;
  const ports = { clock: realClock, random: realRandom, log: quietLog(log), signal };
  const running = await startTemporaryCluster({
    ...ports,
    // The report says what went wrong.
    partsLog: values.v > 0 ? ports.log : silentLog,
    sockets: values.driver,
    commands: values.exec,
    classParameters: values.classParameters,
    isRootless: values.rootless,
    version: await packageVersion(),
    nodeCount: nodesOfDrivers(values) ?? scenario.nodes,
    sidecarFlags: sidecarFlagsOf(scenario),
  });
  let left: string[] = [];
  let result: ScenarioResult | undefined;
  try {
    const { cluster } = running;
    const [driver] = cluster.drivers;
    if (driver === undefined) throw new Error('the cluster has no driver');
    await withConnections(driver, async (transports) => {
      const can = await askAbilities(transports, ASK_MS, signal);
      const subject = await subjectOf(transports, can, { timeoutMs: ASK_MS, signal });
      const { controller } = transports;
      const onStep = (what: string): void => {
        if (stderr.isTTY) stderr.redraw(`${scenario.name}: ${what}`);
      };
      result = await runScenario({
        scenario,
        source,
        cluster,
        subject,
        can,
        controller,
        clock: realClock,
        signal,
        onStep,
      });
    });
  } finally {
    left = await running.stop();
  }
  if (result === undefined) throw new Error(`${scenario.name} had no result`);
  if (left.length === 0 || result.state === 'failed') return result;
  const end = { what: 'delete what is left', isExpectation: true, atMs: result.ms, ms: 0, missing: left };
  return { ...result, state: 'failed', steps: [...result.steps, end] };
}

/** Throws a UsageError for flags that no sidecar has. */
function sidecarFlagsOf({ name, flags: given }: Scenario) {
  const argv = Object.entries(given).map(([key, value]) => `--${key}=${value}`);
  try {
    return { values: parseFlags({ table: sidecarFlags, argv }).values, given: new Set(Object.keys(given)) };
  } catch (error) {
    throw error instanceof FlagError ? new UsageError(`${name}: flags: ${error.message}`) : error;
  }
}
