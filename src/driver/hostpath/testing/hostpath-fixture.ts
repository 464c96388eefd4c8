// For tests: a real hostpath in a temporary directory, with real mounts, called without a socket. At the end of
// the test it fails the test if a mount, loop device, file or record is left behind.

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { lacking } from '../../../../test/capabilities.ts';
import { csiClient } from '../../../csi/client/csi-client.ts';
import { loopbackTransport } from '../../../csi/client/loopback-transport.ts';
import {
  Controller,
  type CreateVolumeRequestSchema,
  GroupController,
  Identity,
  VolumeCapability_AccessMode_Mode as Mode,
  Node,
  SnapshotMetadata,
  type VolumeCapabilitySchema,
} from '../../../csi/index.ts';
import { memoryLog } from '../../../runtime/log/log.ts';
import { openLinuxMounter } from '../../../runtime/mount/linux-mounter.ts';
import { realRandom } from '../../../runtime/random.ts';
import { realClock } from '../../../runtime/time/clock.ts';
import type { Message, MessageInitShape } from '../../../wire/protobuf/descriptor.ts';
import { driverServices } from '../../driver-services.ts';
import { createHostpath, type Hostpath } from '../create-hostpath.ts';
import type { HostpathNodeOptions, HostpathOptions } from '../options.ts';

export const needsRoot = lacking('root');

export const MiB = 1n << 20n;

export function capability(
  options: {
    mode?: keyof typeof Mode;
    type?: 'mount' | 'block';
    fsType?: string;
    mountFlags?: string[];
  } = {},
): MessageInitShape<typeof VolumeCapabilitySchema> {
  const { mode = 'SINGLE_NODE_WRITER', type = 'mount', fsType = '', mountFlags = [] } = options;
  return {
    accessMode: { mode: Mode[mode] },
    accessType:
      type === 'block' ? { case: 'block', value: {} } : { case: 'mount', value: { fsType, mountFlags } },
  };
}

/** A request for a small volume. */
export function volumeRequest(overrides: VolumeRequestInit = {}) {
  return {
    name: 'volume',
    volumeCapabilities: [capability()],
    capacityRange: { requiredBytes: 16n * MiB },
    ...overrides,
  } satisfies VolumeRequestInit;
}

type VolumeRequestInit = Omit<
  Exclude<MessageInitShape<typeof CreateVolumeRequestSchema>, Message>,
  '$typeName'
>;

export type HostpathClients = ReturnType<typeof clientsOf>;

export function clientsOf(services: ReturnType<typeof driverServices>) {
  const transport = loopbackTransport(services, { clock: realClock, log: memoryLog() });
  const defaults = { timeoutMs: 30_000 };
  return {
    identity: csiClient(Identity, transport, defaults),
    controller: csiClient(Controller, transport, defaults),
    group: csiClient(GroupController, transport, defaults),
    metadata: csiClient(SnapshotMetadata, transport, defaults),
    node: csiClient(Node, transport, defaults),
  };
}

export interface HostpathFixture extends HostpathClients {
  readonly root: string;
  readonly stateDir: string;
  readonly hostpath: Hostpath;
  path(name: string): string;
  /** Clients of another node on the same store. */
  addNode(node: HostpathNodeOptions): HostpathClients;
  /** Directories and images that exist, by kind. */
  contents(): Promise<{ volumes: string[]; snapshots: string[] }>;
}

export interface FixtureOptions extends Partial<HostpathOptions> {
  node?: HostpathNodeOptions;
  whenBusy?: 'abort' | 'wait';
  /** Volumes that the test leaves on purpose. */
  keepsContent?: boolean;
}

