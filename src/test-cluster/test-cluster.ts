// A running cluster as a test uses it: claims, pods, waiting, the recorded calls. The same for real and for virtual time;
// `settle` is how the test waits.

import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
} from '../api/kinds.ts';
import type { Draft, KubeObject, Resource } from '../api/object.ts';
import { ANN_PUBLISHED_VOLUMES } from '../api/well-known.ts';
import type { ApiServer } from '../apiserver/index.ts';
import { fromClaim, NAMESPACE, onNode, pod } from '../demo/story-objects.ts';
import { awaitObject } from '../runtime/kube/await-object.ts';
import type { KubeClient } from '../runtime/kube/kube.ts';
import type { Clock } from '../runtime/ports.ts';
import type { TraceBook } from '../trace/trace-book.ts';
import type { CsiEntry } from '../trace/trace-entry.ts';
import { explain } from '../try/driver-words.ts';

export interface ClaimOptions {
  /** As in Kubernetes: `1Gi`; default `64Mi`. */
  size?: string;
  accessModes?: readonly string[];
  /** Default: the class of the driver. */
  storageClass?: string;
  /** Another claim or a snapshot, to start from its data. */
  dataSource?: PersistentVolumeClaim['spec']['dataSource'];
}

export interface PodOptions {
  /** The claim whose volume the pod uses. */
  claim: string;
  /** Default: the scheduler chooses. */
  node?: string;
}

export interface RunningPod {
  readonly node: string;
  /** Where the volume is mounted. */
  readonly path: string;
}

/** A CSI call to the driver. Never has a secret. */
export type CsiCall = Pick<CsiEntry, 'method' | 'by' | 'request' | 'code' | 'error' | 'durationMs'>;

export interface TestClusterParts {
  server: ApiServer;
  book: TraceBook;
  driverName: string;
  nodeNames: readonly string[];
  clock: Clock;
  timeoutMs: number;
  /** Waits for the promise, as the cluster's time passes. */
  settle<T>(promise: Promise<T>): Promise<T>;
  /** Resolves with what is left, in words. */
  stop(): Promise<string[]>;
}

export class TestCluster implements AsyncDisposable {
  /** A client with all rights. */
  readonly kube: KubeClient;
  /** Claims without a class get a volume of this driver. */
  readonly driverName: string;
  /** `node-1`, `node-2`, … */
  readonly nodeNames: readonly string[];
  readonly #parts: TestClusterParts;

  constructor(parts: TestClusterParts) {
    this.#parts = parts;
    this.kube = parts.server.client(parts.server.adminUser);
    this.driverName = parts.driverName;
    this.nodeNames = parts.nodeNames;
  }

  /** Creates a claim in the namespace `default` and waits until it is bound. */
  async createClaim(name: string, options: ClaimOptions = {}): Promise<PersistentVolume> {
    const { size = '64Mi', accessModes = ['ReadWriteOnce'], storageClass, dataSource } = options;
    const claim: Draft<PersistentVolumeClaim> = {
      metadata: { name, namespace: NAMESPACE },
      spec: {
        accessModes: [...accessModes],
        resources: { requests: { storage: size } },
        ...(storageClass !== undefined && { storageClassName: storageClass }),
        ...(dataSource && { dataSource }),
      },
    };
    await this.settle(this.kube.create(persistentVolumeClaims, claim));
    const isBound = (object: PersistentVolumeClaim | undefined) => object?.status?.phase === 'Bound';
    const bound = await this.until(persistentVolumeClaims, name, isBound);
    return this.settle(this.kube.get(persistentVolumes, { name: bound?.spec.volumeName ?? '' }));
  }

  /** Creates a pod that uses the claim and waits until it runs, with the volume mounted. */
  async runPod(name: string, { claim, node }: PodOptions): Promise<RunningPod> {
    const draft = pod(name, fromClaim(claim), node === undefined ? {} : onNode(node));
    await this.settle(this.kube.create(pods, draft));
    const running = await this.until(pods, name, (object) => object?.status?.phase === 'Running');
    const paths = JSON.parse(running?.metadata.annotations?.[ANN_PUBLISHED_VOLUMES] ?? '{}');
    return { node: running?.spec.nodeName ?? '', path: (paths as Record<string, string>).data ?? '' };
  }

  /** Deletes the pod and waits until it is gone, with its volume unpublished. */
  async deletePod(name: string): Promise<void> {
    await this.settle(this.kube.delete(pods, { namespace: NAMESPACE, name }));
    await this.until(pods, name, (object) => object === undefined);
  }

  /** Deletes the claim and waits until its volume is gone. */
  async deleteClaim(name: string): Promise<void> {
    const at = { namespace: NAMESPACE, name };
    const { spec } = await this.settle(this.kube.get(persistentVolumeClaims, at));
    await this.settle(this.kube.delete(persistentVolumeClaims, at));
    await this.until(persistentVolumeClaims, name, (object) => object === undefined);
    if (spec.volumeName)
      await this.until(persistentVolumes, spec.volumeName, (object) => object === undefined);
  }

  /** Waits until the condition holds for the object; undefined means that it does not exist. */
  async until<T extends KubeObject>(
    resource: Resource<T>,
    name: string,
    holds: (object: T | undefined) => boolean,
  ): Promise<T | undefined> {
    const { clock, timeoutMs, book, server } = this.#parts;
    const sinceMs = book.nowMs();
    const at = resource.namespaced ? { namespace: NAMESPACE, name } : { name };
    const { signal } = new AbortController();
    try {
      return await this.settle(
        awaitObject({ kube: this.kube, clock, resource, at, timeoutMs, signal, until: holds }),
      );
    } catch (error) {
      const words = explain({ book, reader: server.reader, sinceMs });
      throw new Error(`${(error as Error).message}${words === '' ? '' : `; ${words}`}`, { cause: error });
    }
  }

  /** The calls to the driver that have ended, in the order of their beginning; of one method, or all. */
  calls(method?: string): CsiCall[] {
    return this.#parts.book
      .entries()
      .filter((entry): entry is CsiEntry => entry.kind === 'csi' && entry.durationMs !== undefined)
      .filter((entry) => method === undefined || entry.method === method);
  }

  /** Waits for something that the cluster does, as its time passes. */
  settle<T>(promise: Promise<T>): Promise<T> {
    return this.#parts.settle(promise);
  }

  /** Deletes everything and stops. Rejects when the driver did not delete what was created. */
  async stop(): Promise<void> {
    const left = await this.#parts.stop();
    if (left.length > 0) throw new Error(`the driver left something behind: ${left.join('; ')}`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
