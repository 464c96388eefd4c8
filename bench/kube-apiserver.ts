// kube-apiserver and etcd from BERTH_PEERS, started on free ports with an admin's token: what the embedded API server
// is compared with.
import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { peerPath } from '../test/capabilities.ts';
import type { Target } from './apiserver.bench.ts';
import { Unavailable } from './harness.ts';

const READY_LIMIT_MS = 60_000;
const TOKEN = 'bench-admin-token';

export interface KubeApiserver {
  readonly target: Target;
  readonly processes: Record<string, number>;
  readonly readyMs: number;
  stop(): Promise<void>;
}

export async function startKubeApiserver(directory: string): Promise<KubeApiserver> {
  const etcdPath = peerPath('etcd');
  const serverPath = peerPath('kube-apiserver');
  if (etcdPath === undefined || serverPath === undefined) {
    throw new Unavailable('BERTH_PEERS has no etcd and kube-apiserver');
  }
  const [clientPort, peerPort, securePort] = await Promise.all([freePort(), freePort(), freePort()]);
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writeFile(join(directory, 'sa.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }), {
    mode: 0o600,
  });
  await writeFile(join(directory, 'sa.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
  await writeFile(join(directory, 'tokens.csv'), `${TOKEN},admin,admin,system:masters\n`, { mode: 0o600 });

  const startMs = performance.now();
  const etcd = start(etcdPath, [
    `--data-dir=${join(directory, 'etcd')}`,
    `--listen-client-urls=http://127.0.0.1:${clientPort}`,
    `--advertise-client-urls=http://127.0.0.1:${clientPort}`,
    `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
    '--log-level=error',
  ]);
  const server = start(serverPath, [
    `--etcd-servers=http://127.0.0.1:${clientPort}`,
    `--secure-port=${securePort}`,
    '--bind-address=127.0.0.1',
    `--cert-dir=${join(directory, 'certs')}`,
    `--service-account-key-file=${join(directory, 'sa.pub')}`,
    `--service-account-signing-key-file=${join(directory, 'sa.key')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--token-auth-file=${join(directory, 'tokens.csv')}`,
    '--authorization-mode=Node,RBAC',
    '--service-cluster-ip-range=10.0.0.0/24',
    '--disable-admission-plugins=ServiceAccount',
  ]);
  const stop = async () => {
    for (const child of [server, etcd]) await ended(child);
  };
  const target: Target = {
    server: `https://127.0.0.1:${securePort}`,
    // It serves with a certificate it signed itself a moment ago.
    tls: { rejectUnauthorized: false },
    headers: { authorization: `Bearer ${TOKEN}` },
  };
  try {
    await ready(target, startMs);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    target,
    processes: { 'kube-apiserver': server.pid as number, etcd: etcd.pid as number },
    readyMs: performance.now() - startMs,
    stop,
  };
}

function start(path: string, args: readonly string[]): ChildProcess {
  return spawn(path, args, { stdio: 'ignore' });
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGKILL');
  });
}

async function ready({ server, tls, headers }: Target, startMs: number): Promise<void> {
  const agent = new Agent({ connect: tls });
  try {
    while (performance.now() - startMs < READY_LIMIT_MS) {
      const answer = await request(`${server}/readyz`, { dispatcher: agent, headers }).catch(() => undefined);
      await answer?.body.dump();
      if (answer?.statusCode === 200) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(`kube-apiserver was not ready after ${READY_LIMIT_MS} ms`);
  } finally {
    await agent.destroy();
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
