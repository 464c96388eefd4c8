// `berth sim`: runs simulated clusters from seeds, checks their invariants, and shrinks a failing run.

import { boolFlag, choiceFlag, intFlag, stringFlag, stringsFlag } from '../runtime/flags/flag.ts';
import { realRandom } from '../runtime/random.ts';
import { realClock } from '../runtime/time/clock.ts';
import { ALL_FAULTS, type Fault } from '../simulation/faults.ts';
import { DRIVER_SHAPES, type DriverShape } from '../simulation/plan.ts';
import { digestOf, exactLineOf, isNoise, lineOf } from '../simulation/render.ts';
import { reportOf } from '../simulation/report.ts';
import { seedResults, seedResultsInThreads } from '../simulation/seed-results.ts';
import { shrink } from '../simulation/shrink.ts';
import { AUDIT_MODES, type SimulateOptions, simulate } from '../simulation/simulate.ts';
import { makeStartImage } from '../simulation/start-image.ts';
import { openSubject, type SubjectSource } from '../simulation/subjects/open-subject.ts';
import { tuneThread } from '../simulation/tune-thread.ts';
import { type CommandOutput, defineCommand, ExitCode, UsageError } from './command.ts';

/** The time limit for shrinking: enough for a few hundred attempts. */
const SHRINK_MS = 60_000;
const PROGRESS_MS = 1_000;
/** Where each is a line of its own. */
const LOGGED_PROGRESS_MS = 30_000;

export const command = defineCommand({
  summary: 'Simulates clusters under faults, from seeds, and checks their invariants',
  description:
    'Each seed determines a cluster under virtual time: drivers, nodes, users and faults. Runs are deterministic: the same ' +
    'seed always gives the same history. Invariants are checked throughout; on a violation the smallest run that ' +
    'reproduces it is printed, and the exit code is 1.',
  flags: {
    seeds: stringFlag({ help: 'Seeds to run, as A..B', default: '1..100' }),
    seed: intFlag({ help: 'One seed' }),
    random: intFlag({ help: 'Run this many seeds, starting at a random one, which is printed', default: 0 }),
    trace: boolFlag({ help: 'Print what happens; needs --seed' }),
    verbose: boolFlag({ help: 'With --trace: also leases, events and every request' }),
    json: boolFlag({ help: 'With --trace: everything, as JSON lines' }),
    faults: stringsFlag({ help: `Kinds of faults: all, none, names or prefixes of names`, default: ['all'] }),
    driver: stringFlag({ help: `Only drivers of one shape: ${DRIVER_SHAPES.join(', ')}`, default: '' }),
    recording: stringFlag({
      help: 'Recording of `berth proxy --record`: its driver, as it was observed, instead of those that a seed draws',
    }),
    'driver-name': stringFlag({
      help: 'With --recording: name of the driver, if the recording does not have it',
    }),
    'driver-module': stringFlag({
      help: 'Module with your own driver, written with the SDK, instead of those that a seed draws',
    }),
    audit: choiceFlag({
      help: 'Run the auditor of `berth audit` at rest and at the end: as the cluster is, or with planted leaks',
      choices: ['off', ...AUDIT_MODES],
      default: 'off',
    }),
    replicas: intFlag({
      help: 'From two up to so many replicas of each sidecar, each on its share (--sharding), which also hang and come back; other worlds than without it',
      min: 1,
    }),
    jobs: intFlag({ help: 'Threads to run seeds in', default: 1, min: 1 }),
    'keep-going': boolFlag({ help: 'Continue after a violation, without shrinking' }),
  },
  async run({ flags, given, signal, stdout, stderr }) {
    if (flags.trace && !given.has('seed')) throw new UsageError('--trace needs --seed');
    const { from, to } = given.has('seed')
      ? { from: flags.seed as number, to: flags.seed as number }
      : flags.random > 0
        ? randomRange(flags.random)
        : parseRange(flags.seeds);
    const source = sourceOf(flags);
    if (flags.audit !== 'off' && source)
      throw new UsageError('--audit needs the simulated drivers: leave out --recording and --driver-module');
    const subject = source && (await openSubject(source));
    tuneThread();
    const faults = parseFaults(flags.faults);
    const options: SimulateOptions & { faults: ReadonlySet<Fault> } = {
      start: await makeStartImage(),
      faults,
      ...(flags.driver !== '' && { driver: parseShape(flags.driver) }),
      ...(subject && { subject }),
      ...(flags.audit !== 'off' && { audit: flags.audit }),
      ...(flags.replicas !== undefined && { replicas: flags.replicas }),
    };
    if (flags.trace) return trace(from, options, flags, stdout);
    const range = { from, to, source, keepGoing: flags.keepGoing, jobs: flags.jobs };
    return runRange({ ...range, again: flagsOf(given, flags) }, options, {
      signal,
      stdout,
      stderr,
    });
  },
});

