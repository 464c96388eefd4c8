// `berth check`: verifies a CSI driver, in any language, against the specification and the conditions of a real
// cluster.

import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import type { Check } from '../check/check.ts';
import { createChecks } from '../check/create-checks.ts';
import { askAbilities, type CheckOptions, DriverUnderTest, subjectOf } from '../check/driver-under-test.ts';
import { groupChecks } from '../check/group-checks.ts';
import { identityChecks } from '../check/identity-checks.ts';
import { metadataChecks } from '../check/metadata-checks.ts';
import { nodeChecks } from '../check/node-checks.ts';
import { createReport, reportFormats } from '../check/report/reporter.ts';
import { nameOf, runChecks } from '../check/run-checks.ts';
import { snapshotChecks } from '../check/snapshot-checks.ts';
import { troubleChecks } from '../check/trouble-checks.ts';
import { volumeChecks } from '../check/volume-checks.ts';
import { connectCsi } from '../csi/client/connect-csi.ts';
import { volumeCapability } from '../csi/messages/volume-capability.ts';
import { socketPath } from '../csi/names/socket-path.ts';
import { boolFlag, choiceFlag, durationFlag, intFlag, mapFlag, stringFlag } from '../runtime/flags/flag.ts';
import type { FlagValues } from '../runtime/flags/parse-flags.ts';
import { silentLog } from '../runtime/log/log.ts';
import { realRandom } from '../runtime/random.ts';
import { realClock } from '../runtime/time/clock.ts';
import { defineCommand, ExitCode, UsageError } from './command.ts';
import { sizeFlag } from './size-flag.ts';

const CHECKS: readonly Check[] = [
  ...identityChecks,
  ...createChecks,
  ...volumeChecks,
  ...snapshotChecks,
  ...groupChecks,
  ...metadataChecks,
  ...nodeChecks,
  ...troubleChecks,
];

const flags = {
  parameters: mapFlag({ help: 'Parameters of CreateVolume, as a StorageClass would have them' }),
  'parameters-file': stringFlag({
    help: 'File with such parameters: a StorageClass, or a map of strings; those of --parameters come on top',
  }),
  size: sizeFlag('Size of the volumes, in bytes or as in 1Gi'),
  'access-mode': choiceFlag({
    help: 'Access mode of the volumes',
    choices: ['ReadWriteOnce', 'ReadWriteMany', 'ReadOnlyMany', 'ReadWriteOncePod'],
    default: 'ReadWriteOnce',
  }),
  block: boolFlag({ help: 'Volumes are block devices, not filesystems' }),
  fstype: stringFlag({ help: 'Filesystem type; default: the driver chooses' }),
  secrets: stringFlag({
    help: 'File with secrets by operation (CreateVolumeSecret, NodeStageVolumeSecret, …), in the format of csi-sanity',
  }),
  'mount-dir': stringFlag({
    help: 'Directory for staging and publishing, at the same path for the driver; without it nothing is mounted',
  }),
  parallel: intFlag({
    help: 'Number of concurrent calls in the concurrency checks',
    default: 16,
    min: 2,
    max: 1000,
  }),
  timeout: durationFlag({ help: 'Time-out of each call', default: 60_000 }),
  only: stringFlag({ help: 'Only checks whose name matches this regular expression' }),
  skip: stringFlag({ help: 'No checks whose name matches this regular expression' }),
  list: boolFlag({ help: 'List the checks and do nothing' }),
  output: choiceFlag({ help: 'Output format (also -o)', choices: reportFormats, default: 'text' }),
  o: choiceFlag({ help: 'Same as --output', choices: reportFormats, default: 'text', hidden: true }),
};

