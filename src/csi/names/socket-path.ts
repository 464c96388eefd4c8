// Addresses of unix sockets: what users may write, and the kernel's limit on their length. A path that is too long
// for the kernel is reached through a link to its directory in a private temporary directory.

import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';

/** `sun_path` holds 108 bytes, the last of which ends the string. */
export const maxSocketPathBytes = 107;

/** The path in `/path`, `unix:/path`, `unix:path` or `unix:///path`; throws an error that says what is wrong. */
export function socketPath(address: string): string {
  const fail = (why: string): never => {
    throw new Error(`bad socket address "${address}": ${why}`);
  };
  let path = address;
  if (address.startsWith('unix:')) {
    path = address.slice('unix:'.length);
    if (path.startsWith('//')) {
      path = path.slice(2);
      if (!path.startsWith('/')) fail(`after unix:// comes an absolute path; did you mean unix:///${path}?`);
    }
  } else if (/^[a-z][a-z0-9+.-]*:/i.test(address)) {
    fail('only unix sockets are supported, as in unix:///run/csi/socket');
  }
  if (path === '' || path.endsWith('/')) fail('it names no file, expected a path as in /run/csi/socket');
  if (path.includes('\0')) fail('it contains a NUL character');
  return resolve(path);
}

/** The path in which the kernel finds the same socket. `release` removes what was set up for it. */
export interface ShortSocketPath {
  readonly path: string;
  release(): void;
}

/** For listening and connecting alike; `path` itself wherever it fits. */
export function shortSocketPath(path: string): ShortSocketPath {
  if (Buffer.byteLength(path) <= maxSocketPathBytes) return { path, release() {} };
  // mkdtemp makes the directory for this user alone (0700): nobody else can redirect the link.
  const directory = mkdtempSync(join(tmpdir(), 'berth-'));
  const release = (): void => rmSync(directory, { recursive: true, force: true });
  const short = join(directory, 'd', basename(path));
  if (Buffer.byteLength(short) > maxSocketPathBytes) {
    release();
    throw new Error(
      `socket path "${path}" is ${Buffer.byteLength(path)} bytes long, the system allows ${maxSocketPathBytes}, and its ` +
        'file name is too long even for a link to its directory; choose a shorter file name',
    );
  }
  symlinkSync(dirname(path), join(directory, 'd'), 'dir');
  return { path: short, release };
}
