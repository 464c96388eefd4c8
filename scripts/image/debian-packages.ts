// Debian packages as files, without installing them: apt resolves, downloads and verifies them with the sources of this
// machine in a state directory of its own, so nothing on the machine changes and root is not needed.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readTar, type TarFile } from './tar.ts';

export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  /** The package's control file, as dpkg keeps it. */
  readonly control: string;
  readonly files: readonly TarFile[];
}

const LARGEST_PACKAGE = 1 << 30;
/** Nobody reads documentation in an image. Licences stay. */
const LEFT_OUT = /^usr\/share\/(?:man|info|locale|lintian|bash-completion|zsh|doc-base|gdb)(?:\/|$)/;
const LEFT_OUT_DOC = /^usr\/share\/doc\/[^/]+\/(?!copyright$)/;

/** `complete` come with all that they depend on, `alone` without. */
export function fetchPackages(wanted: {
  complete: readonly string[];
  alone: readonly string[];
}): DebianPackage[] {
  const directory = mkdtempSync(join(tmpdir(), 'berth-apt-'));
  try {
    const apt = aptIn(directory);
    apt('update');
    // apt believes that nothing is installed, and so names everything that is needed.
    const resolved = apt(
      ...['install', '--yes', '--no-install-recommends', '--print-uris', '--', ...wanted.complete],
    );
    const names = [...resolved.matchAll(/^'[^']*' ([^_\s]+)_/gm)].map(([, name]) => name as string);
    apt('download', '--', ...new Set([...names, ...wanted.alone]));
    const archives = readdirSync(directory).filter((name) => name.endsWith('.deb'));
    return archives.sort().map((name) => readPackage(join(directory, name)));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function aptIn(directory: string): (...args: string[]) => string {
  for (const each of ['state/lists/partial', 'cache/archives/partial'])
    mkdirSync(join(directory, each), { recursive: true });
  writeFileSync(join(directory, 'status'), '');
  const settings = {
    'Dir::State': join(directory, 'state'),
    'Dir::State::status': join(directory, 'status'),
    'Dir::Cache': join(directory, 'cache'),
    'APT::Sandbox::User': '',
    // Otherwise an unreachable mirror is a warning, and the packages are said not to exist.
    'APT::Update::Error-Mode': 'any',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  return (...args) =>
    run(
      'apt-get',
      ['-qq', ...options, ...args],
      directory,
      'apt-get is part of Debian and its derivatives',
    ).toString();
}

function readPackage(archive: string): DebianPackage {
  const hint = 'dpkg-deb is part of Debian and its derivatives';
  const control = run('dpkg-deb', ['--field', archive], '.', hint).toString();
  const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(control)?.[1] ?? '';
  const files = readTar(run('dpkg-deb', ['--fsys-tarfile', archive], '.', hint))
    .filter(({ path }) => path !== '' && !LEFT_OUT.test(path) && !LEFT_OUT_DOC.test(path))
    .map((file) => ({
      ...file,
      path: inMergedUsr(file.path),
      ...(file.type === 'hardlink' && { target: inMergedUsr(file.target ?? '') }),
    }));
  return { name: field('Package'), version: field('Version'), control, files };
}

/** Debian 12 has /bin, /sbin and /lib as links into /usr; its packages still name files by the links. */
const inMergedUsr = (path: string): string => path.replace(/^(bin|sbin|lib|lib64)(?=\/|$)/, 'usr/$1');

function run(program: string, args: readonly string[], cwd: string, hint: string): Buffer {
  try {
    return execFileSync(program, args, {
      cwd,
      maxBuffer: LARGEST_PACKAGE,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, LC_ALL: 'C' },
    });
  } catch (error) {
    const { code, stderr } = error as { code?: string; stderr?: Buffer };
    if (code === 'ENOENT') throw new Error(`${program} is not installed: ${hint}`);
    throw new Error(
      `${program} ${args.at(0)} failed: ${stderr?.toString().trim() || (error as Error).message}`,
    );
  }
}