export const command = defineCommand({
  summary: 'Checks a CSI driver against the specification and the conditions of a real cluster',
  description:
    'Creates volumes and deletes them again. Checks error codes, idempotency, lifecycles with real mounts, concurrent calls ' +
    'and calls that time out. Exit code 0 when no check failed. ' +
    'Example: `berth check unix:///run/csi.sock --mount-dir /var/tmp/check`. The second socket is that of the node service, if it has its own.',
  arguments: { usage: 'SOCKET [NODE-SOCKET]', min: 0, max: 2 },
  flags,
  async run({ flags: values, args, signal, stdout }) {
    const chosen = chooseChecks(values);
    if (values.list) {
      for (const check of chosen) stdout.write(`${nameOf(check)}\n`);
      return ExitCode.ok;
    }
    const [socket, nodeSocket = socket] = args;
    if (socket === undefined || nodeSocket === undefined)
      throw new UsageError('which driver? Give its socket');
    const options = await optionsOf(values);
    const connect = (address: string) =>
      connectCsi({ address: socketPath(address), clock: realClock, log: silentLog });
    const transports = { controller: connect(socket), node: connect(nodeSocket) };
    try {
      const can = await askAbilities(transports, options.timeoutMs, signal);
      const driver = new DriverUnderTest(transports, can, options, { clock: realClock, random: realRandom });
      const format = values.o === 'text' ? values.output : values.o;
      const report = createReport(format, 'berth check', (text) => stdout.write(text));
      report.begin(await subjectOf(transports, can, { timeoutMs: options.timeoutMs, signal }));
      await runChecks(chosen, driver, { report, mayMount: values.mountDir !== undefined, signal });
      return report.end() ? ExitCode.ok : ExitCode.failed;
    } finally {
      transports.controller.close();
      transports.node.close();
    }
  },
});

function chooseChecks({
  only,
  skip,
}: {
  only: string | undefined;
  skip: string | undefined;
}): readonly Check[] {
  const wanted = only === undefined ? undefined : patternOf('only', only);
  const unwanted = skip === undefined ? undefined : patternOf('skip', skip);
  const chosen = CHECKS.filter(
    (check) => (wanted?.test(nameOf(check)) ?? true) && !unwanted?.test(nameOf(check)),
  );
  if (chosen.length > 0) return chosen;
  const flags = [only !== undefined && `--only=${only}`, skip !== undefined && `--skip=${skip}`].filter(
    Boolean,
  );
  throw new UsageError(`no check matches ${flags.join(' ')}; --list shows them all`);
}

function patternOf(flag: string, text: string): RegExp {
  try {
    return new RegExp(text, 'i');
  } catch (error) {
    throw new UsageError(`--${flag} is not a regular expression: ${(error as Error).message}`);
  }
}

async function optionsOf(values: FlagValues<typeof flags>): Promise<CheckOptions> {
  const secrets = values.secrets === undefined ? {} : await readSecrets(values.secrets);
  return {
    parameters: { ...(await parametersIn(values.parametersFile)), ...values.parameters },
    secrets: (operation) => ({ ...secrets[operation] }),
    sizeBytes: values.size,
    capability: volumeCapability({
      accessModes: [values.accessMode],
      volumeMode: values.block ? 'Block' : 'Filesystem',
      fsType: values.fstype,
      singleNodeMultiWriter: false,
    }),
    mountDir: values.mountDir ?? '',
    timeoutMs: values.timeoutMs,
    parallel: values.parallel,
  };
}

/** Of a StorageClass, or of a map of strings. */
async function parametersIn(path: string | undefined): Promise<Record<string, string>> {
  if (path === undefined) return {};
  const content = await readYaml('parameters-file', path);
  const parameters = isMap(content) && content.kind === 'StorageClass' ? (content.parameters ?? {}) : content;
  if (isMapOfStrings(parameters)) return parameters;
  throw new UsageError(`${path} must be a StorageClass or a map of strings, as in server: nfs.example.com`);
}

/** Errors do not contain the content of the file. */
async function readSecrets(path: string): Promise<Record<string, Record<string, string>>> {
  const content = await readYaml('secrets', path);
  if (isMap(content) && Object.values(content).every(isMapOfStrings)) {
    return content as Record<string, Record<string, string>>;
  }
  throw new UsageError(
    `${path} must have a map of strings for each operation, as in CreateVolumeSecret: {key: value}`,
  );
}

async function readYaml(flag: string, path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8').catch((error: Error) => {
    throw new UsageError(`--${flag} cannot be read: ${error.message}`);
  });
  try {
    return parse(text) ?? {};
  } catch {
    throw new UsageError(`${path} is not YAML`);
  }
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isMapOfStrings = (value: unknown): value is Record<string, string> =>
  isMap(value) && Object.values(value).every((each) => typeof each === 'string');