type SeedFlag = 'faults' | 'driver' | 'recording' | 'driverName' | 'driverModule' | 'audit' | 'replicas';

async function trace(
  seed: number,
  options: SimulateOptions,
  flags: { verbose: boolean; json: boolean },
  stdout: CommandOutput,
): Promise<ExitCode> {
  const run = await simulate(seed, options);
  for (const entry of run.entries) {
    if (flags.json) stdout.write(`${exactLineOf(entry)}\n`);
    else if (flags.verbose || !isNoise(entry)) stdout.write(`${lineOf(entry)}\n`);
  }
  if (!flags.json) stdout.write(`history ${digestOf(run.entries)}\n`);
  return run.violations.length > 0 ? ExitCode.failed : ExitCode.ok;
}

async function runRange(
  range: {
    from: number;
    to: number;
    keepGoing: boolean;
    jobs: number;
    source: SubjectSource | undefined;
    /** The flags that a report says, so that its seed can be run again. */
    again: string;
  },
  options: SimulateOptions & { faults: ReadonlySet<Fault> },
  ports: { signal: AbortSignal; stdout: CommandOutput; stderr: CommandOutput },
): Promise<ExitCode> {
  const { from, to, keepGoing, jobs, source, again } = range;
  const { signal, stdout, stderr } = ports;
  const startedMs = realClock.monotonicMs();
  let toldMs = startedMs;
  let done = 0;
  let virtualMs = 0;
  let calls = 0;
  const failed: number[] = [];
  const rate = (): string => ((done * 1000) / Math.max(1, realClock.monotonicMs() - startedMs)).toFixed(1);
  const startedCpu = process.cpuUsage();
  const ratePerCore = (): string => {
    const { user, system } = process.cpuUsage(startedCpu);
    return ((done * 1_000_000) / Math.max(1, user + system)).toFixed(1);
  };
  stdout.write(`seeds ${from}..${to}\n`);
  const { driver, start, audit, replicas } = options;
  const share = {
    from,
    to,
    step: 1,
    faults: [...options.faults],
    ...(driver && { driver }),
    ...(source && { source }),
    ...(audit && { audit }),
    ...(replicas && { replicas }),
  };
  const planted = { planted: 0, applied: 0, refused: 0 };
  const results = jobs > 1 ? seedResultsInThreads(share, jobs) : seedResults(share, start);
  for await (const result of results) {
    done += 1;
    virtualMs += result.virtualMs;
    calls += result.calls;
    planted.planted += result.audit?.planted ?? 0;
    planted.applied += result.audit?.applied ?? 0;
    planted.refused += result.audit?.refused ?? 0;
    if (result.violation !== undefined) {
      const { seed, violation } = result;
      failed.push(seed);
      if (!keepGoing) break;
      stdout.write(`seed ${seed} violates ${violation.rule}: ${violation.text}\n`);
    }
    if (signal.aborted) break;
    if (realClock.monotonicMs() - toldMs > (stderr.isTTY ? PROGRESS_MS : LOGGED_PROGRESS_MS)) {
      toldMs = realClock.monotonicMs();
      const progress = `${done} of ${to - from + 1} seeds, ${rate()} a second, ${failed.length} violations`;
      if (stderr.isTTY) stderr.redraw(`${progress} `);
      else stderr.write(`${progress}\n`);
    }
  }
  if (stderr.isTTY) stderr.redraw('');
  const summary =
    `${done} seeds, ${(virtualMs / 3_600_000).toFixed(1)} simulated hours, ${calls} calls to drivers, ` +
    `${rate()} seeds a second, ${ratePerCore()} on one core, ${failed.length === 0 ? 'no violation' : `violations in ${failed.join(', ')}`}\n`;
  if (audit === 'planted')
    stdout.write(
      `${planted.planted} leaks planted, ${planted.applied} steps of plans carried out, ${planted.refused} plans refused\n`,
    );
  const [first] = failed;
  if (first !== undefined && !keepGoing) {
    stderr.write(`seed ${first} violates an invariant; shrinking the run\n`);
    const giveUpMs = realClock.monotonicMs() + SHRINK_MS;
    const mayGoOn = (): boolean => !signal.aborted && realClock.monotonicMs() < giveUpMs;
    stdout.write(reportOf(await shrink(await simulate(first, options), options, mayGoOn), again));
  }
  stdout.write(summary);
  return failed.length > 0 ? ExitCode.failed : ExitCode.ok;
}

