// The file of a listening socket. It appears at its path complete: listened on, with its final permissions. A socket left
// by a dead process is replaced; one that another process listens on, or a file that is no socket, is never touched.

import { lstatSync, unlinkSync } from 'node:fs';
import { chmod, link, lstat, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { shortSocketPath } from '../names/socket-path.ts';

export interface SocketFile {
  path: string;
  /** Its permissions. */
  mode: number;
  /** Listens on the path that it is given; the file found there afterwards is the one that is put in place. */
  bind(path: string): Promise<void>;
}

/** Resolves with a function that removes the file, unless another process has replaced it by then. */
export async function placeSocket({ path, mode, bind }: SocketFile): Promise<() => void> {
  try {
    await freeSocketPath(path);
    const directory = dirname(path);
    await mkdir(directory, { recursive: true, mode: 0o750 });
    // Private (0700), and beside the path, so that both are on one filesystem. The dot keeps the kubelet from looking
    // into it.
    const workshop = await mkdtemp(join(directory, '.socket-'));
    try {
      const made = join(workshop, 's');
      const reach = shortSocketPath(made);
      try {
        await bind(reach.path);
      } finally {
        reach.release();
      }
      await chmod(made, mode);
      // Not a rename, which would replace a socket that another process has made meanwhile.
      await link(made, path);
      const { dev, ino } = await lstat(made);
      return () => {
        const found = lstatSync(path, { throwIfNoEntry: false });
        if (found?.dev === dev && found.ino === ino) unlinkSync(path);
      };
    } finally {
      await rm(workshop, { recursive: true, force: true });
    }
  } catch (error) {
    throw new Error(`cannot listen on ${path}: ${(error as Error).message}`, { cause: error });
  }
}

async function freeSocketPath(path: string): Promise<void> {
  const stats = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (stats === undefined) return;
  if (!stats.isSocket()) {
    throw new Error('there is something that is not a socket; remove it or choose another path');
  }
  const reach = shortSocketPath(path);
  try {
    if (await somebodyListens(reach.path)) {
      throw new Error('another process already does; stop it first or choose another path');
    }
  } finally {
    reach.release();
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
      // A full backlog: another process listens, and is busy.
      else if (error.code === 'EAGAIN') resolve(true);
      else
        reject(new Error(`cannot find out whether the socket is in use: ${error.message}`, { cause: error }));
    });
  });
}
