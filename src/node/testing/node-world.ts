// For tests: the embedded API server, one or more node agents under their own identity, drivers behind real sockets,
// and stand-ins for the binder, the attach/detach controller and the attacher. Everything stops with the test, and
// mounts that are left below the temporary directory fail it.

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import {
  type CSIDriver,
  csiDrivers,
  events,
  nodes,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type PodSpec,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  serviceAccounts,
  type VolumeAttachment,
  volumeAttachments,
} from '../../api/kinds.ts';
import { type KubeObject, keyOf, nameFromKey, type Resource } from '../../api/object.ts';
import { attachmentName, uniqueVolumeName } from '../../api/volumes.ts';
import { ANN_INLINE_HANDLES } from '../../api/well-known.ts';
import type { ApiServer } from '../../apiserver/index.ts';
import { draft, testServer } from '../../apiserver/testing/test-server.ts';
import { connectCsi } from '../../csi/client/connect-csi.ts';
import { CSIRegistration } from '../../csi/generated/csiregistration/csi_registration_pb.ts';
import { Registration } from '../../csi/generated/pluginregistration/registration_pb.ts';
import type { Interceptor } from '../../csi/server/serve-call.ts';
import { type CsiServer, serveCsi } from '../../csi/server/serve-csi.ts';
import { implement, type ServiceImplementation } from '../../csi/server/service-implementation.ts';
import { ScriptedDriver } from '../../csi/testing/scripted-driver.ts';
import { diskFiles } from '../../csi-plugin/mount/disk-files.ts';
import { volumePaths } from '../../csi-plugin/mount/volume-paths.ts';
import { createEventRecorder } from '../../runtime/events/create-event-recorder.ts';
import { createInformers } from '../../runtime/informer/create-informers.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isNotFound } from '../../runtime/kube/kube-error.ts';
import { type MemoryLog, memoryLog } from '../../runtime/log/log.ts';
import type { Metrics } from '../../runtime/metrics/metrics.ts';
import { type MemoryMounter, memoryMounter } from '../../runtime/mount/memory-mounter.ts';
import type { Mounter } from '../../runtime/mount/mounter.ts';
import type { Clock, Log } from '../../runtime/ports.ts';
import { realRandom } from '../../runtime/random.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { createNodeAgent, type NodeAgent } from '../node-agent.ts';
import type { SELinux } from '../selinux/host-selinux.ts';

export interface NodeWorldOptions {
  mounter?: Mounter;
  clock?: Clock;
  /** Prefixes of labels that drivers may set. */
  labelPrefixes?: readonly string[];
}

export interface RunningNode {
  name: string;
  root: string;
  agent: NodeAgent;
  /** Simulates a crash: nothing is cleaned up. Resolves when all of it has stopped. */
  stop(): Promise<void>;
}

export interface ServedDriver {
  name: string;
  services: readonly ServiceImplementation[];
  interceptors?: readonly Interceptor[];
}

export interface Registrar {
  /** The node's notifications, in order. */
  readonly statuses: { registered: boolean; error: string }[];
  readonly socket: string;
  stop(): Promise<void>;
}

export class NodeWorld {
  readonly t: TestContext;
  readonly server: ApiServer;
  readonly admin: KubeClient;
  readonly directory: string;
  readonly mounter: Mounter;
  readonly log: MemoryLog;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  readonly #nodes: RunningNode[] = [];
  readonly #informers;

