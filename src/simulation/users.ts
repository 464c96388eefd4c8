// What users do in a simulated world. They reach the API server without faults. Remembers what they want to exist, which
// must be there in the end.

import {
  csiDrivers,
  csiNodes,
  nodes,
  type PersistentVolumeClaim,
  type Pod,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  type StatefulSet,
  secrets,
  statefulSets,
  storageClasses,
} from '../api/kinds.ts';
import type { Draft } from '../api/object.ts';
import { ANN_CSI_NODE_ID, ANN_INLINE_HANDLES, ANN_SELECTED_NODE } from '../api/well-known.ts';
import type { KubeClient } from '../runtime/kube/kube.ts';
import { isAlreadyExists, isNotFound, KubeError } from '../runtime/kube/kube-error.ts';
import type { History } from './history.ts';
import {
  BARE_NODE,
  type ClassPlan,
  type Deed,
  type Plan,
  type Registration,
  type SecretKind,
  secretKinds,
} from './plan.ts';
import { existingHandle, RACK_KEY, ZONE_KEY } from './storage-backend.ts';

const NAMESPACE = 'default';
export const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';
const SECRETS_NAMESPACE = 'kube-system';

/** Every secret of every simulated world starts with it. */
export const SECRET_MARK = 'hunter2-';

/** Can be recognized anywhere, and names its owner. */
export function secretText(className: string, kind: string): string {
  return `${SECRET_MARK}${className}-${kind}`;
}

export class Users {
  readonly #kube: KubeClient;
  readonly #history: History;
  readonly #plan: Plan;
  readonly #isSilent: (node: string) => boolean;
  /** Actions run one after the other. */
  #turn: Promise<void> = Promise.resolve();
  readonly #missingSecrets = new Set<string>();
  readonly #missingClasses = new Set<string>();

