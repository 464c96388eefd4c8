// `berth check`: verifies a CSI driver, in any language, against the specification and the conditions of a real
// cluster.

import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { parseQuantity } from '../api/quantity.ts';
import { type Check, missing, runCheck, type Verdict } from '../check/check.ts';
import { askAbilities, type CheckOptions, DriverUnderTest } from '../check/driver-under-test.ts';
import { identityChecks } from '../check/identity-checks.ts';
import { nodeChecks } from '../check/node-checks.ts';
import { snapshotChecks } from '../check/snapshot-checks.ts';
import { troubleChecks } from '../check/trouble-checks.ts';
import { volumeChecks } from '../check/volume-checks.ts';
import { connectCsi } from '../csi/client/connect-csi.ts';
import { volumeCapability } from '../csi/messages/volume-capability.ts';
import { socketPath } from '../csi/names/socket-path.ts';
import {
  boolFlag,
  choiceFlag,
  durationFlag,
  flagOf,
  InvalidValue,
  intFlag,
  mapFlag,
  stringFlag,
} from '../runtime/flags/flag.ts';
import type { FlagValues } from '../runtime/flags/parse-flags.ts';
import { silentLog } from '../runtime/log/log.ts';
import { realRandom } from '../runtime/random.ts';
import { realClock } from '../runtime/time/clock.ts';
import { defineCommand, ExitCode, type Output, UsageError } from './command.ts';

const CHECKS: readonly Check[] = [
  ...identityChecks,
  ...volumeChecks,
  ...snapshotChecks,
  ...nodeChecks,
  ...troubleChecks,
];

const NANO = 1_000_000_000n;
const sizeFlag = flagOf<bigint>(
  {
    type: 'size',
    parse(text) {
      try {
        return parseQuantity(text).nano / NANO;
      } catch {
        throw new InvalidValue('must be a size, such as 1Gi');
      }
    },
    format: String,
  },
  { help: 'Size of the volumes, in bytes or as in 1Gi', default: 1_073_741_824n },
);

const flags = {
  parameters: mapFlag({ help: 'Parameters of CreateVolume, as a StorageClass would have them' }),
  size: sizeFlag,
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
  list: boolFlag({ help: 'List the checks and do nothing' }),
  output: choiceFlag({ help: 'Output format (also -o)', choices: ['text', 'json'], default: 'text' }),
  o: choiceFlag({ help: 'Same as --output', choices: ['text', 'json'], default: 'text', hidden: true }),
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
    const chosen = chooseChecks(values.only);
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
      const report =
        values.output === 'json' || values.o === 'json' ? jsonReport(stdout) : textReport(stdout);
      for (const check of chosen) {
        signal.throwIfAborted();
        const why = missing(check, driver, values.mountDir !== undefined);
        report.add(check, why === undefined ? await runCheck(check, driver) : { state: 'skipped', why });
      }
      return report.end() ? ExitCode.ok : ExitCode.failed;
    } finally {
      transports.controller.close();
      transports.node.close();
    }
  },
});

const nameOf = ({ group, title }: Check): string => `${group}: ${title}`;

function chooseChecks(only: string | undefined): readonly Check[] {
  if (only === undefined) return CHECKS;
  let pattern: RegExp;
  try {
    pattern = new RegExp(only, 'i');
  } catch (error) {
    throw new UsageError(`--only is not a regular expression: ${(error as Error).message}`);
  }
  const chosen = CHECKS.filter((check) => pattern.test(nameOf(check)));
  if (chosen.length === 0) throw new UsageError(`no check matches --only=${only}; --list shows them all`);
  return chosen;
}

async function optionsOf(values: FlagValues<typeof flags>): Promise<CheckOptions> {
  const secrets = values.secrets === undefined ? {} : await readSecrets(values.secrets);
  return {
    parameters: values.parameters,
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

/** Errors do not contain the content of the file. */
async function readSecrets(path: string): Promise<Record<string, Record<string, string>>> {
  const text = await readFile(path, 'utf8').catch((error: Error) => {
    throw new UsageError(`--secrets cannot be read: ${error.message}`);
  });
  let content: unknown;
  try {
    content = parse(text) ?? {};
  } catch {
    throw new UsageError(`${path} is not YAML`);
  }
  const isMap = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  const isWhole =
    isMap(content) &&
    Object.values(content).every(
      (entry) => isMap(entry) && Object.values(entry).every((value) => typeof value === 'string'),
    );
  if (!isWhole) {
    throw new UsageError(
      `${path} must have a map of strings for each operation, as in CreateVolumeSecret: {key: value}`,
    );
  }
  return content as Record<string, Record<string, string>>;
}

interface Report {
  add(check: Check, verdict: Verdict): void;
  /** Whether nothing failed. */
  end(): boolean;
}

function textReport(stdout: Output): Report {
  const count = { passed: 0, failed: 0, skipped: 0 };
  let group = '';
  return {
    add(check, verdict) {
      if (check.group !== group) stdout.write(`${check.group}\n`);
      group = check.group;
      count[verdict.state] += 1;
      if (verdict.state === 'skipped') {
        stdout.write(`  – ${check.title} (${verdict.why})\n`);
        return;
      }
      stdout.write(
        `  ${verdict.state === 'passed' ? '✔' : '✖'} ${check.title} (${Math.round(verdict.ms)} ms)\n`,
      );
      if (verdict.state === 'failed') stdout.write(`      ${verdict.why}\n`);
      for (const each of verdict.left) stdout.write(`      left behind: ${each}\n`);
    },
    end() {
      stdout.write(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped\n`);
      return count.failed === 0;
    },
  };
}

/** Prints a line for each check as it ends. */
function jsonReport(stdout: Output): Report {
  let isWell = true;
  return {
    add(check, verdict) {
      isWell &&= verdict.state !== 'failed';
      stdout.write(`${JSON.stringify({ group: check.group, title: check.title, ...verdict })}\n`);
    },
    end: () => isWell,
  };
}