  constructor(
    t: TestContext,
    server: ApiServer,
    directory: string,
    mounter: Mounter,
    clock: Clock,
    log: Log = memoryLog(),
  ) {
    this.t = t;
    this.server = server;
    this.directory = directory;
    this.mounter = mounter;
    this.log = log as MemoryLog;
    this.#clock = clock;
    this.admin = server.client(server.adminUser);
    this.#informers = createInformers({
      kube: this.admin,
      clock: realClock,
      random: realRandom,
      log: memoryLog(),
    });
    this.#informers.start(this.#stop.signal);
  }

  get memory(): MemoryMounter {
    return this.mounter as MemoryMounter;
  }

  root(node: string): string {
    return join(this.directory, node);
  }

  async startNode(
    name = 'n1',
    options: {
      labels?: Record<string, string>;
      replaceTopologyLabels?: boolean;
      volumeStatsAggPeriodMs?: number;
      metrics?: Metrics;
      selinux?: SELinux;
      seLinuxMount?: boolean;
      through?: (kube: KubeClient) => KubeClient;
    } = {},
  ): Promise<RunningNode> {
    const root = this.root(name);
    const stop = new AbortController();
    const own = this.server.client({ name: `system:node:${name}`, groups: ['system:nodes'] });
    const kube = options.through?.(own) ?? own;
    const { log, mounter } = this;
    const clock = this.#clock;
    const common = { kube, clock, random: realRandom, log };
    const informers = createInformers({ ...common, freeze: true });
    const agent = createNodeAgent({
      ...common,
      ...(options.metrics && { metrics: options.metrics }),
      ...(options.selinux && { selinux: options.selinux }),
      informers,
      mounter,
      files: diskFiles(root, realClock),
      connect: (address) => connectCsi({ address, log, clock }),
      recorder: createEventRecorder({ ...common, component: 'kubelet', instance: name, signal: stop.signal }),
      options: {
        nodeName: name,
        rootDir: root,
        host: HOST,
        ...(options.labels && { labels: options.labels }),
        replaceTopologyLabels: options.replaceTopologyLabels ?? false,
        seLinuxMount: options.seLinuxMount ?? false,
        ...(options.volumeStatsAggPeriodMs && { volumeStatsAggPeriodMs: options.volumeStatsAggPeriodMs }),
      },
    });
    informers.start(stop.signal);
    const running = agent.run(stop.signal);
    let stopping: Promise<void> | undefined;
    const node: RunningNode = {
      name,
      root,
      agent,
      stop: () => {
        stopping ??= (async () => {
          stop.abort(new Error('stopped by the test'));
          await running;
        })();
        return stopping;
      },
    };
    this.#nodes.push(node);
    await agent.ready;
    return node;
  }

  /** Serves a driver's services and their registrar for a node. */
  async register(
    node: string,
    driver: ServedDriver,
    options: {
      podInfo?: boolean;
      announcedName?: string;
      versions?: string[];
      type?: string;
      socket?: string;
    } = {},
  ): Promise<Registrar & { driver: CsiServer }> {
    const server = await this.serve(node, driver);
    const registrar = await this.announce(node, {
      ...options,
      name: options.announcedName ?? driver.name,
      endpoint: server.address,
    });
    return { ...registrar, driver: server };
  }

  /** Serves only the driver, at its socket on this node. */
  async serve(node: string, driver: ServedDriver): Promise<CsiServer> {
    const paths = volumePaths(this.root(node));
    const server = await serveCsi({
      address: join(paths.plugins, driver.name.replaceAll('/', '_').slice(0, 40), 'csi.sock'),
      services: driver.services,
      interceptors: driver.interceptors ?? [],
      clock: realClock,
      log: this.log,
    });
    this.t.after(() => server.stop(0));
    return server;
  }

  async announce(
    node: string,
    options: {
      name: string;
      endpoint: string;
      podInfo?: boolean;
      versions?: string[];
      type?: string;
      socket?: string;
    },
  ): Promise<Registrar> {
    const statuses: Registrar['statuses'] = [];
    const paths = volumePaths(this.root(node));
    const socket = join(paths.pluginsRegistry, options.socket ?? `${options.name.slice(0, 40)}-reg.sock`);
    const services = [
      implement(Registration, {
        getInfo: () => ({
          type: options.type ?? 'CSIPlugin',
          name: options.name,
          endpoint: options.endpoint,
          supportedVersions: options.versions ?? ['1.0.0'],
        }),
        notifyRegistrationStatus: ({ pluginRegistered, error }) => {
          statuses.push({ registered: pluginRegistered, error });
          return {};
        },
      }),
      ...(options.podInfo === undefined
        ? []
        : [
            implement(CSIRegistration, {
              getCSIDriverInfo: () => ({
                csiEndpoint: options.endpoint,
                options: { requiresPublishPod: options.podInfo === true },
              }),
            }),
          ]),
    ];
    const server = await serveCsi({ address: socket, services, clock: realClock, log: this.log });
    const stop = async () => {
      await server.stop(0);
      await rm(socket, { force: true });
    };
    this.t.after(stop);
    return { statuses, socket, stop };
  }

  /** A scripted driver whose mounts exist in the memory mounter. */
  scripted(options: ConstructorParameters<typeof ScriptedDriver>[0] = {}): ScriptedDriver & {
    interceptors: readonly Interceptor[];
  } {
    const driver = new ScriptedDriver(options);
    const mounts: Interceptor = async (call, next) => {
      const answer = await next();
      const { targetPath, stagingTargetPath } = call.request as {
        targetPath?: string;
        stagingTargetPath?: string;
      };
      if (stagingTargetPath && call.method.name === 'NodeUnstageVolume')
        await this.mounter.unmount(stagingTargetPath);
      if (targetPath && call.method.name === 'NodePublishVolume') {
        if (!(await this.mounter.isMountPoint(targetPath))) await this.mounter.bind('/source', targetPath);
      }
      if (targetPath && call.method.name === 'NodeUnpublishVolume') await this.mounter.unmount(targetPath);
      return answer;
    };
    return Object.assign(driver, { interceptors: [driver.interceptor, mounts] });
  }

  async create<T extends KubeObject>(resource: Resource<T>, object: object): Promise<T> {
    return await this.admin.create(resource, draft<T>(object));
  }

  /** Resolves with the object once the predicate holds; undefined if it holds for an absent object. */
  async until<T extends KubeObject>(
    resource: Resource<T>,
    key: string,
    predicate: (object: T | undefined) => boolean,
  ): Promise<T | undefined> {
    try {
      return await this.#informers.of(resource).waitFor(key, predicate, AbortSignal.timeout(15_000));
    } catch (error) {
      const now = await this.admin.get(resource, nameFromKey(key)).catch((problem: unknown) => problem);
      throw new Error(
        `${resource.kind} ${key} did not reach the expected state; it is ${JSON.stringify(now, null, 1)}`,
        {
          cause: error,
        },
      );
    }
  }

  async untilRunning(pod: Pod): Promise<Pod> {
    return (await this.until(pods, keyOf(pod), (now) => now?.status?.phase === 'Running')) as Pod;
  }

  async untilGone(pod: Pod): Promise<void> {
    await this.until(pods, keyOf(pod), (now) => now === undefined);
  }

  async untilEvent(reason: string, text: RegExp): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>();
    const look = (event: { reason?: string; message?: string }) => {
      if (event.reason === reason && text.test(event.message ?? '')) resolve(event.message ?? '');
    };
    const stop = this.#informers
      .of(events)
      .subscribe({ added: look, updated: (_before, after) => look(after) });
    const timer = setTimeout(() => resolve(''), 15_000);
    try {
      const found = await promise;
      assert.notEqual(found, '', `no event ${reason} with ${text}`);
      return found;
    } finally {
      clearTimeout(timer);
      stop();
    }
  }

  /** Allows pods to name its volumes by their handle. */
  async driverObject(name: string, spec: Partial<CSIDriver['spec']> = {}): Promise<void> {
    const annotations = { [ANN_INLINE_HANDLES]: 'allowed' };
    await this.create(csiDrivers, { metadata: { name, annotations }, spec });
  }

  /** A claim in `default`, bound to a volume of the driver. */
  async volume(options: {
    name: string;
    driver: string;
    handle?: string;
    csi?: Partial<NonNullable<PersistentVolume['spec']['csi']>>;
    spec?: Partial<PersistentVolume['spec']>;
    namespace?: string;
  }): Promise<{ pv: PersistentVolume; claim: PersistentVolumeClaim }> {
    const { name, driver, handle = `handle-${name}`, namespace = 'default' } = options;
    const accessModes = options.spec?.accessModes ?? ['ReadWriteOnce'];
    const volumeMode = options.spec?.volumeMode ?? 'Filesystem';
    const claim = await this.create(persistentVolumeClaims, {
      metadata: { name, namespace },
      spec: {
        accessModes,
        volumeMode,
        storageClassName: '',
        volumeName: `pv-${name}`,
        resources: { requests: { storage: '1Gi' } },
      },
    });
    const pv = await this.create(persistentVolumes, {
      metadata: { name: `pv-${name}` },
      spec: {
        capacity: { storage: '1Gi' },
        claimRef: { kind: 'PersistentVolumeClaim', name, namespace, uid: claim.metadata.uid },
        csi: { driver, volumeHandle: handle, ...options.csi },
        storageClassName: '',
        ...options.spec,
        accessModes,
        volumeMode,
      },
    });
    const bound = await this.admin.patch(
      persistentVolumeClaims,
      { name, namespace },
      { status: { phase: 'Bound', capacity: { storage: '1Gi' } } },
      { subresource: 'status', type: 'merge' },
    );
    return { pv, claim: bound };
  }

  async pod(
    name: string,
    volumes: NonNullable<PodSpec['volumes']>,
    options: { node?: string; spec?: Partial<PodSpec>; namespace?: string } = {},
  ): Promise<Pod> {
    const { node = 'n1', namespace = 'default' } = options;
    await this.create(serviceAccounts, { metadata: { name: 'default', namespace } }).catch(() => {});
    return await this.create(pods, {
      metadata: { name, namespace },
      spec: {
        nodeName: node,
        terminationGracePeriodSeconds: 0,
        containers: [{ name: 'main', image: 'none' }],
        ...options.spec,
        volumes,
      },
    });
  }

  /** As kubectl does: deletes with a grace period, so that the node has to finish it. */
  async deletePod(pod: Pod, gracePeriodSeconds = 1): Promise<void> {
    await this.admin.delete(pods, nameFromKey(keyOf(pod)), { gracePeriodSeconds });
  }

  /** Acts as attach/detach controller and attacher. */
  async attach(
    pvName: string,
    options: { driver: string; handle: string; node?: string; context?: Record<string, string> },
  ): Promise<VolumeAttachment> {
    const { node = 'n1', driver, handle } = options;
    return await this.#attach(
      attachmentName({ driver, volumeHandle: handle, nodeName: node }),
      { attacher: driver, nodeName: node, source: { persistentVolumeName: pvName } },
      options,
    );
  }

  async attachInline(
    csi: { driver: string; volumeHandle: string },
    options: { namespace?: string; node?: string } = {},
  ): Promise<VolumeAttachment> {
    const { namespace = 'default', node = 'n1' } = options;
    const { driver, volumeHandle } = csi;
    const source = { inlineVolumeSource: { volumeSource: { csi }, namespace } };
    return await this.#attach(
      attachmentName({ driver, volumeHandle, nodeName: node }),
      { attacher: driver, nodeName: node, source },
      { driver, handle: volumeHandle, node },
    );
  }

  async #attach(
    name: string,
    spec: VolumeAttachment['spec'],
    {
      driver,
      handle,
      node = 'n1',
      context,
    }: { driver: string; handle: string; node?: string; context?: Record<string, string> },
  ): Promise<VolumeAttachment> {
    await this.create(volumeAttachments, { metadata: { name }, spec });
    const attached = await this.admin.patch(
      volumeAttachments,
      { name },
      { status: { attached: true, ...(context && { attachmentMetadata: context }) } },
      { subresource: 'status', type: 'merge' },
    );
    await this.reportAttached(driver, handle, node);
    return attached;
  }

  /** Writes the attacher's status for a call that the driver rejected. */
  async failAttach(
    pvName: string,
    options: { driver: string; handle: string; errorCode: number },
  ): Promise<void> {
    const { driver, handle, errorCode } = options;
    const name = attachmentName({ driver, volumeHandle: handle, nodeName: 'n1' });
    const source = { persistentVolumeName: pvName };
    await this.create(volumeAttachments, {
      metadata: { name },
      spec: { attacher: driver, nodeName: 'n1', source },
    });
    const status = { attached: false, attachError: { message: 'too many disks', errorCode } };
    await this.admin.patch(volumeAttachments, { name }, { status }, { subresource: 'status', type: 'merge' });
  }

  async reportAttached(driver: string, handle: string, node = 'n1'): Promise<void> {
    const current = await this.admin.get(nodes, { name: node });
    const volumesAttached = [
      ...(current.status?.volumesAttached ?? []),
      { name: uniqueVolumeName(driver, handle), devicePath: '' },
    ];
    const patch = { status: { volumesAttached } };
    await this.admin.patch(nodes, { name: node }, patch, { subresource: 'status', type: 'merge' });
  }

  async untilInUse(node: string, expected: readonly string[]): Promise<void> {
    const wanted = JSON.stringify([...expected].sort());
    await this.until(
      nodes,
      node,
      (now) => JSON.stringify([...(now?.status?.volumesInUse ?? [])].sort()) === wanted,
    );
  }

  async exists<T extends KubeObject>(resource: Resource<T>, key: string): Promise<boolean> {
    try {
      await this.admin.get(resource, nameFromKey(key));
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  async end(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#nodes.map((node) => node.stop()));
    const table = await readFile('/proc/self/mountinfo', 'utf8');
    const left = table.split('\n').filter((line) => line.includes(this.directory));
    for (const line of left.reverse()) await this.mounter.unmount(line.split(' ')[4] ?? '');
    assert.deepEqual(left, [], 'mounts were left behind');
    await rm(this.directory, { recursive: true, force: true });
  }
}

const HOST = {
  hostname: 'test-host',
  os: 'linux',
  arch: 'amd64',
  kernelVersion: '6.0',
  cpuCount: 2,
  memoryBytes: 4 << 30,
  addresses: ['192.0.2.1'],
  version: 'v0.0.0-test',
};

export async function nodeWorld(t: TestContext, options: NodeWorldOptions = {}): Promise<NodeWorld> {
  const server = await testServer(t, {
    ...(options.labelPrefixes && { admission: { nodeLabelPrefixes: options.labelPrefixes } }),
  });
  const directory = await mkdtemp(join(tmpdir(), 'nd-'));
  const world = new NodeWorld(
    t,
    server,
    directory,
    options.mounter ?? memoryMounter(),
    options.clock ?? realClock,
  );
  return world;
}

/** Runs a test body in a world, then checks that nothing is left behind. */
export async function inWorld(
  t: TestContext,
  options: NodeWorldOptions,
  body: (world: NodeWorld) => Promise<void>,
): Promise<void> {
  const world = await nodeWorld(t, options);
  t.after(() => world.end());
  await body(world);
}
