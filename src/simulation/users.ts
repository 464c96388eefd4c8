// What the users of a simulated cluster do, one action after the other. They reach the API server without faults.

import { groupOwnerOf } from '../api/group-snapshots.ts';
import {
  csiDrivers,
  csiNodes,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  statefulSets,
  type VolumeSnapshot,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../api/kinds.ts';
import { ANN_CSI_NODE_ID, ANN_INLINE_HANDLES } from '../api/well-known.ts';
import type { KubeClient } from '../runtime/kube/kube.ts';
import { isNotFound, KubeError } from '../runtime/kube/kube-error.ts';
import { ClassObjects } from './class-objects.ts';
import { claimDraft, groupDraft, NAMESPACE, podDraft, setDraft, snapshotDraft } from './drafts.ts';
import type { History } from './history.ts';
import { BARE_NODE, type Plan, type Registration, type UserAction } from './plan.ts';
import { RACK_KEY, ZONE_KEY } from './storage-backend.ts';

export const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';

export class Users {
  readonly #kube: KubeClient;
  readonly #history: History;
  readonly #plan: Plan;
  readonly #classes: ClassObjects;
  readonly #isSilent: (node: string) => boolean;
  /** Actions run one after the other. */
  #turn: Promise<void> = Promise.resolve();

  constructor(ports: {
    kube: KubeClient;
    history: History;
    plan: Plan;
    isSilent: (node: string) => boolean;
  }) {
    this.#kube = ports.kube;
    this.#history = ports.history;
    this.#plan = ports.plan;
    this.#classes = new ClassObjects(ports.kube, ports.plan);
    this.#isSilent = ports.isSilent;
  }

  /** Creates CSIDrivers, classes and secrets, before anything runs. */
  async prepare(): Promise<void> {
    for (const driver of this.#plan.drivers) {
      const modes = driver.ephemeral ? ['Persistent', 'Ephemeral'] : ['Persistent'];
      await this.#kube.create(csiDrivers, {
        metadata: { name: driver.name, annotations: { [ANN_INLINE_HANDLES]: 'allowed' } },
        spec: { attachRequired: driver.attaches, podInfoOnMount: true, volumeLifecycleModes: modes },
      });
    }
    if (this.#plan.steps.some(({ action }) => action.do === 'create-claim' && action.selected === BARE_NODE))
      // No kubelet runs there, so no pod may be scheduled to it.
      await this.#kube.create(nodes, { metadata: { name: BARE_NODE }, spec: { unschedulable: true } });
    await this.#classes.createAll();
  }

  act(action: UserAction): void {
    this.#turn = this.#turn.then(() => this.#try(action));
  }

  /** Puts back what was deleted by accident, so that everything can converge. */
  async repair(): Promise<void> {
    await this.#turn;
    await this.#classes.repair();
  }

  /** The node is back: its out-of-service taint is removed. */
  async welcome(node: string): Promise<void> {
    try {
      await this.#setOutOfService(node, false);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async deleteEverything(): Promise<void> {
    this.#history.add({ kind: 'user', text: 'deletes everything' });
    const all = { namespace: NAMESPACE };
    if (this.#plan.snapshotClasses.length > 0) {
      await this.#kube.deleteCollection(volumeGroupSnapshots, all);
      await this.#kube.deleteCollection(volumeSnapshots, all);
    }
    await this.#kube.deleteCollection(statefulSets, all);
    await this.#kube.deleteCollection(pods, all, { gracePeriodSeconds: 1 });
    await this.#kube.deleteCollection(persistentVolumeClaims, all);
  }

  async #try(action: UserAction): Promise<void> {
    let end = '';
    try {
      await this.#perform(action);
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      end = ` (${error.reason})`;
    }
    const { do: verb, ...rest } = action;
    this.#history.add({ kind: 'user', text: `${verb} ${JSON.stringify(rest)}${end}` });
  }

  async #perform(action: UserAction): Promise<void> {
    const kube = this.#kube;
    switch (action.do) {
      case 'create-claim': {
        const from = action.from && (await this.#nameOf(action.from));
        await kube.create(persistentVolumeClaims, claimDraft(action, from));
        return;
      }
      case 'create-pod':
        await kube.create(pods, podDraft(action));
        return;
      case 'delete-pod':
        await kube.delete(
          pods,
          { name: action.name, namespace: NAMESPACE },
          { gracePeriodSeconds: action.graceSeconds },
        );
        return;
      case 'delete-claim':
        await kube.delete(persistentVolumeClaims, { name: action.name, namespace: NAMESPACE });
        return;
      case 'resize-claim':
        await kube.patch(
          persistentVolumeClaims,
          { name: action.name, namespace: NAMESPACE },
          { spec: { resources: { requests: { storage: `${action.gib}Gi` } } } },
          { type: 'merge' },
        );
        return;
      case 'create-set':
        await kube.create(statefulSets, setDraft(action));
        return;
      case 'scale-set':
        await kube.patch(
          statefulSets,
          { name: action.name, namespace: NAMESPACE },
          { spec: { replicas: action.replicas } },
          { type: 'merge' },
        );
        return;
      case 'delete-volume-of': {
        const claim = await kube.get(persistentVolumeClaims, { name: action.name, namespace: NAMESPACE });
        if (claim.spec.volumeName) await kube.delete(persistentVolumes, { name: claim.spec.volumeName });
        return;
      }
      case 'create-snapshot':
        await kube.create(volumeSnapshots, snapshotDraft(action));
        return;
      case 'delete-snapshot':
        await kube.delete(volumeSnapshots, { name: action.name, namespace: NAMESPACE });
        return;
      case 'create-group':
        await kube.create(volumeGroupSnapshots, groupDraft(action));
        return;
      case 'delete-group':
        await kube.delete(volumeGroupSnapshots, { name: action.name, namespace: NAMESPACE });
        return;
      case 'delete-member': {
        const member = await this.#memberOf(action.group);
        if (member) await kube.delete(volumeSnapshots, { name: member.metadata.name, namespace: NAMESPACE });
        return;
      }
      case 'delete-content-of': {
        const snapshot = await kube.get(volumeSnapshots, { name: action.snapshot, namespace: NAMESPACE });
        const name = snapshot.status?.boundVolumeSnapshotContentName;
        if (name) await kube.delete(volumeSnapshotContents, { name });
        return;
      }
      case 'delete-secret':
        return this.#classes.deleteSecrets(action.className);
      case 'delete-class':
        return this.#classes.delete(action.className);
      case 'delete-snapshot-class':
        return this.#classes.deleteSnapshotClass(action.className);
      case 'delete-node':
        await kube.delete(nodes, { name: action.node });
        return;
      case 'deregister':
        await this.#deregister(action.node, action.what);
        return;
      case 'evacuate':
        if (this.#isSilent(action.node)) await this.#evacuate(action.node);
        return;
      case 'out-of-service':
        if (this.#isSilent(action.node)) await this.#setOutOfService(action.node, true);
        return;
    }
  }

  /** A snapshot that nobody made is named too: the claim then waits for it. */
  async #nameOf(from: { snapshot: string } | { group: string }): Promise<string> {
    if ('snapshot' in from) return from.snapshot;
    return (await this.#memberOf(from.group))?.metadata.name ?? `first-of-${from.group}`;
  }

  async #memberOf(group: string): Promise<VolumeSnapshot | undefined> {
    const { items } = await this.#kube.list(volumeSnapshots, { namespace: NAMESPACE });
    return items.find((snapshot) => groupOwnerOf(snapshot)?.name === group);
  }

  async #deregister(name: string, what: Registration): Promise<void> {
    const merge = { type: 'merge' } as const;
    if (what === 'CSINode') await this.#kube.delete(csiNodes, { name });
    else if (what === 'its entries')
      await this.#kube.patch(csiNodes, { name }, { spec: { drivers: [] } }, merge);
    else {
      const labels = { [ZONE_KEY]: null, [RACK_KEY]: null };
      const metadata = { annotations: { [ANN_CSI_NODE_ID]: null }, labels };
      await this.#kube.patch(nodes, { name }, { metadata }, merge);
    }
  }

  async #evacuate(node: string): Promise<void> {
    const { items } = await this.#kube.list(pods, {
      namespace: NAMESPACE,
      fieldSelector: `spec.nodeName=${node}`,
    });
    for (const { metadata } of items) {
      const name = { name: metadata.name, namespace: NAMESPACE };
      await this.#kube.delete(pods, name, { gracePeriodSeconds: 0 });
    }
  }

  async #setOutOfService(name: string, isOut: boolean): Promise<void> {
    const node = await this.#kube.get(nodes, { name });
    const others = (node.spec?.taints ?? []).filter(({ key }) => key !== OUT_OF_SERVICE);
    const taints = isOut ? [...others, { key: OUT_OF_SERVICE, effect: 'NoExecute' }] : others;
    if (taints.length === (node.spec?.taints ?? []).length) return;
    await this.#kube.patch(nodes, { name }, { spec: { taints } }, { type: 'merge' });
  }
}
