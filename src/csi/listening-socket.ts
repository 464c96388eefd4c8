// Makes a socket path free to listen on. A socket left by a process that died is removed; one that somebody listens
// on, or a file that is no socket, is never touched.

import { lstat, mkdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname } from 'node:path';

/** `path` is where the socket will be; `reach` the path through which the kernel finds it (see socket-path.ts). */
export async function freeSocketPath(path: string, reach: string): Promise<void> {
  const stats = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new Error(`cannot listen on ${path}: ${error.message}`, { cause: error });
  });
  if (stats === undefined) {
    await mkdir(dirname(path), { recursive: true, mode: 0o750 });
    return;
  }
  if (!stats.isSocket()) {
    throw new Error(
      `cannot listen on ${path}: there is something that is not a socket; remove it or choose another path`,
    );
  }
  if (await somebodyListens(reach)) {
    throw new Error(
      `cannot listen on ${path}: another process already does; stop it first or choose another path`,
    );
  }
  await rm(path, { force: true });
}

function somebodyListens(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false);
      // A full backlog: somebody is there, only busy.
      else if (error.code === 'EAGAIN') resolve(true);
      else
        reject(
          new Error(`cannot tell whether somebody listens on ${path}: ${error.message}`, { cause: error }),
        );
    });
  });
}
