// A whole cluster, as `berth up` starts it, with scripted drivers on real sockets. Which calls of a driver fail, and with
// what, is in the parameters of the volume's StorageClass (or VolumeSnapshotClass): `NodeStageVolume: 'INTERNAL: …'`.

import { mkdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { storageClasses } from '../../src/api/kinds.ts';
import { identifyBroughtDriver } from '../../src/cluster/brought-driver.ts';
import { openDataDirectory } from '../../src/cluster/data-directory.ts';
import { sidecarFlags } from '../../src/cluster/parts.ts';
import { planNodes } from '../../src/cluster/plan-nodes.ts';
import { type Cluster, startCluster } from '../../src/cluster/start-cluster.ts';
import { CsiError } from '../../src/csi/csi-error.ts';
import type { Interceptor } from '../../src/csi/server/serve-call.ts';
import { type CsiServer, serveCsi } from '../../src/csi/server/serve-csi.ts';
import { ScriptedDriver, type ScriptedDriverOptions } from '../../src/csi/testing/scripted-driver.ts';
import { parseFlags } from '../../src/runtime/flags/parse-flags.ts';
import type { KubeClient } from '../../src/runtime/kube/kube.ts';
import { memoryLog } from '../../src/runtime/log/log.ts';
import type { Mounter } from '../../src/runtime/mount/mounter.ts';
import { openTriedMounter } from '../../src/runtime/mount/tried-mounter.ts';
import { realRandom } from '../../src/runtime/random.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import type { GrpcCode } from '../../src/wire/grpc/grpc-code.ts';
import { temporaryDirectory, undoAfter } from '../e2e/up-process.ts';

export interface BrokenCluster {
  readonly kube: KubeClient;
  readonly cluster: Cluster;
  /** Stops the driver: its sockets are closed and removed. */
  stopDriver(name: string): Promise<void>;
}

export interface DriverPlan {
  readonly options: ScriptedDriverOptions & { name: string };
  /** How many nodes it is on, from the first. */
  readonly nodes: number;
}

export async function startBrokenCluster(
  t: TestContext,
  plans: readonly DriverPlan[],
): Promise<BrokenCluster> {
  const root = await temporaryDirectory(t);
  const directory = await openDataDirectory(join(root, 'd'));
  const nodes = planNodes(2);
  const { signal } = new AbortController();
  const mounter = await openTriedMounter(directory.path);
  const mounts = new PublishedMounts(mounter);
  const servers = new Map<string, CsiServer[]>();
  const brought = await Promise.all(
    plans.map(async ({ options, nodes: count }, index) => {
      const driver = new ScriptedDriver(options);
      const opened: CsiServer[] = [];
      for (const { name } of nodes.slice(0, count)) {
        const here = new ScriptedDriver({ ...options, nodeId: name });
        const services = opened.length === 0 ? driver.services : here.services;
        if (opened.length === 0) driver.nodeId = name;
        const address = join(root, `${index}-${name}`);
        const interceptors = [driver.interceptor, faultsOf(driver), mounts.interceptor];
        opened.push(await serveCsi({ address, services, interceptors, log: memoryLog(), clock: realClock }));
      }
      servers.set(options.name, opened);
      undoAfter(t, () => Promise.all(opened.map((server) => server.stop(0))));
      const addresses = opened.map(({ address }) => address);
      return identifyBroughtDriver(
        { controller: addresses[0] ?? '', nodes: addresses },
        { nodeNames: nodes.map(({ name }) => name), clock: realClock, signal },
      );
    }),
  );
  const cluster = await startCluster({
    clock: realClock,
    random: realRandom,
    log: memoryLog(),
    mounter,
    version: '0',
    directory,
    nodes,
    brought,
    without: new Set(['hostpath']),
    sidecarFlags: parseFlags({ table: sidecarFlags, argv: ['--provisioner-timeout=1s'], env: {} }),
    host: '127.0.0.1',
    port: 0,
    kubeconfig: directory.kubeconfig,
    inlineHandles: false,
    signal,
  });
  undoAfter(t, async () => {
    await cluster.stop();
    await mounts.remove();
    // Kept by the cluster for drivers that go on running.
    await mounter.unmount(directory.nodes);
  });
  const kube = cluster.server.client(cluster.server.adminUser);
  // Each situation has a class of its own, and none is the default.
  for (const { metadata } of (await kube.list(storageClasses)).items) {
    await kube.delete(storageClasses, { name: metadata.name });
  }
  return {
    cluster,
    kube,
    async stopDriver(name) {
      await Promise.all((servers.get(name) ?? []).map((server) => server.stop(0)));
    },
  };
}

/** `NodeStageVolume: 'INTERNAL: no such device'` in the parameters of what the call is about. */
function faultsOf(driver: ScriptedDriver): Interceptor {
  return async (call, next) => {
    const { volumeId, sourceVolumeId, parameters } = call.request as {
      volumeId?: string;
      sourceVolumeId?: string;
      parameters?: Record<string, string>;
    };
    const volume = driver.volumes.get(volumeId ?? sourceVolumeId ?? '');
    const fault = { ...volume?.parameters, ...parameters }[call.method.name];
    if (fault === 'HANG') return new Promise(() => {});
    if (fault !== undefined) {
      const [code = '', ...words] = fault.split(': ');
      throw new CsiError({ code: code as GrpcCode, message: words.join(': ') });
    }
    return next();
  };
}

/** A node looks whether something is mounted where a volume was published. */
class PublishedMounts {
  readonly #mounter: Mounter;
  readonly #paths = new Set<string>();

  constructor(mounter: Mounter) {
    this.#mounter = mounter;
  }

  readonly interceptor: Interceptor = async (call, next) => {
    const answer = await next();
    const { targetPath = '' } = call.request as { targetPath?: string };
    if (call.method.name === 'NodePublishVolume' && !this.#paths.has(targetPath)) {
      await mkdir(targetPath, { recursive: true });
      await this.#mounter.bind(targetPath, targetPath);
      this.#paths.add(targetPath);
    }
    if (call.method.name === 'NodeUnpublishVolume') await this.#unmount(targetPath);
    return answer;
  };

  async remove(): Promise<void> {
    for (const path of this.#paths) await this.#unmount(path);
  }

  async #unmount(path: string): Promise<void> {
    if (!this.#paths.delete(path)) return;
    await this.#mounter.unmount(path);
    await rmdir(path);
  }
}
