// `berth replay`: plays a recording of CSI calls, as a driver to whoever calls it or as a client to a driver, and shows what
// is different now.

import { mkdtemp, readdir, readFile, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { type CsiConnection, connectCsi } from '../csi/client/connect-csi.ts';
import { socketPath } from '../csi/names/socket-path.ts';
import { serveCsi } from '../csi/server/serve-csi.ts';
import { type Recording, readRecording } from '../recording/read-recording.ts';
import { placeholderMounts } from '../recording/replay/placeholder-mounts.ts';
import { replayAsClient } from '../recording/replay/replay-as-client.ts';
import { replayAsDriver } from '../recording/replay/replay-as-driver.ts';
import { isDifferent, type ReplayReport, reportText } from '../recording/replay/replay-report.ts';
import { boolFlag, choiceFlag, durationFlag, stringFlag } from '../runtime/flags/flag.ts';
import type { FlagValues } from '../runtime/flags/parse-flags.ts';
import { openLinuxMounter } from '../runtime/mount/linux-mounter.ts';
import { realRandom } from '../runtime/random.ts';
import { realClock } from '../runtime/time/clock.ts';
import { aborted } from '../runtime/time/until-aborted.ts';
import { type CommandContext, type CommandOutput, defineCommand, ExitCode, UsageError } from './command.ts';

const PROGRESS_MS = 1_000;
/** Calls under way when it is told to stop may end within this time. */
const GRACE_MS = 2_000;
/** Long enough for a driver that is just being started. */
const CONNECT_MS = 10_000;

const flags = {
  as: choiceFlag({
    help: 'What to be: driver answers calls as recorded, client sends the recorded calls',
    choices: ['driver', 'client', ''],
    default: '',
  }),
  listen: stringFlag({ help: 'With --as driver: socket to listen on, unix:///path' }),
  driver: stringFlag({ help: "With --as client: the driver's socket, unix:///path" }),
  timing: choiceFlag({
    help: 'recorded keeps the gaps between calls, and as a driver the time each took; fast goes as fast as it can',
    choices: ['fast', 'recorded'],
    default: 'fast',
  }),
  target: stringFlag({ help: 'Only calls to this socket, in a recording of calls to several' }),
  'driver-name': stringFlag({
    help: 'With --as driver: its name, if the recording has no answer to GetPluginInfo',
  }),
  'until-complete': boolFlag({
    help: 'With --as driver: end once every recorded call that changes something was asked for',
  }),
  mount: boolFlag({
    help: 'With --as driver: mount an empty filesystem where a volume is published, for nodes that look whether something is mounted. Needs root',
  }),
  'mount-dir': stringFlag({
    help: 'With --as client: directory for staging and publishing, at the same path for the driver; default a temporary one',
  }),
  secrets: stringFlag({
    help: 'With --as client: file with a map of strings, sent with each call that came with secrets',
  }),
  existing: boolFlag({
    help: 'With --as client: also play calls about volumes and snapshots that the recording did not make. They reach those of the driver, also DeleteVolume',
  }),
  'keep-names': boolFlag({
    help: 'With --as client: use the recorded names of volumes instead of new ones. A driver that has such a volume already takes it for the recorded one',
  }),
  timeout: durationFlag({ help: 'With --as client: time-out of each call', default: 60_000 }),
  output: choiceFlag({ help: 'Output format (also -o)', choices: ['text', 'json'], default: 'text' }),
  o: choiceFlag({ help: 'Same as --output', choices: ['text', 'json'], default: 'text', hidden: true }),
};

type Context = CommandContext<typeof flags>;

export const command = defineCommand({
  summary: 'Plays a recording of CSI calls, as a driver or as a client, and shows what is different',
  description:
    'Recordings come from `berth proxy --record FILE` and `berth up --record FILE`. Calls are aligned by the volume, snapshot or ' +
    'name that they are about, not by bytes or order. As a client it makes volumes of its own, under new names and with the IDs that the ' +
    'driver gives them. Exit code 1 when something is different. ' +
    'Example: `berth replay calls.jsonl --as client --driver unix:///run/csi.sock`.',
  arguments: { usage: 'FILE', min: 1, max: 1 },
  flags,
  async run(context) {
    const { flags: values, args, stdout } = context;
    checkFlags(values);
    const recording = withTarget(await readRecording(args[0] as string), values.target);
    const report =
      values.as === 'driver' ? await asDriver(recording, context) : await asClient(recording, context);
    const isJson = values.output === 'json' || values.o === 'json';
    stdout.write(isJson ? `${JSON.stringify(report, null, 2)}\n` : reportText(report));
    return isDifferent(report) ? ExitCode.failed : ExitCode.ok;
  },
});

function checkFlags(values: FlagValues<typeof flags>): void {
  if (values.as === '') throw new UsageError('as what? Give --as driver or --as client');
  if (values.as === 'driver' && values.listen === undefined)
    throw new UsageError('--as driver needs --listen');
  if (values.as === 'client' && values.driver === undefined)
    throw new UsageError('--as client needs --driver');
}

function withTarget(recording: Recording, target: string | undefined): Recording {
  if (target === undefined) return recording;
  const path = socketPath(target);
  const calls = recording.calls.filter((call) => call.target === path);
  if (calls.length > 0) return { ...recording, calls };
  const known = [...new Set(recording.calls.flatMap((call) => call.target ?? []))];
  throw new UsageError(
    `--target: the recording has no call to ${path}; ${known.length === 0 ? 'it does not name sockets' : `it has ${known.join(', ')}`}`,
  );
}

async function asDriver(
  recording: Recording,
  { flags: values, signal, stderr, log }: Context,
): Promise<ReplayReport> {
  const complete = new AbortController();
  const total = recording.calls.length;
  const progress = progressLine(
    stderr,
    (left) => `${left} of ${total} recorded calls are still to be asked for`,
  );
  const mounts = values.mount ? placeholderMounts(await openLinuxMounter()) : undefined;
  const driver = replayAsDriver(recording, {
    clock: realClock,
    keepsTiming: values.timing === 'recorded',
    ...(values.driverName !== undefined && { driverName: values.driverName }),
    ...(mounts && { perform: mounts.perform }),
    onProgress(left) {
      progress(left);
      if (left === 0 && values.untilComplete) complete.abort();
    },
  });
  const address = values.listen as string;
  const server = await serveCsi({ address, services: driver.services, log, clock: realClock });
  // Not on stdout, which is the report's.
  stderr.write(`ready unix://${server.address}\n`);
  await aborted(AbortSignal.any([signal, complete.signal]));
  await server.stop(GRACE_MS);
  await mounts?.end();
  progress.end();
  return driver.report();
}

async function asClient(
  recording: Recording,
  { flags: values, signal, stderr, log }: Context,
): Promise<ReplayReport> {
  const secrets = values.secrets === undefined ? undefined : await readSecrets(values.secrets);
  const connection = connectCsi({ address: values.driver as string, clock: realClock, log });
  const directory = values.mountDir ?? (await mkdtemp(join(tmpdir(), 'berth-replay-')));
  const total = recording.calls.length;
  const progress = progressLine(stderr, (done) => `${done} of ${total} calls`);
  try {
    await reach(connection, signal);
    return await replayAsClient(recording, {
      connection,
      clock: realClock,
      signal,
      keepsTiming: values.timing === 'recorded',
      timeoutMs: values.timeoutMs,
      directory,
      namePrefix: values.keepNames ? '' : `r${realRandom.suffix(4)}-`,
      includeExisting: values.existing,
      secrets,
      onProgress: progress,
    });
  } finally {
    progress.end();
    connection.close();
    if (values.mountDir === undefined) await removeEmpty(directory);
  }
}

async function reach(connection: CsiConnection, signal: AbortSignal): Promise<void> {
  const late = new AbortController();
  const limit = realClock.setTimeout(() => late.abort(), CONNECT_MS);
  try {
    await connection.waitForReady(AbortSignal.any([signal, late.signal]));
  } catch (error) {
    signal.throwIfAborted();
    throw new Error(
      `no driver listens at ${connection.address}: nothing was played; start it and try again`,
      { cause: error },
    );
  } finally {
    limit.cancel();
  }
}

async function readSecrets(path: string): Promise<Record<string, string>> {
  const content: unknown = parse(await readFile(path, 'utf8'));
  const isMap = typeof content === 'object' && content !== null && !Array.isArray(content);
  if (!isMap || Object.values(content).some((value) => typeof value !== 'string'))
    // Without the cause, which could quote a secret.
    throw new UsageError(`--secrets: ${path} is not a map of strings`);
  return content as Record<string, string>;
}

/** Directories only: what is still mounted or holds a file stays. */
async function removeEmpty(directory: string): Promise<void> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isDirectory()) await removeEmpty(join(directory, entry.name));
  await rmdir(directory).catch(() => {});
}

/** One line that is replaced, at most once a second, on a terminal only. */
function progressLine(stderr: CommandOutput, textOf: (count: number) => string) {
  let toldMs = realClock.monotonicMs();
  const tell = (count: number): void => {
    if (!stderr.isTTY || realClock.monotonicMs() - toldMs < PROGRESS_MS) return;
    toldMs = realClock.monotonicMs();
    stderr.redraw(`${textOf(count)} `);
  };
  return Object.assign(tell, { end: () => stderr.isTTY && stderr.redraw('') });
}
