// Operations on the filesystem of a block device: detect, format if blank, check, resize. Runs the programs of the
// filesystem (mkfs, fsck, …). Never formats a device that holds data of any kind.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { errorCode } from '../../runtime/mount/mount-error.ts';
import { refuse } from '../refuse.ts';
import { type DeviceContent, detectContent } from './detect-content.ts';

const run = promisify(execFile);

export interface FilesystemTools {
  detect(device: string): Promise<DeviceContent>;
  /** Overwrites the device; callers should use `formatIfBlank`. */
  format(device: string, fsType: string): Promise<void>;
  /** Repairs errors that can be repaired without data loss; throws on others. */
  check(device: string, fsType: string): Promise<void>;
  /** Resizes an unmounted filesystem to its device; false if this type can only be resized while mounted. */
  growUnmounted(device: string, fsType: string): Promise<boolean>;
  /** Resizes the mounted filesystem to its device. */
  grow(mounted: { device: string; path: string; fsType: string }): Promise<void>;
}

interface FilesystemPrograms {
  readonly package: string;
  readonly format: (device: string) => readonly [program: string, ...args: string[]];
  readonly check?: (device: string) => readonly [program: string, ...args: string[]];
  /** Commands that resize it while unmounted, in order. */
  readonly growUnmounted?: (device: string) => readonly (readonly [program: string, ...args: string[]])[];
  readonly grow: (mounted: { device: string; path: string }) => readonly [program: string, ...args: string[]];
  /** The smallest device that the format program accepts. */
  readonly minBytes: bigint;
}

const MiB = 1n << 20n;

// Lazy initialisation: formatting takes a few milliseconds at any size, and the kernel initialises the rest later.
const ext = (version: string): FilesystemPrograms => ({
  package: 'e2fsprogs',
  format: (device) => [
    `mkfs.ext${version}`,
    '-q',
    '-F',
    '-m0',
    ...(version === '4' ? ['-E', 'lazy_itable_init=1,lazy_journal_init=1,nodiscard'] : []),
    device,
  ],
  check: (device) => ['e2fsck', '-p', device],
  // resize2fs requires a full check first.
  growUnmounted: (device) => [
    ['e2fsck', '-f', '-p', device],
    ['resize2fs', device],
  ],
  grow: ({ device }) => ['resize2fs', device],
  minBytes: 4n * MiB,
});

export const filesystems: Readonly<Record<string, FilesystemPrograms>> = {
  ext2: ext('2'),
  ext3: ext('3'),
  ext4: ext('4'),
  xfs: {
    package: 'xfsprogs',
    format: (device) => ['mkfs.xfs', '-q', '-f', '-K', device],
    // Mounting replays the log; the kernel refuses to mount a damaged filesystem.
    grow: ({ path }) => ['xfs_growfs', path],
    // mkfs.xfs rejects smaller devices since version 5.19.
    minBytes: 300n * MiB,
  },
};

export const linuxFilesystemTools: FilesystemTools = {
  detect: detectContent,
  async format(device, fsType) {
    await runFilesystemProgram(fsType, `format ${device} with ${fsType}`, programsOf(fsType).format(device));
  },
  async check(device, fsType) {
    const command = filesystems[fsType]?.check?.(device);
    if (command !== undefined) await runCheck(fsType, `check the ${fsType} filesystem on ${device}`, command);
  },
  async growUnmounted(device, fsType) {
    const commands = programsOf(fsType).growUnmounted?.(device);
    for (const command of commands ?? [])
      await runCheck(fsType, `grow the ${fsType} filesystem on ${device}`, command);
    return commands !== undefined;
  },
  async grow({ device, path, fsType }) {
    await runFilesystemProgram(
      fsType,
      `grow the ${fsType} filesystem at ${path}`,
      programsOf(fsType).grow({ device, path }),
    );
  },
};

/**
 * Formats the device if it is blank; does nothing if it already has that filesystem; rejects any other content.
 * `resume`: a format by this driver was interrupted, so unknown content is what that left and may be overwritten.
 */
export async function formatIfBlank(
  tools: FilesystemTools,
  { device, fsType, resume }: { device: string; fsType: string; resume: boolean },
): Promise<'formatted' | 'present'> {
  const content = resume ? 'blank' : await tools.detect(device);
  if (content === 'blank') {
    await tools.format(device, fsType);
    return 'formatted';
  }
  if (content === 'unknown') {
    throw refuse.failedPrecondition(
      `${device} holds data that is not a filesystem; it is not formatted. Use it as a raw block volume, or erase it`,
    );
  }
  if (content.fsType !== fsType) {
    throw refuse.failedPrecondition(
      `${device} has a filesystem of type ${content.fsType}, not ${fsType}; it is not formatted. Request ${content.fsType}`,
    );
  }
  return 'present';
}

function programsOf(fsType: string): FilesystemPrograms {
  const programs = filesystems[fsType];
  if (programs === undefined) {
    throw refuse.invalidArgument(
      `filesystem type ${JSON.stringify(fsType)} is not supported, only ${Object.keys(filesystems).join(', ')}`,
    );
  }
  return programs;
}

/** 1: errors were found and repaired. */
async function runCheck(
  fsType: string,
  attempted: string,
  command: readonly [string, ...string[]],
): Promise<void> {
  try {
    await runFilesystemProgram(fsType, attempted, command);
  } catch (error) {
    if (exitCode(error) !== 1 || command[0] !== 'e2fsck') throw error;
  }
}

/** Errors say what was attempted, and which package to install if the program is missing. */
export async function runFilesystemProgram(
  fsType: string,
  attempted: string,
  [program, ...args]: readonly [string, ...string[]],
): Promise<void> {
  try {
    await run(program, args, { env: { ...process.env, PATH: searchPath(process.env.PATH), LC_ALL: 'C' } });
  } catch (error) {
    if (errorCode(error) === 'ENOENT') {
      throw refuse.failedPrecondition(
        `cannot ${attempted}: ${program} is not installed; install the package ${programsOf(fsType).package}`,
      );
    }
    const { stderr } = error as { stderr?: string };
    const detail = (stderr ?? '').trim().split('\n').slice(-3).join(' ') || (error as Error).message;
    if (/Permission denied to resize/.test(detail)) {
      throw refuse.failedPrecondition(
        `cannot ${attempted}: growing it while mounted needs CAP_SYS_RESOURCE; run the driver privileged, or unmount it: it is resized at the next mount`,
        error,
      );
    }
    throw Object.assign(refuse.internal(`cannot ${attempted}: ${detail}`, error), {
      exitCode: exitCode(error),
    });
  }
}

/** The system directories are not on every user's PATH. */
function searchPath(path: string | undefined): string {
  return [path, '/usr/sbin', '/sbin'].filter(Boolean).join(':');
}

function exitCode(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { exitCode, code } = error as { exitCode?: unknown; code?: unknown };
  if (typeof exitCode === 'number') return exitCode;
  return typeof code === 'number' ? code : undefined;
}
