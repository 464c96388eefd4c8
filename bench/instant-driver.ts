// A CSI driver that answers at once, or after a given time: it stores nothing, and publishes every volume as a bind mount of one directory.
// With `all` it also has topology, expansion and snapshots, so that every sidecar has work.
// Run as a separate process, as a driver is: `node bench/instant-driver.ts SOCKET DIRECTORY` serves it.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rmdir } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import {
  Controller,
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  Identity,
  implement,
  Node,
  NodeServiceCapability_RPC_Type as NodeRpc,
  PluginCapability_Service_Type as PluginService,
  serveCsi,
} from '../src/csi/index.ts';
import { silentLog } from '../src/runtime/log/log.ts';
import { openLinuxMounter } from '../src/runtime/mount/linux-mounter.ts';
import { realClock } from '../src/runtime/time/clock.ts';

export const INSTANT_DRIVER = 'instant.csi.bench';
export const INSTANT_TOPOLOGY = { 'topology.bench/zone': 'z0' };
const file = fileURLToPath(import.meta.url);

export async function startInstantDriver(
  directory: string,
  { delayMs = 0, all = false }: { delayMs?: number; all?: boolean } = {},
): Promise<{ name: string; socket: string; pid: number; stop(): Promise<void> }> {
  await mkdir(directory, { recursive: true });
  const socket = `${directory}/s`;
  const child: ChildProcess = spawn(
    process.execPath,
    [file, socket, directory, String(delayMs), all ? 'all' : ''],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line');
  return {
    name: INSTANT_DRIVER,
    socket,
    pid: child.pid ?? 0,
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}

const service = (type: PluginService) => ({ type: { case: 'service' as const, value: { type } } });
const rpc = <T extends number>(type: T) => ({ type: { case: 'rpc' as const, value: { type } } });

async function serve(
  socket: string,
  directory: string,
  { delayMs, all }: { delayMs: number; all: boolean },
): Promise<void> {
  const mounter = await openLinuxMounter();
  const source = `${directory}/v`;
  await mkdir(source, { recursive: true });
  const identity = implement(Identity, {
    probe: () => ({ ready: true }),
    getPluginInfo: () => ({ name: INSTANT_DRIVER, vendorVersion: '1' }),
    getPluginCapabilities: () => ({
      capabilities: [
        service(PluginService.CONTROLLER_SERVICE),
        ...(all ? [service(PluginService.VOLUME_ACCESSIBILITY_CONSTRAINTS)] : []),
      ],
    }),
  });
  const controller = implement(Controller, {
    controllerGetCapabilities: () => ({
      capabilities: [
        rpc(ControllerRpc.CREATE_DELETE_VOLUME),
        rpc(ControllerRpc.PUBLISH_UNPUBLISH_VOLUME),
        ...(all ? [rpc(ControllerRpc.EXPAND_VOLUME), rpc(ControllerRpc.CREATE_DELETE_SNAPSHOT)] : []),
      ],
    }),
    createVolume: async ({ name, capacityRange }) => {
      if (delayMs > 0) await realClock.sleep(delayMs);
      return { volume: { volumeId: name, capacityBytes: capacityRange?.requiredBytes ?? 0n } };
    },
    deleteVolume: () => ({}),
    controllerPublishVolume: async () => {
      if (delayMs > 0) await realClock.sleep(delayMs);
      return {};
    },
    controllerUnpublishVolume: () => ({}),
    controllerExpandVolume: ({ capacityRange }) => ({ capacityBytes: capacityRange?.requiredBytes ?? 0n }),
    createSnapshot: ({ name, sourceVolumeId }) => ({
      snapshot: {
        snapshotId: name,
        sourceVolumeId,
        readyToUse: true,
        creationTime: { seconds: 1_700_000_000n, nanos: 0 },
      },
    }),
    deleteSnapshot: () => ({}),
  });
  const node = implement(Node, {
    nodeGetInfo: () => ({
      nodeId: 'n',
      ...(all && { accessibleTopology: { segments: INSTANT_TOPOLOGY } }),
    }),
    nodeGetCapabilities: () => ({ capabilities: [rpc(NodeRpc.STAGE_UNSTAGE_VOLUME)] }),
    nodeStageVolume: () => ({}),
    nodeUnstageVolume: () => ({}),
    nodePublishVolume: async ({ targetPath }) => {
      await mkdir(targetPath, { recursive: true });
      await mounter.bind(source, targetPath);
      return {};
    },
    nodeUnpublishVolume: async ({ targetPath }) => {
      await mounter.unmount(targetPath);
      await rmdir(targetPath).catch(() => {});
      return {};
    },
  });
  const services = [identity, controller, node];
  const server = await serveCsi({ address: socket, services, clock: realClock, log: silentLog });
  process.stdout.write('ready\n');
  await once(process, 'SIGTERM');
  await server.stop(1000);
}

if (process.argv[1] === file) {
  const [, , socket = '', directory = '', delayMs = '0', all = ''] = process.argv;
  await serve(socket, directory, { delayMs: Number(delayMs), all: all === 'all' });
  process.exit(0);
}