export async function startHostpath(t: TestContext, options: FixtureOptions = {}): Promise<HostpathFixture> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'berth-hp-')));
  const stateDir = options.stateDir ?? join(root, 'state');
  const mounter = await openLinuxMounter();
  const log = memoryLog();
  const hostpath = await createHostpath({
    clock: realClock,
    random: realRandom,
    log,
    mounter,
    stateDir,
    ...options,
  });
  const serve = (node: HostpathNodeOptions) =>
    clientsOf(
      driverServices(hostpath.driver({ controller: true, node }), {
        log,
        ...(options.whenBusy && { whenBusy: options.whenBusy }),
      }),
    );
  const contents = () => listContents(stateDir);
  const fixture: HostpathFixture = {
    ...serve(options.node ?? { nodeId: 'node-1' }),
    root,
    stateDir,
    hostpath,
    path: (name) => join(root, name),
    addNode: serve,
    contents,
  };
  await mkdir(join(root, 'pods'));
  t.after(async () => {
    hostpath.close();
    const left = await leftovers(root);
    await cleanUp(root);
    const content = options.keepsContent
      ? { volumes: [], snapshots: [] }
      : await contents().catch(() => undefined);
    await rm(root, { recursive: true, force: true });
    assert.deepEqual(left, [], 'mounts or loop devices were left behind');
    assert.deepEqual(content ?? { volumes: [], snapshots: [] }, { volumes: [], snapshots: [] });
  });
  return fixture;
}

export async function listContents(stateDir: string): Promise<{ volumes: string[]; snapshots: string[] }> {
  const list = async (kind: string) => (await readdir(join(stateDir, kind))).toSorted();
  return { volumes: await list('volumes'), snapshots: await list('snapshots') };
}

/** Mounts at, and loop devices over, anything below `root`. */
export async function leftovers(root: string): Promise<string[]> {
  const mounter = await openLinuxMounter();
  const mounts = (await mounter.list()).filter(({ mountPoint }) => mountPoint.startsWith(`${root}/`));
  const loops = await loopImages(root);
  return [
    ...mounts.map(({ mountPoint }) => mountPoint),
    ...loops.map(({ image }) => `loop device over ${image}`),
  ];
}

async function loopImages(root: string): Promise<{ device: string; image: string }[]> {
  const names = (await readdir('/sys/block')).filter((name) => name.startsWith('loop'));
  const found = await Promise.all(
    names.map(async (name) => ({
      device: `/dev/${name}`,
      image: (await readFile(`/sys/block/${name}/loop/backing_file`, 'utf8').catch(() => '')).trim(),
    })),
  );
  return found.filter(({ image }) => image.startsWith(`${root}/`));
}

/** Cleans up the mounts of a failed test. */
export async function cleanUp(root: string): Promise<void> {
  const mounter = await openLinuxMounter();
  const mounts = (await mounter.list()).filter(({ mountPoint }) => mountPoint.startsWith(`${root}/`));
  for (const { mountPoint } of mounts.reverse()) await mounter.unmount(mountPoint, { lazy: true });
  for (const { device } of await loopImages(root)) await mounter.loop.detach(device);
}

/** The code of the error that the call rejects with. */
export async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'OK';
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

/** Attach, stage and publish; then the reverse. */
export async function use(
  clients: HostpathClients,
  request: {
    volumeId: string;
    nodeId?: string;
    staging: string;
    target: string;
    readonly?: boolean;
    capability?: MessageInitShape<typeof VolumeCapabilitySchema>;
  },
): Promise<void> {
  const { volumeId, nodeId = 'node-1', staging, target, readonly = false } = request;
  const volumeCapability = request.capability ?? capability();
  await clients.controller.controllerPublishVolume({ volumeId, nodeId, volumeCapability });
  await clients.node.nodeStageVolume({ volumeId, stagingTargetPath: staging, volumeCapability });
  await clients.node.nodePublishVolume({
    volumeId,
    stagingTargetPath: staging,
    targetPath: target,
    volumeCapability,
    readonly,
  });
}

export async function release(
  clients: HostpathClients,
  request: { volumeId: string; nodeId?: string; staging: string; target: string },
): Promise<void> {
  const { volumeId, nodeId = 'node-1', staging, target } = request;
  await clients.node.nodeUnpublishVolume({ volumeId, targetPath: target });
  await clients.node.nodeUnstageVolume({ volumeId, stagingTargetPath: staging });
  await clients.controller.controllerUnpublishVolume({ volumeId, nodeId });
}
