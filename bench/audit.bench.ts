// `berth audit` as a process: time and peak memory with many volumes, each with its claim, pod and attachment, and some leaked.
// The two looks follow each other at once; usually there are ten seconds between them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  csiNodes,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  storageClasses,
  volumeAttachments,
} from '../src/api/kinds.ts';
import { createApiServer } from '../src/apiserver/index.ts';
import {
  Controller,
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  Identity,
  implement,
  PluginCapability_Service_Type as PluginService,
  serveCsi,
} from '../src/csi/index.ts';
import { intFlag } from '../src/runtime/flags/flag.ts';
import type { KubeClient } from '../src/runtime/kube/kube.ts';
import { silentLog } from '../src/runtime/log/log.ts';
import { realRandom } from '../src/runtime/random.ts';
import { realClock } from '../src/runtime/time/clock.ts';
import { defineBenchmark } from './harness.ts';

const DRIVER = 'audited.csi.bench';
const NODES = 100;
const PAGE = 1_000;
/** Objects that are created at once. */
const AT_ONCE = 64;
const BERTH = fileURLToPath(new URL('../bin/berth', import.meta.url));
const USAGE = fileURLToPath(new URL('./report-usage.ts', import.meta.url));

async function populate(kube: KubeClient, volumes: number): Promise<void> {
  await kube.create(storageClasses, { metadata: { name: 'fast' }, provisioner: DRIVER });
  for (let index = 0; index < NODES; index++) {
    const name = `node-${index}`;
    await kube.create(nodes, { metadata: { name } });
    await kube.create(csiNodes, { metadata: { name }, spec: { drivers: [{ name: DRIVER, nodeID: name }] } });
  }
  const make = async (index: number): Promise<void> => {
    const name = `data-${index}`;
    const namespace = 'default';
    const size = { storage: '1Gi' };
    const nodeName = `node-${index % NODES}`;
    await kube.create(persistentVolumes, {
      metadata: { name: `pv-${index}` },
      spec: {
        capacity: size,
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'fast',
        persistentVolumeReclaimPolicy: 'Delete',
        claimRef: { namespace, name },
        csi: { driver: DRIVER, volumeHandle: `vol-${index}`, volumeAttributes: { tier: 'gold' } },
      },
    });
    await kube.create(persistentVolumeClaims, {
      metadata: { name, namespace },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'fast',
        volumeName: `pv-${index}`,
        resources: { requests: size },
      },
    });
    await kube.create(pods, {
      metadata: { name, namespace },
      spec: {
        nodeName,
        containers: [{ name: 'main', image: 'x' }],
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: name } }],
      },
    });
    const attachment = await kube.create(volumeAttachments, {
      metadata: { name: `va-${index}` },
      spec: { attacher: DRIVER, nodeName, source: { persistentVolumeName: `pv-${index}` } },
    });
    const attached = { ...attachment, status: { attached: true } };
    await kube.update(volumeAttachments, attached, { subresource: 'status' });
  };
  const todo = Array.from({ length: volumes }, (_, index) => index).values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const index of todo) await make(index);
    }),
  );
}

async function serveDriver(address: string, volumes: number, leaked: number) {
  const rpc = <T extends number>(type: T) => ({ type: { case: 'rpc' as const, value: { type } } });
  const total = volumes + leaked;
  const identity = implement(Identity, {
    probe: () => ({ ready: true }),
    getPluginInfo: () => ({ name: DRIVER, vendorVersion: '1' }),
    getPluginCapabilities: () => ({
      capabilities: [
        { type: { case: 'service' as const, value: { type: PluginService.CONTROLLER_SERVICE } } },
      ],
    }),
  });
  const controller = implement(Controller, {
    controllerGetCapabilities: () => ({
      capabilities: [rpc(ControllerRpc.LIST_VOLUMES), rpc(ControllerRpc.LIST_VOLUMES_PUBLISHED_NODES)],
    }),
    listVolumes: ({ startingToken }) => {
      const from = Number(startingToken || 0);
      const to = Math.min(from + PAGE, total);
      return {
        entries: Array.from({ length: to - from }, (_, offset) => ({
          volume: {
            volumeId: `vol-${from + offset}`,
            capacityBytes: 1n << 30n,
            volumeContext: { tier: 'gold' },
          },
          status: { publishedNodeIds: from + offset < volumes ? [`node-${(from + offset) % NODES}`] : [] },
        })),
        nextToken: to < total ? String(to) : '',
      };
    },
  });
  return serveCsi({ address, services: [identity, controller], clock: realClock, log: silentLog });
}

export const benchmark = defineBenchmark({
  summary: 'berth audit of many volumes with claims, pods and attachments; two looks, as a process',
  operation: 'audit',
  flags: {
    volumes: intFlag({ help: 'Volumes', default: 10_000, min: 1 }),
    leaked: intFlag({ help: 'Volumes that no PersistentVolume has', default: 100, min: 0 }),
  },
  candidates: {
    berth: async ({ flags, directory }) => {
      const { volumes, leaked } = flags;
      const kubeconfig = join(directory, 'kubeconfig');
      const socket = join(directory, 's');
      const server = await createApiServer({
        clock: realClock,
        random: realRandom,
        log: silentLog,
        kubeconfigPath: kubeconfig,
      });
      await populate(server.client(server.adminUser), volumes);
      const driver = await serveDriver(socket, volumes, leaked);
      const usage = join(directory, 'usage');
      return {
        async round() {
          const where = ['--kubeconfig', kubeconfig, '--csi-address', socket];
          const args = ['audit', ...where, '--exclusive', '--min-age=0s', '--confirm-after=0s', '-o', 'json'];
          const child = spawn(process.execPath, ['--import', USAGE, BERTH, ...args], {
            stdio: ['ignore', 'pipe', 'inherit'],
            env: { ...process.env, BENCH_USAGE: usage },
          });
          let text = '';
          child.stdout.setEncoding('utf8').on('data', (part: string) => {
            text += part;
          });
          await once(child, 'close');
          const { findings } = JSON.parse(text) as { findings: { kind: string }[] };
          const found = findings.filter(({ kind }) => kind === 'volume-leaked').length;
          if (found !== leaked) throw new Error(`${found} of ${leaked} leaked volumes were found`);
          const { peakBytes, cpuMs } = JSON.parse(await readFile(usage, 'utf8')) as Record<string, number>;
          return {
            operations: 1,
            figures: { 'audit CPU ms': cpuMs ?? 0, 'audit peak MB': (peakBytes ?? 0) / 1e6 },
          };
        },
        async stop() {
          await driver.stop(0);
          await server.stop();
        },
      };
    },
  },
});
