// An API server that starts with volumes in use, as a process of its own: `node test/scale/filled-server.ts KUBECONFIG DRIVER VOLUMES NODES`.
// One volume and one node are made through the API; the others are copies of what was stored for them, because a hundred thousand made
// one by one would take minutes. Prints a line when it serves.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import {
  type CustomResourceDefinition,
  customResourceDefinitions,
  type Node,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../src/api/kinds.ts';
import type { Draft } from '../../src/api/object.ts';
import { attachmentName } from '../../src/api/volumes.ts';
import { type ApiServer, createApiServer } from '../../src/apiserver/api-server.ts';
import { Version } from '../../src/apiserver/storage/version.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { realRandom } from '../../src/runtime/random.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { fillCluster, handleOf, nodeName, volumeNameOf, zoneOf } from './fill-cluster.ts';

const file = fileURLToPath(import.meta.url);
const ports = { clock: realClock, random: realRandom, log: silentLog };
/** Enough that nothing of the first server has a higher one. */
const FIRST_REVISION = 100_000;

export interface FilledServer {
  readonly kubeconfig: string;
  readonly pid: number;
  stop(): Promise<void>;
}

export async function startFilledServer(options: {
  kubeconfig: string;
  driver: string;
  volumes: number;
  nodes: number;
}): Promise<FilledServer> {
  const { kubeconfig, driver, volumes, nodes } = options;
  const child = spawn(
    process.execPath,
    ['--max-semi-space-size=8', file, kubeconfig, driver, String(volumes), String(nodes)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const exited = once(child, 'exit');
  await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    exited.then(([code]) => Promise.reject(new Error(`the filled server ended with ${code}`))),
  ]);
  return {
    kubeconfig,
    pid: child.pid as number,
    async stop() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

type Image = ReturnType<ApiServer['image']>;

async function filledImage(filling: { driver: string; volumes: number; nodes: number }): Promise<Image> {
  const server = await createApiServer({ ...ports, listen: false });
  const kube = server.client(server.adminUser);
  for (const { group, plural } of [volumeSnapshots, volumeSnapshotContents, volumeSnapshotClasses]) {
    const url = new URL(`../../deploy/crds/${group}_${plural}.yaml`, import.meta.url);
    const definition = parse(await readFile(url, 'utf8')) as Draft<CustomResourceDefinition>;
    await kube.create(customResourceDefinitions, definition);
  }
  await fillCluster(kube, {
    ...filling,
    volumes: Math.min(1, filling.volumes),
    nodes: Math.min(1, filling.nodes),
  });
  const { revision, versions } = server.image();
  await server.stop();
  let next = FIRST_REVISION;
  if (revision >= next) throw new Error(`the first server has ${revision} revisions already`);
  const copies = [...versions].map(([type, [...stored]]): [string, Version[]] => [
    type,
    stored.flatMap((version) => copiesOf(version, filling).map((copy) => versionOf(copy, () => next++))),
  ]);
  return { revision: next, versions: new Map(copies) };
}

interface Copy {
  readonly key: string;
  readonly text: string;
}

function versionOf({ key, text }: Copy, takeRevision: () => number): Version {
  const revision = takeRevision();
  const versioned = text.replace(/"resourceVersion":"\d+"/, `"resourceVersion":"${revision}"`);
  return new Version({ key, revision, bytes: Buffer.from(versioned), freeze: false });
}

/** The stored object as it is, or one for each volume or node if it is the first one's. */
function copiesOf(
  { key, text }: Version,
  { driver, volumes, nodes }: { driver: string; volumes: number; nodes: number },
): Copy[] {
  const attachment = attachmentNameOf(driver, 0, nodes);
  const isOfVolume =
    key.endsWith('/data-0') || key === volumeNameOf(0) || (volumes > 0 && key === attachment);
  const isOfNode = key === nodeName(0) || key.endsWith(`/${nodeName(0)}`);
  if (isOfVolume) {
    return Array.from({ length: volumes }, (_, index) => ({
      key: replaceVolume(key, { driver, index, nodes }),
      text: replaceVolume(text, { driver, index, nodes }),
    }));
  }
  if (!isOfNode) return [{ key, text }];
  return Array.from({ length: nodes }, (_, index) => ({
    key: key.replace(nodeName(0), nodeName(index)),
    text: withVolumes(replaceNode(text, index), { driver, index, volumes, nodes }),
  }));
}

const attachmentNameOf = (driver: string, index: number, nodes: number): string =>
  attachmentName({ driver, volumeHandle: handleOf(index), nodeName: nodeName(index % Math.max(1, nodes)) });

function replaceVolume(text: string, of: { driver: string; index: number; nodes: number }): string {
  const { driver, index, nodes } = of;
  return replaceNode(text, index % Math.max(1, nodes))
    .replaceAll(attachmentNameOf(driver, 0, nodes), attachmentNameOf(driver, index, nodes))
    .replaceAll('data-0', `data-${index}`)
    .replaceAll(volumeNameOf(0), volumeNameOf(index))
    .replace(UIDS, (_, front: string) => `${front}${index.toString(16).padStart(12, '0')}"`);
}

function replaceNode(text: string, index: number): string {
  return text
    .replaceAll(new RegExp(`\\b${nodeName(0)}\\b`, 'g'), nodeName(index))
    .replaceAll(`"${zoneOf(0)}"`, `"${zoneOf(index)}"`)
    .replace(UIDS, (_, front: string) => `${front}${index.toString(16).padStart(12, '0')}"`);
}

/** The last part of a UID counts; the others tell the kinds apart. */
const UIDS = /("uid":"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-)[0-9a-f]{12}"/g;

/** What kubelet and attach-detach controller write into a Node. */
function withVolumes(
  text: string,
  of: { driver: string; index: number; volumes: number; nodes: number },
): string {
  const node = JSON.parse(text) as Node & { kind: string };
  if (node.kind !== 'Node') return text;
  const names: string[] = [];
  for (let volume = of.index; volume < of.volumes; volume += of.nodes)
    names.push(`kubernetes.io/csi/${of.driver}^${handleOf(volume)}`);
  const volumesAttached = names.map((name) => ({ name, devicePath: '' }));
  return JSON.stringify({ ...node, status: { ...node.status, volumesAttached, volumesInUse: names } });
}

if (process.argv[1] === file) {
  const [, , kubeconfigPath = '', driver = '', volumes = '0', nodes = '0'] = process.argv;
  const image = await filledImage({ driver, volumes: Number(volumes), nodes: Number(nodes) });
  const server = await createApiServer({ ...ports, kubeconfigPath, image });
  process.stdout.write('ready\n');
  await once(process, 'SIGTERM');
  await server.stop();
  process.exit(0);
}
