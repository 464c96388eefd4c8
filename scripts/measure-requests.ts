// `npm run measure-requests [-- CLAIMS [together]]`: memory and processor time of each container that `berth manifests`
// prints, as separate processes from compiled code beside `berth up`: idle, and while CLAIMS claims are provisioned,
// expanded, snapshotted and deleted. With `together` the sidecars share a process, as without --separate. Its figures are
// the requests in src/manifests/requests.ts. Needs root and kubectl.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { processUsage } from '../bench/process-usage.ts';
import { projectRoot } from './source-files.ts';

const claims = Number(process.argv[2] ?? 200);
const IDLE_SECONDS = 20;
const MEGABYTE = 1 << 20;

const directory = mkdtempSync(join(tmpdir(), 'mr-'));
const program = join(directory, 'berth');
const data = join(directory, 'd');
const kubeconfig = join(data, 'kubeconfig');
const driver = join(data, 'd/hostpath/csi.sock');
// As in the image: no place for a compile cache.
const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' };
const children = new Map<string, ChildProcess>();

function install(): void {
  mkdirSync(program);
  execFileSync(process.execPath, [join(projectRoot, 'scripts/build.ts'), join(program, 'dist')]);
  for (const name of ['bin', 'deploy', 'package.json']) {
    cpSync(join(projectRoot, name), join(program, name), { recursive: true });
  }
  symlinkSync(join(projectRoot, 'node_modules'), join(program, 'node_modules'));
}

function start(name: string, args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [join(program, 'bin/berth'), ...args], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.set(name, child);
  return child;
}

const kubectl = (args: readonly string[], input = ''): string =>
  execFileSync('kubectl', ['--kubeconfig', kubeconfig, ...args], { input, encoding: 'utf8' });

const list = (items: readonly object[]): string => JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
const names = Array.from({ length: claims }, (_, index) => `c${index}`);
const claim = (name: string, storage: string) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name },
  spec: {
    storageClassName: 'hostpath',
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage } },
  },
});
const pod = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [{ name: 'main', image: 'none' }],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: name } }],
  },
});
const snapshot = (name: string) => ({
  apiVersion: 'snapshot.storage.k8s.io/v1',
  kind: 'VolumeSnapshot',
  metadata: { name },
  spec: { source: { persistentVolumeClaimName: name } },
});

function work(): void {
  kubectl(['apply', '-f', '-'], list([...names.map((name) => claim(name, '1Mi')), ...names.map(pod)]));
  kubectl(['wait', 'pod', '--all', '--for=condition=Ready', '--timeout=300s']);
  kubectl(['apply', '-f', '-'], list([...names.map((name) => claim(name, '2Mi')), ...names.map(snapshot)]));
  const ready = '--for=jsonpath={.status.readyToUse}=true';
  kubectl(['wait', 'volumesnapshot', '--all', ready, '--timeout=300s']);
  kubectl(['delete', 'pod,volumesnapshot,pvc', '--all', '--timeout=300s']);
}

function figures(): Map<string, { nowMb: number; peakMb: number; cpuMs: number }> {
  return new Map(
    [...children].map(([name, { pid = 0 }]) => {
      const usage = processUsage(pid);
      const megabytes = (bytes = Number.NaN) => Math.round(bytes / MEGABYTE);
      return [
        name,
        {
          nowMb: megabytes(usage?.memoryBytes),
          peakMb: megabytes(usage?.peakMemoryBytes),
          cpuMs: usage?.cpuMs ?? Number.NaN,
        },
      ];
    }),
  );
}

async function main(): Promise<void> {
  install();
  const separate = ['provisioner', 'attacher', 'resizer', 'snapshotter', 'snapshot-controller'];
  const mode = process.argv[3] === 'together' ? 'together' : 'separate';
  const left = [...separate, 'data-source-validator', 'dashboard'];
  const up = start('up', ['up', '--data-dir', data, '--without', left.join(',')]);
  await new Promise<void>((resolve) =>
    up.stdout?.on('data', (text: Buffer) => String(text).includes('ready ') && resolve()),
  );
  const election = ['--kubeconfig', kubeconfig, '--leader-election', '--leader-election-namespace=default'];
  const beside = [`--csi-address=${driver}`];
  if (mode === 'together') {
    const kinds = separate.slice(0, 4).join(',');
    start('sidecars', [
      'sidecars',
      ...beside,
      ...election,
      `--controllers=${kinds}`,
      '--http-endpoint=:18080',
    ]);
  } else {
    for (const [index, name] of separate.slice(0, 4).entries())
      start(name, [name, ...beside, ...election, `--http-endpoint=:${18080 + index}`]);
  }
  start('snapshot-controller', ['snapshot-controller', ...election, '--http-endpoint=:18090']);
  start('data-source-validator', ['data-source-validator', ...election, '--http-endpoint=:18091']);
  start('health-monitor', ['health-monitor', ...beside, ...election, '--http-endpoint=:18092']);
  start('livenessprobe', ['livenessprobe', ...beside, '--http-endpoint=:18093']);
  start('cluster-registrar', ['cluster-registrar', ...beside, '--kubeconfig', kubeconfig]);
  start('node-registrar', [
    ...['node-registrar', ...beside, '--http-endpoint=:18094'],
    ...[`--kubelet-registration-path=${driver}`, `--plugin-registration-path=${directory}`],
  ]);
  await sleep(IDLE_SECONDS * 1000);
  const idle = figures();
  await sleep(IDLE_SECONDS * 1000);
  const later = figures();
  const startedMs = performance.now();
  work();
  const workMs = performance.now() - startedMs;
  const after = figures();
  console.log(`${claims} claims in ${(workMs / 1000).toFixed(1)} s; processor time in thousandths of a core`);
  console.log(
    '| container | MB idle | MB peak under load | CPU idle | CPU under load |\n|---|---|---|---|---|',
  );
  for (const [name, { nowMb }] of idle) {
    const [next, last] = [later.get(name), after.get(name)];
    if (next === undefined || last === undefined || name === 'up') continue;
    const idleCpu = (next.cpuMs - (idle.get(name)?.cpuMs ?? 0)) / IDLE_SECONDS;
    const loadCpu = ((last.cpuMs - next.cpuMs) / workMs) * 1000;
    console.log(`| ${name} | ${nowMb} | ${last.peakMb} | ${idleCpu.toFixed(0)} | ${loadCpu.toFixed(0)} |`);
  }
}

try {
  await main();
} finally {
  for (const child of [...children.values()].reverse()) {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    if (child.kill('SIGTERM')) await ended;
  }
  rmSync(directory, { recursive: true, force: true });
}
