// `berth up --kubelet` for tests: the kubelet of BERTH_PEERS, Debian's containerd, and images made of this machine's busybox.

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { kubeletHome } from '../../src/cluster/kubelet/kubelet-plan.ts';
import { lacking, missingPeers, peerPath, programPath } from '../capabilities.ts';
import { writeImageArchive } from './image-archive.ts';

export const BUSYBOX = 'local/busybox:1';
export const AGNHOST = 'local/agnhost:1';
export const PAUSE = 'local/pause:1';

/** Of the pod `web`: an answer for each connection. */
export const WEB_PORT = 8080;

/** A claim and the pod `web`, of which one container writes and the other can read. */
export const SHARED_VOLUME = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 16Mi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: writer
    image: ${BUSYBOX}
    command: [sh, -c, "echo written > /data/file; while true; do echo tick; sleep 1; done"]
    volumeMounts: [{name: data, mountPath: /data}]
  - name: server
    image: ${BUSYBOX}
    command: [sh, -c, "while true; do echo answered | nc -l -p ${WEB_PORT}; done"]
    volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`;

/** For `skip`. */
export function missingForContainers(...peers: readonly string[]): string | false {
  const absent = ['containerd', 'runc', 'busybox', 'ip'].filter((name) => programPath(name) === undefined);
  if (!existsSync('/usr/lib/cni/bridge') && !existsSync('/opt/cni/bin/bridge')) absent.push('CNI plugins');
  return (
    lacking('root') ||
    missingPeers('kubelet', 'kubectl', ...peers) ||
    (absent.length > 0 && `this machine has no ${absent.join(', ')}`)
  );
}

export interface TestImages {
  agnhost?: boolean;
  /** Further names of the images, as in `registry/busybox:tag`. */
  names?: readonly string[];
}

/** The flags of `berth up`; writes the images into `directory`. */
export function kubeletArguments(directory: string, options: TestImages = {}): string[] {
  return [
    `--kubelet=${peerPath('kubelet')}`,
    '--sandbox-image',
    PAUSE,
    ...writeImages(directory, options).flatMap((path) => ['--kubelet-images', path]),
  ];
}

/** Archives of the images that tests use; returns their paths. */
export function writeImages(directory: string, options: TestImages = {}): string[] {
  const busybox = programPath('busybox') ?? '';
  const applets = execFileSync(busybox, ['--list'], { encoding: 'utf8' }).trim().split('\n');
  const links = Object.fromEntries(
    applets.filter((name) => name !== 'busybox').map((name) => [`bin/${name}`, 'busybox']),
  );
  const files = { 'bin/busybox': busybox };
  const directories = ['bin', 'tmp', 'etc', 'proc', 'sys', 'dev', 'var', 'root'];
  const Env = ['PATH=/bin'];
  const alsoCalled = (image: string): string[] =>
    (options.names ?? []).filter((name) => name.includes(`/${image}:`));
  const archives = [
    {
      names: [BUSYBOX, 'docker.io/library/busybox:1.37', ...alsoCalled('busybox')],
      files,
      links,
      directories,
      config: { Cmd: ['/bin/sh'], Env },
    },
    { names: [PAUSE], files, links, directories, config: { Entrypoint: ['/bin/sleep', '2147483647'], Env } },
    ...(options.agnhost
      ? [
          {
            names: [AGNHOST, ...alsoCalled('agnhost')],
            files: { agnhost: peerPath('agnhost') ?? '' },
            directories,
            config: { Entrypoint: ['/agnhost'] },
          },
        ]
      : []),
  ];
  return archives.map((image, index) => {
    const path = join(directory, `image-${index}.tar`);
    writeImageArchive(path, image);
    return path;
  });
}

/** What of a real node is still there, in words: programs, mounts, cgroups, interfaces, links to logs. */
export function stillThere(dataDir: string): string[] {
  const { bridge, cgroup } = kubeletHome(dataDir);
  const processes = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        return args.includes(`${dataDir}/k/`) ? [`process ${pid}: ${args}`] : [];
      } catch {
        return [];
      }
    });
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line.includes(` ${dataDir}/`));
  const bridges = Object.keys(networkInterfaces()).filter((name) => name === bridge);
  const hierarchies = readdirSync('/sys/fs/cgroup');
  const cgroups = ['.', ...hierarchies].flatMap((hierarchy) => {
    const directory = join('/sys/fs/cgroup', hierarchy);
    try {
      return readdirSync(directory).filter((name) => name === cgroup);
    } catch {
      return [];
    }
  });
  return [
    ...processes,
    ...mounts.map((line) => `mount ${line}`),
    ...bridges.map((name) => `interface ${name}`),
    ...cgroups.map((name) => `cgroup ${name}`),
  ];
}
