// The classes of a simulated cluster and their Secrets: created before anything runs, deleted by users at the worst moment,
// and put back when faults end.

import { secrets, storageClasses, volumeGroupSnapshotClasses, volumeSnapshotClasses } from '../api/kinds.ts';
import type { KubeClient } from '../runtime/kube/kube.ts';
import { isAlreadyExists } from '../runtime/kube/kube-error.ts';
import {
  type ClassPlan,
  type Plan,
  type SecretKind,
  SNAPSHOT_SECRETS,
  type SnapshotClassPlan,
  secretKinds,
} from './plan.ts';

const SECRETS_NAMESPACE = 'kube-system';

/** Every secret of every simulated cluster starts with it. */
export const SECRET_MARK = 'hunter2-';

/** Can be recognized anywhere, and names its owner. */
export function secretText(className: string, kind: string): string {
  return `${SECRET_MARK}${className}-${kind}`;
}

export class ClassObjects {
  readonly #kube: KubeClient;
  readonly #plan: Plan;
  readonly #missingSecrets = new Set<string>();
  readonly #missingClasses = new Set<string>();

  constructor(kube: KubeClient, plan: Plan) {
    this.#kube = kube;
    this.#plan = plan;
  }

  async createAll(): Promise<void> {
    for (const each of this.#all) {
      await this.#create(each);
      if (each.secrets) await this.#createSecrets(each);
    }
  }

  async deleteSecrets(className: string): Promise<void> {
    this.#missingSecrets.add(className);
    const plan = this.#all.find(({ name }) => name === className);
    for (const kind of plan ? this.#kindsOf(plan) : []) {
      await this.#kube.delete(secrets, { name: `${className}-${kind}`, namespace: SECRETS_NAMESPACE });
    }
  }

  async delete(name: string): Promise<void> {
    this.#missingClasses.add(name);
    await this.#kube.delete(storageClasses, { name });
  }

  async deleteSnapshotClass(name: string): Promise<void> {
    this.#missingClasses.add(name);
    await this.#kube.delete(volumeSnapshotClasses, { name });
    const plan = this.#plan.snapshotClasses.find((each) => each.name === name);
    if (plan && this.#hasGroups(plan)) await this.#kube.delete(volumeGroupSnapshotClasses, { name });
  }

  async repair(): Promise<void> {
    for (const each of this.#all) {
      if (each.secrets && this.#missingSecrets.has(each.name)) await this.#createSecrets(each);
      if (this.#missingClasses.has(each.name)) await this.#create(each);
    }
    this.#missingSecrets.clear();
    this.#missingClasses.clear();
  }

  get #all(): readonly (ClassPlan | SnapshotClassPlan)[] {
    return [...this.#plan.classes, ...this.#plan.snapshotClasses];
  }

  #create(plan: ClassPlan | SnapshotClassPlan): Promise<void> {
    return 'binding' in plan ? this.#createClass(plan) : this.#createSnapshotClass(plan);
  }

  async #createClass(plan: ClassPlan): Promise<void> {
    await this.#kube.create(storageClasses, {
      metadata: { name: plan.name },
      provisioner: plan.driver,
      reclaimPolicy: plan.reclaim,
      volumeBindingMode: plan.binding,
      ...(this.#driverOf(plan)?.expands && { allowVolumeExpansion: true }),
      parameters: this.#parametersOf(plan),
    });
  }

  async #createSnapshotClass(plan: SnapshotClassPlan): Promise<void> {
    const draft = {
      metadata: { name: plan.name },
      driver: plan.driver,
      deletionPolicy: plan.deletion,
      parameters: this.#parametersOf(plan),
    };
    await this.#kube.create(volumeSnapshotClasses, draft);
    if (this.#hasGroups(plan)) await this.#kube.create(volumeGroupSnapshotClasses, draft);
  }

  #parametersOf(plan: ClassPlan | SnapshotClassPlan): Record<string, string> {
    const references = this.#kindsOf(plan).flatMap((kind) => [
      [`csi.storage.k8s.io/${kind}-secret-name`, `${plan.name}-${kind}`],
      [`csi.storage.k8s.io/${kind}-secret-namespace`, SECRETS_NAMESPACE],
    ]);
    return { tier: 'gold', ...(plan.secrets && Object.fromEntries(references)) };
  }

  #hasGroups(plan: SnapshotClassPlan): boolean {
    return this.#driverOf(plan)?.snapshots === 'groups';
  }

  #driverOf({ driver }: Pick<ClassPlan, 'driver'>) {
    return this.#plan.drivers.find(({ name }) => name === driver);
  }

  #kindsOf(plan: ClassPlan | SnapshotClassPlan): readonly SecretKind[] {
    return 'binding' in plan ? secretKinds(this.#driverOf(plan) ?? {}) : SNAPSHOT_SECRETS;
  }

  async #createSecrets(plan: ClassPlan | SnapshotClassPlan): Promise<void> {
    for (const kind of this.#kindsOf(plan)) {
      const data = { key: Buffer.from(secretText(plan.name, kind)).toString('base64') };
      const metadata = { name: `${plan.name}-${kind}`, namespace: SECRETS_NAMESPACE };
      try {
        await this.#kube.create(secrets, { metadata, data });
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
      }
    }
  }
}
