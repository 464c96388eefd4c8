// What the steps of `berth try` work with: the cluster, the driver's abilities, the class, and how to wait for an object. All
// objects that the steps create have names of their own in the namespace `default`.

import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type PersistentVolumeClaim,
  type Pod,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  type StorageClass,
} from '../api/kinds.ts';
import type { Draft, KubeObject, Resource } from '../api/object.ts';
import { ANN_PUBLISHED_VOLUMES } from '../api/well-known.ts';
import type { Abilities } from '../check/driver-under-test.ts';
import { listed } from '../check/volume-checks.ts';
import type { ClusterDriver } from '../cluster/cluster-driver.ts';
import type { Cluster } from '../cluster/start-cluster.ts';
import { csiClient } from '../csi/client/csi-client.ts';
import type { CsiTransport } from '../csi/client/transport.ts';
import { Controller } from '../csi/generated/csi/v1/csi_pb.ts';
import { fromClaim, NAMESPACE, pod } from '../demo/story-objects.ts';
import { awaitObject } from '../runtime/kube/await-object.ts';
import type { KubeClient } from '../runtime/kube/kube.ts';
import type { Clock } from '../runtime/ports.ts';
import { untilAborted } from '../runtime/time/until-aborted.ts';

export interface TryOptions {
  cluster: Cluster;
  driver: ClusterDriver;
  can: Abilities;
  /** The class of all claims. */
  storageClass: StorageClass;
  /** Of the snapshots; without it the driver's default. */
  snapshotClass?: string;
  accessMode: string;
  sizeBytes: bigint;
  /** To the controller service. */
  controller: CsiTransport;
  clock: Clock;
}

const LIST_MS = 10_000;
const FILE = 'berth-try';

export class TryWorld {
  readonly options: TryOptions;
  readonly can: Abilities;
  readonly kube: KubeClient;
  /** Grows with the volume: a copy must not be smaller than its source. */
  sizeBytes: bigint;
  /** Of the step that is running. */
  signal: AbortSignal = new AbortController().signal;
  /** Where the volume is published in pod `first`. */
  path = '';
  /** What was written. */
  text = '';

  constructor(options: TryOptions) {
    this.options = options;
    this.can = options.can;
    this.sizeBytes = options.sizeBytes;
    const { server } = options.cluster;
    this.kube = server.client(server.adminUser);
  }

  get isDelayed(): boolean {
    return this.options.storageClass.volumeBindingMode === 'WaitForFirstConsumer';
  }

  /** Nodes that the driver is on. */
  get nodeNames(): readonly string[] {
    return [...this.options.driver.nodeSockets.keys()];
  }

  claim(name: string, more: Partial<PersistentVolumeClaim['spec']> = {}): Draft<PersistentVolumeClaim> {
    const { storageClass, accessMode } = this.options;
    return {
      metadata: { name, namespace: NAMESPACE },
      spec: {
        storageClassName: storageClass.metadata.name,
        accessModes: [accessMode],
        resources: { requests: { storage: String(this.sizeBytes) } },
        ...more,
      },
    };
  }

  async createPod(name: string, claimName: string, spec: Partial<Pod['spec']> = {}): Promise<void> {
    await this.kube.create(pods, pod(name, fromClaim(claimName), spec));
  }

  async deletePod(name: string): Promise<void> {
    await this.kube.delete(pods, { namespace: NAMESPACE, name });
    await this.until(pods, name, (object) => object === undefined);
  }

  until<T extends KubeObject>(
    resource: Resource<T>,
    name: string,
    holds: (object: T | undefined) => boolean,
  ): Promise<T | undefined> {
    const { kube, signal } = this;
    const { clock } = this.options;
    const at = resource.namespaced ? { namespace: NAMESPACE, name } : { name };
    return awaitObject({ kube, clock, resource, at, timeoutMs: 0, signal, until: holds });
  }

  /** `subscribe` calls its argument at each change. */
  async untilHolds(subscribe: (changed: () => void) => () => void, holds: () => boolean): Promise<void> {
    if (holds()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const unsubscribe = subscribe(() => {
      if (holds()) resolve();
    });
    await untilAborted(promise, this.signal).finally(unsubscribe);
  }

  /** IDs of the driver's volumes; empty when it does not list them. */
  async listVolumes(): Promise<string[]> {
    if (!this.can.controller.has('LIST_VOLUMES')) return [];
    return listed({ controller: csiClient(Controller, this.options.controller, { timeoutMs: LIST_MS }) }, 0);
  }

  /** Of a bound claim. */
  async volumeOf(claimName: string) {
    const claim = await this.kube.get(persistentVolumeClaims, { namespace: NAMESPACE, name: claimName });
    return this.kube.get(persistentVolumes, { name: claim.spec.volumeName ?? '' });
  }

  /** Where the pod's volume is, once the pod runs. */
  async published(podName: string): Promise<string> {
    const running = await this.until(pods, podName, (object) => object?.status?.phase === 'Running');
    const paths = JSON.parse(running?.metadata.annotations?.[ANN_PUBLISHED_VOLUMES] ?? '{}');
    return (paths as Record<string, string>).data ?? '';
  }

  /** Flushed, as a snapshot of a block device would need it. */
  async write(text: string): Promise<void> {
    const file = await open(join(this.path, FILE), 'w');
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    this.text = text;
  }

  read(directory: string): Promise<string> {
    return readFile(join(directory, FILE), 'utf8');
  }
}