  constructor(ports: {
    kube: KubeClient;
    history: History;
    plan: Plan;
    isSilent: (node: string) => boolean;
  }) {
    this.#kube = ports.kube;
    this.#history = ports.history;
    this.#plan = ports.plan;
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
    if (this.#plan.steps.some(({ deed }) => deed.do === 'create-claim' && deed.selected === BARE_NODE))
      // No kubelet runs there, so no pod may be scheduled to it.
      await this.#kube.create(nodes, { metadata: { name: BARE_NODE }, spec: { unschedulable: true } });
    for (const each of this.#plan.classes) {
      await this.#createClass(each);
      if (each.secrets) await this.#createSecrets(each.name);
    }
  }

  act(deed: Deed): void {
    this.#turn = this.#turn.then(() => this.#try(deed));
  }

  /** Puts back what was deleted by accident, so that everything can converge. */
  async repair(): Promise<void> {
    await this.#turn;
    for (const className of this.#missingSecrets) await this.#createSecrets(className);
    this.#missingSecrets.clear();
    for (const each of this.#plan.classes)
      if (this.#missingClasses.has(each.name)) await this.#createClass(each);
    this.#missingClasses.clear();
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
    await this.#kube.deleteCollection(statefulSets, all);
    await this.#kube.deleteCollection(pods, all, { gracePeriodSeconds: 1 });
    await this.#kube.deleteCollection(persistentVolumeClaims, all);
  }

  async #try(deed: Deed): Promise<void> {
    let end = '';
    try {
      await this.#perform(deed);
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      end = ` (${error.reason})`;
    }
    const { do: verb, ...rest } = deed;
    this.#history.add({ kind: 'user', text: `${verb} ${JSON.stringify(rest)}${end}` });
  }

  async #perform(deed: Deed): Promise<void> {
    const kube = this.#kube;
    switch (deed.do) {
      case 'create-claim':
        await kube.create(persistentVolumeClaims, {
          metadata: {
            name: deed.name,
            namespace: NAMESPACE,
            ...(deed.selected && { annotations: { [ANN_SELECTED_NODE]: deed.selected } }),
          },
          spec: {
            ...claimSpec(deed.className, deed.mode),
            ...(deed.isBlock && { volumeMode: 'Block' }),
          },
        });
        return;
      case 'create-pod':
        await kube.create(pods, podDraft(deed));
        return;
      case 'delete-pod':
        await kube.delete(
          pods,
          { name: deed.name, namespace: NAMESPACE },
          { gracePeriodSeconds: deed.graceSeconds },
        );
        return;
      case 'delete-claim':
        await kube.delete(persistentVolumeClaims, { name: deed.name, namespace: NAMESPACE });
        return;
      case 'resize-claim':
        await kube.patch(
          persistentVolumeClaims,
          { name: deed.name, namespace: NAMESPACE },
          { spec: { resources: { requests: { storage: `${deed.gib}Gi` } } } },
          { type: 'merge' },
        );
        return;
      case 'create-set':
        await kube.create(statefulSets, setDraft(deed));
        return;
      case 'scale-set':
        await kube.patch(
          statefulSets,
          { name: deed.name, namespace: NAMESPACE },
          { spec: { replicas: deed.replicas } },
          { type: 'merge' },
        );
        return;
      case 'delete-volume-of': {
        const claim = await kube.get(persistentVolumeClaims, { name: deed.name, namespace: NAMESPACE });
        if (claim.spec.volumeName) await kube.delete(persistentVolumes, { name: claim.spec.volumeName });
        return;
      }
      case 'delete-secret':
        this.#missingSecrets.add(deed.className);
        for (const kind of this.#secretKinds(deed.className)) {
          await kube.delete(secrets, { name: `${deed.className}-${kind}`, namespace: SECRETS_NAMESPACE });
        }
        return;
      case 'delete-class':
        this.#missingClasses.add(deed.className);
        await kube.delete(storageClasses, { name: deed.className });
        return;
      case 'delete-node':
        await kube.delete(nodes, { name: deed.node });
        return;
      case 'deregister':
        await this.#deregister(deed.node, deed.what);
        return;
      case 'evacuate':
        if (this.#isSilent(deed.node)) await this.#evacuate(deed.node);
        return;
      case 'out-of-service':
        if (this.#isSilent(deed.node)) await this.#setOutOfService(deed.node, true);
        return;
    }
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

  async #createClass(plan: ClassPlan): Promise<void> {
    await this.#kube.create(storageClasses, {
      metadata: { name: plan.name },
      provisioner: plan.driver,
      reclaimPolicy: plan.reclaim,
      volumeBindingMode: plan.binding,
      ...(this.#driverOf(plan)?.expands && { allowVolumeExpansion: true }),
      parameters: {
        tier: 'gold',
        ...(plan.secrets && secretParameters(plan, this.#secretKinds(plan.name))),
      },
    });
  }

  #driverOf({ driver }: Pick<ClassPlan, 'driver'>) {
    return this.#plan.drivers.find(({ name }) => name === driver);
  }

  #secretKinds(className: string): readonly SecretKind[] {
    const plan = this.#plan.classes.find(({ name }) => name === className);
    return secretKinds((plan && this.#driverOf(plan)) ?? {});
  }

  async #createSecrets(className: string): Promise<void> {
    if (!this.#plan.classes.find(({ name }) => name === className)?.secrets) return;
    for (const kind of this.#secretKinds(className)) {
      const data = { key: Buffer.from(secretText(className, kind)).toString('base64') };
      try {
        await this.#kube.create(secrets, {
          metadata: { name: `${className}-${kind}`, namespace: SECRETS_NAMESPACE },
          data,
        });
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
      }
    }
  }
}

function secretParameters({ name }: ClassPlan, kinds: readonly SecretKind[]): Record<string, string> {
  return Object.fromEntries(
    kinds.flatMap((kind) => [
      [`csi.storage.k8s.io/${kind}-secret-name`, `${name}-${kind}`],
      [`csi.storage.k8s.io/${kind}-secret-namespace`, SECRETS_NAMESPACE],
    ]),
  );
}

function claimSpec(className: string, mode: string): PersistentVolumeClaim['spec'] {
  return {
    accessModes: [mode],
    storageClassName: className,
    resources: { requests: { storage: '1Gi' } },
  } as PersistentVolumeClaim['spec'];
}

function podDraft(deed: Extract<Deed, { do: 'create-pod' }>): Draft<Pod> {
  return {
    metadata: { name: deed.name, namespace: NAMESPACE },
    spec: {
      containers: [{ name: 'main', image: 'none' }],
      ...(deed.pinned && { nodeName: deed.pinned }),
      ...(deed.node && { nodeSelector: { 'kubernetes.io/hostname': deed.node } }),
      volumes: [
        ...deed.claims.map((claimName, index) => ({
          name: `v${index}`,
          persistentVolumeClaim: { claimName, ...(deed.readOnly && { readOnly: true }) },
        })),
        ...(deed.existing
          ? [
              {
                name: 'existing',
                csi: { driver: deed.existing, volumeHandle: existingHandle(deed.existing) },
              },
            ]
          : []),
        ...(deed.inline ? [{ name: 'inline', csi: { driver: deed.inline } }] : []),
        ...(deed.ephemeral
          ? [
              {
                name: 'scratch',
                ephemeral: { volumeClaimTemplate: { spec: claimSpec(deed.ephemeral, 'ReadWriteOnce') } },
              },
            ]
          : []),
      ],
    },
  } as Draft<Pod>;
}

function setDraft({ name, className, replicas }: Extract<Deed, { do: 'create-set' }>): Draft<StatefulSet> {
  const labels = { app: name };
  return {
    metadata: { name, namespace: NAMESPACE },
    spec: {
      serviceName: name,
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: 'main', image: 'none' }] },
      },
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claimSpec(className, 'ReadWriteOnce') }],
    },
  } as unknown as Draft<StatefulSet>;
}
