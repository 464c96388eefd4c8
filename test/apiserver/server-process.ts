// `berth apiserver` as a process of its own, for tests that need what only a process has: a start-up time, signals,
// and an end without warning.

import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Access, HttpsCaller } from '../https-caller.ts';

const BERTH = fileURLToPath(new URL('../../bin/berth', import.meta.url));

export interface ServerProcess {
  readonly child: ChildProcess;
  readonly url: string;
  readonly kubeconfig: string;
  /** From the start of the process to its `ready` line. */
  readonly readyMs: number;
  end(signal: NodeJS.Signals): Promise<number | null>;
}

export async function startServer(options: {
  dir: string;
  dataDir?: string;
  /** A module to load first; it can exchange messages with this process. */
  preload?: URL;
}): Promise<ServerProcess> {
  const kubeconfig = join(options.dir, 'kubeconfig');
  const storage = options.dataDir === undefined ? ['--ephemeral'] : ['--data-dir', options.dataDir];
  const began = performance.now();
  const preload = options.preload === undefined ? [] : ['--import', options.preload.href];
  const child = spawn(
    process.execPath,
    [...preload, BERTH, 'apiserver', ...storage, '--port', '0', '--kubeconfig', kubeconfig],
    {
      stdio: ['ignore', 'pipe', 'pipe', ...(options.preload === undefined ? [] : ['ipc' as const])],
    },
  );
  let stderr = '';
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const ready = new Promise<string>((resolve, reject) => {
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
    lines.on('line', (line) => {
      const url = /^ready (https:\S+)$/.exec(line)?.[1];
      if (url !== undefined) resolve(url);
    });
    void ended.then((code) =>
      reject(new Error(`berth apiserver ended with ${code} before it was ready: ${stderr}`)),
    );
  });
  const url = await ready;
  return {
    child,
    url,
    kubeconfig,
    readyMs: performance.now() - began,
    end(signal) {
      child.kill(signal);
      return ended;
    },
  };
}

/** HTTPS with the admin's certificate from a kubeconfig that the server wrote. */
export async function adminCaller(kubeconfig: string): Promise<HttpsCaller> {
  return new HttpsCaller(await readCredentials(kubeconfig));
}

export async function readCredentials(kubeconfig: string): Promise<Access> {
  const config = JSON.parse(await readFile(kubeconfig, 'utf8'));
  const decode = (text: string) => Buffer.from(text, 'base64').toString();
  const { cluster } = config.clusters[0];
  const { user } = config.users[0];
  return {
    url: cluster.server,
    tls: {
      ca: decode(cluster['certificate-authority-data']),
      cert: decode(user['client-certificate-data']),
      key: decode(user['client-key-data']),
    },
  };
}
