// kube-apiserver and etcd from BERTH_PEERS, on free ports of the loopback interface, with an admin's kubeconfig: the
// real thing, for tests to run on and for benchmarks to compare with. Everything is in the given directory.

import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { peerPath } from '../capabilities.ts';
import { type Access, HttpsCaller } from '../https-caller.ts';

const READY_LIMIT_MS = 60_000;
const TOKEN = 'test-admin-token';

export interface KubeApiserver extends Access {
  /** Its admin's. */
  readonly kubeconfig: string;
  /** Process IDs by program. */
  readonly processes: Record<string, number>;
  readonly readyMs: number;
  /** A kubeconfig for whoever has this token, written beside the admin's. */
  kubeconfigFor(name: string, token: string): Promise<string>;
  /** What it said last, to explain a failure. */
  log(): Promise<string>;
  stop(): Promise<void>;
}

/** Both count on controllers that are not here: one that makes accounts, one that takes taints off nodes. */
const WITHOUT_CONTROLLERS = ['ServiceAccount', 'TaintNodesByCondition'];

export interface KubeApiserverOptions {
  disabledAdmission?: readonly string[];
  /** Instead of a free port. */
  port?: number;
  /** Where pods reach it; on the loopback interface alone unless given. */
  address?: string;
  /** Beside the admin's, as in a token file: `token,user,uid,group`. */
  tokens?: readonly string[];
  args?: readonly string[];
}

export async function startKubeApiserver(
  directory: string,
  options: KubeApiserverOptions = {},
): Promise<KubeApiserver> {
  const { disabledAdmission = WITHOUT_CONTROLLERS, address, tokens = [], args = [] } = options;
  const etcdPath = peerPath('etcd');
  const serverPath = peerPath('kube-apiserver');
  if (etcdPath === undefined || serverPath === undefined) {
    throw new Error('BERTH_PEERS has no etcd and kube-apiserver');
  }
  const [clientPort, peerPort, securePort] = await Promise.all([
    freePort(),
    freePort(),
    options.port ?? freePort(),
  ]);
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const secret = { mode: 0o600 };
  await writeFile(join(directory, 'sa.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }), secret);
  await writeFile(join(directory, 'sa.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
  await writeFile(
    join(directory, 'tokens.csv'),
    [`${TOKEN},admin,admin,system:masters`, ...tokens, ''].join('\n'),
    secret,
  );

  const startMs = performance.now();
  const logPath = join(directory, 'kube-apiserver.log');
  const etcd = start(etcdPath, join(directory, 'etcd.log'), [
    `--data-dir=${join(directory, 'etcd')}`,
    `--listen-client-urls=http://127.0.0.1:${clientPort}`,
    `--advertise-client-urls=http://127.0.0.1:${clientPort}`,
    `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
    '--log-level=error',
  ]);
  const server = start(serverPath, logPath, [
    `--etcd-servers=http://127.0.0.1:${clientPort}`,
    `--secure-port=${securePort}`,
    ...(address === undefined
      ? ['--bind-address=127.0.0.1']
      : ['--bind-address=0.0.0.0', `--advertise-address=${address}`]),
    `--cert-dir=${join(directory, 'certs')}`,
    `--service-account-key-file=${join(directory, 'sa.pub')}`,
    `--service-account-signing-key-file=${join(directory, 'sa.key')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--token-auth-file=${join(directory, 'tokens.csv')}`,
    '--authorization-mode=Node,RBAC',
    // As in every cluster that runs CSI drivers.
    '--allow-privileged',
    '--service-cluster-ip-range=10.0.0.0/24',
    `--disable-admission-plugins=${disabledAdmission.join(',')}`,
    ...args,
  ]);
  const stop = async () => {
    for (const child of [server, etcd]) await ended(child);
  };
  const log = async () => (await readFile(logPath, 'utf8').catch(() => '')).slice(-4000);
  const target = {
    url: `https://127.0.0.1:${securePort}`,
    // It serves with a certificate it signed itself a moment ago.
    tls: { insecureSkipVerify: true },
    headers: { authorization: `Bearer ${TOKEN}` },
  };
  try {
    await ready(target, server, startMs);
  } catch (error) {
    await stop();
    throw new Error(`${(error as Error).message}: ${await log()}`);
  }
  const readyMs = performance.now() - startMs;
  const kubeconfigFor = async (name: string, token: string): Promise<string> => {
    const path = join(directory, `${name}.kubeconfig`);
    await writeFile(path, kubeconfigWith(target.url, token), secret);
    return path;
  };
  return {
    ...target,
    kubeconfig: await kubeconfigFor('admin', TOKEN),
    processes: { 'kube-apiserver': server.pid as number, etcd: etcd.pid as number },
    readyMs,
    kubeconfigFor,
    log,
    stop,
  };
}

function kubeconfigWith(server: string, token: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'test', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test', namespace: 'default' } }],
    'current-context': 'test',
  });
}

function start(path: string, logPath: string, args: readonly string[]): ChildProcess {
  const child = spawn(path, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  child.stderr?.pipe(createWriteStream(logPath));
  return child;
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGKILL');
  });
}

async function ready(access: Access, server: ChildProcess, startMs: number): Promise<void> {
  const caller = new HttpsCaller(access);
  try {
    while (performance.now() - startMs < READY_LIMIT_MS) {
      if (server.exitCode !== null) throw new Error(`kube-apiserver ended with ${server.exitCode}`);
      const answer = await caller.call('GET', '/readyz').catch(() => undefined);
      if (answer?.code === 200) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(`kube-apiserver was not ready after ${READY_LIMIT_MS} ms`);
  } finally {
    await caller.close();
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
