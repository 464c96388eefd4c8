// The objects that situations are made of, in a namespace of each situation's own.

import {
  type CSINode,
  csiNodes,
  namespaces,
  nodes,
  persistentVolumeClaims,
  pods,
  serviceAccounts,
  storageClasses,
  volumeAttachments,
} from '../../src/api/kinds.ts';
import type { KubeObject, Resource } from '../../src/api/object.ts';
import type { KubeClient } from '../../src/runtime/kube/kube.ts';
import type { ExplainedKind } from '../../src/why/explain.ts';
import type { BrokenCluster, DriverPlan } from './broken-cluster.ts';

export const MAIN = 'main.csi.test';
/** Only on the first node, one volume a node. */
export const SMALL = 'small.csi.test';
/** Stopped once it is registered. */
export const DOWN = 'down.csi.test';
export const ZONE = `topology.${MAIN}/zone`;

export const DRIVERS: readonly DriverPlan[] = [
  {
    options: {
      name: MAIN,
      segments: { [ZONE]: 'a' },
      plugin: ['CONTROLLER_SERVICE', 'VOLUME_ACCESSIBILITY_CONSTRAINTS', 'GROUP_CONTROLLER_SERVICE'],
      controller: [
        'CREATE_DELETE_VOLUME',
        'PUBLISH_UNPUBLISH_VOLUME',
        'CREATE_DELETE_SNAPSHOT',
        'CLONE_VOLUME',
        'EXPAND_VOLUME',
        'MODIFY_VOLUME',
      ],
      node: ['STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME'],
      expansion: ['ONLINE'],
      group: ['CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT'],
    },
    nodes: 2,
  },
  { options: { name: SMALL, maxVolumesPerNode: 1 }, nodes: 1 },
  { options: { name: DOWN }, nodes: 1 },
];

export interface Asked {
  readonly kind: ExplainedKind;
  readonly name: string;
  readonly namespace?: string;
}

export interface Situation {
  readonly name: string;
  /** Made after the others were asked about: it adds nodes or drivers, which answers count and list. */
  readonly isLast?: true;
  readonly state?: 'waits';
  /** Part of the first sentence: the cause as it was reported. */
  readonly says: string;
  /** Makes it; what it needs first is awaited. */
  make(stage: Stage): Promise<Asked>;
}

/** One situation's namespace, and the objects that situations are made of. */
export class Stage {
  readonly kube: KubeClient;
  readonly world: BrokenCluster;
  readonly namespace: string;
  /** Of its StorageClass, and of whatever else has no namespace. */
  readonly className: string;

  constructor(world: BrokenCluster, number: number) {
    this.world = world;
    this.kube = world.kube;
    this.namespace = `ns-${number}`;
    this.className = `fast-${number}`;
  }

  async create<T extends KubeObject>(resource: Resource<T>, object: object): Promise<T> {
    const { metadata = {}, ...rest } = object as { metadata?: object };
    return this.kube.create(resource, {
      ...rest,
      metadata: { ...(resource.namespaced && { namespace: this.namespace }), ...metadata },
    } as never);
  }

  storageClass(parameters: Record<string, string> = {}, more: object = {}): Promise<KubeObject> {
    return this.create(storageClasses, {
      metadata: { name: this.className },
      provisioner: MAIN,
      allowVolumeExpansion: true,
      parameters,
      ...more,
    });
  }

  async claim(name = 'data', spec: object = {}): Promise<Asked> {
    await this.create(persistentVolumeClaims, {
      metadata: { name },
      spec: {
        storageClassName: this.className,
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
        ...spec,
      },
    });
    return { kind: 'claim', name, namespace: this.namespace };
  }

  async boundClaim(name = 'data', spec: object = {}): Promise<string> {
    await this.claim(name, spec);
    const claim = await this.until(persistentVolumeClaims, name, ({ status }) => status?.phase === 'Bound');
    return claim.spec.volumeName ?? '';
  }

  async pod(name: string, spec: object = {}, claimName = 'data'): Promise<Asked> {
    await this.create(pods, {
      metadata: { name },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [{ name: 'main', image: 'busybox' }],
        volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }],
        ...spec,
      },
    });
    return { kind: 'pod', name, namespace: this.namespace };
  }

  async runningPod(name: string, spec: object = {}): Promise<void> {
    await this.pod(name, spec);
    await this.until(pods, name, ({ status }) => status?.phase === 'Running');
  }

  async expand(storage: string): Promise<void> {
    const at = { name: 'data', namespace: this.namespace };
    await this.kube.patch(
      persistentVolumeClaims,
      at,
      { spec: { resources: { requests: { storage } } } },
      { type: 'merge' },
    );
  }

  async until<T extends KubeObject>(
    resource: Resource<T>,
    name: string,
    holds: (object: T) => boolean,
  ): Promise<T> {
    const { reader } = this.world.cluster.server;
    const at = resource.namespaced ? { name, namespace: this.namespace } : { name };
    for (let tries = 0; tries < 2_000; tries++) {
      const found = reader.get(resource, at);
      if (found && holds(found)) return found;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new Error(
      `${resource.kind} ${name} did not get there: ${JSON.stringify(reader.get(resource, at))}`,
    );
  }

  /** A node that nothing runs on, as one whose machine is lost. */
  async lostNode(name: string, ready: 'True' | 'Unknown'): Promise<void> {
    await this.create(nodes, { metadata: { name, labels: { [ZONE]: 'a' } }, spec: {} });
    await this.create(csiNodes, {
      metadata: { name },
      spec: { drivers: [{ name: MAIN, nodeID: name, topologyKeys: [ZONE] }] },
    } satisfies Pick<CSINode, 'spec'> & { metadata: { name: string } });
    const conditions = [{ type: 'Ready', status: ready, reason: 'Test', message: 'no heartbeat' }];
    await this.kube.patch(
      nodes,
      { name },
      { status: { conditions } },
      { type: 'merge', subresource: 'status' },
    );
  }

  /** A pod on that node has the claim's volume. */
  async holdOn(node: string): Promise<void> {
    await this.pod('old', { nodeName: node });
    const { spec } = await this.until(
      persistentVolumeClaims,
      'data',
      ({ status }) => status?.phase === 'Bound',
    );
    await this.attached(spec.volumeName ?? '', node);
  }

  async attached(volume: string, node: string): Promise<void> {
    const { reader } = this.world.cluster.server;
    for (let tries = 0; tries < 2_000; tries++) {
      const isThere = [...reader.list(volumeAttachments)].some(
        ({ spec, status }) =>
          spec.source.persistentVolumeName === volume && spec.nodeName === node && status?.attached,
      );
      if (isThere) return;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new Error(`${volume} was not attached to ${node}`);
  }
}

export async function stageOf(world: BrokenCluster, number: number): Promise<Stage> {
  const stage = new Stage(world, number);
  await world.kube.create(namespaces, { metadata: { name: stage.namespace } });
  // Pods are not admitted before it is there.
  await stage.until(serviceAccounts, 'default', () => true);
  return stage;
}

export const secretParameters = (kind: string, name: string): Record<string, string> => ({
  [`csi.storage.k8s.io/${kind}-secret-name`]: name,
  [`csi.storage.k8s.io/${kind}-secret-namespace`]: 'default',
});

export const delayed = { volumeBindingMode: 'WaitForFirstConsumer' };