/** Those that decide what a seed is, as they were given. */
function flagsOf(
  given: ReadonlySet<string>,
  { faults, driver, recording, driverName, driverModule, audit, replicas }: Record<SeedFlag, unknown>,
): string {
  const values = {
    ...{ faults, driver, recording, audit, replicas },
    ...{ 'driver-name': driverName, 'driver-module': driverModule },
  };
  return Object.entries(values)
    .map(([flag, value]) => (given.has(flag) ? ` --${flag} ${value}` : ''))
    .join('');
}

function sourceOf(flags: {
  recording: string | undefined;
  driverModule: string | undefined;
  driverName: string | undefined;
  driver: string;
}): SubjectSource | undefined {
  const { recording, driverModule, driverName, driver } = flags;
  if (recording === undefined && driverModule === undefined) return undefined;
  if (recording !== undefined && driverModule !== undefined)
    throw new UsageError('--recording and --driver-module exclude each other: there is one driver');
  if (driver !== '') throw new UsageError('--driver is for drawn drivers; this one has its own abilities');
  return {
    ...(recording !== undefined && { recording }),
    ...(driverModule !== undefined && { driverModule }),
    ...(driverName !== undefined && { driverName }),
  };
}

function parseRange(text: string): { from: number; to: number } {
  const [, from, to] = /^(\d+)\.\.(\d+)$/.exec(text) ?? [];
  if (from === undefined || to === undefined || Number(from) > Number(to)) {
    throw new UsageError(`--seeds=${text} is not a range such as 1..1000`);
  }
  return { from: Number(from), to: Number(to) };
}

function randomRange(count: number): { from: number; to: number } {
  const from = 1_000_000 + realRandom.int(1_000_000_000);
  return { from, to: from + count - 1 };
}

function parseFaults(names: readonly string[]): ReadonlySet<Fault> {
  const chosen = new Set<Fault>();
  for (const name of names) {
    if (name === 'none') continue;
    const found = ALL_FAULTS.filter((fault) => name === 'all' || fault.startsWith(name));
    if (found.length === 0) {
      throw new UsageError(`--faults=${name} is not a fault; known are ${ALL_FAULTS.join(', ')}`);
    }
    for (const fault of found) chosen.add(fault);
  }
  return chosen;
}

function parseShape(text: string): DriverShape {
  const shape = DRIVER_SHAPES.find((each) => each === text);
  if (shape === undefined) throw new UsageError(`--driver=${text} is not one of ${DRIVER_SHAPES.join(', ')}`);
  return shape;
}
