// From a claim to its volume: is it bound, and if not, who has to do what first. Pure.

import { defaultClassOf } from '../api/default-class.ts';
import type { PersistentVolumeClaim, Pod, StorageClass } from '../api/kinds.ts';
import { keyOf } from '../api/object.ts';
import { parseQuantity } from '../api/quantity.ts';
import { claimNameOf, isTerminated, provisionerOf, selectedNodeOf, storageClassOf } from '../api/volumes.ts';
import {
  FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE,
  FINALIZER_CLONE_PROTECTION,
  FINALIZER_PROVISIONING,
  FINALIZER_PVC_PROTECTION,
} from '../api/well-known.ts';
import type { Link } from './chain.ts';
import type { Facts } from './facts.ts';
import { end, enumerated, ok, since } from './link.ts';
import { absenceOf, lookAt } from './who-works.ts';

export function explainClaim(facts: Facts, claim: PersistentVolumeClaim): Link[] {
  const { metadata, status } = claim;
  const subject = `PersistentVolumeClaim ${keyOf(claim)}`;
  if (metadata.deletionTimestamp !== undefined) return explainGoing(facts, claim, subject);
  const volume = claim.spec.volumeName;
  if (status?.phase === 'Bound') {
    const size = status.capacity?.storage ?? 'size unknown';
    return [ok(subject, `bound to ${volume}, ${size}`), ...explainGrowth(facts, claim)];
  }
  if (status?.phase === 'Lost') {
    const says = `its volume ${volume} is gone, and the data with it as far as the cluster knows`;
    return [
      end(facts, 'stuck', subject, says, {
        todo: [`restore PersistentVolume ${volume}, or delete the claim and make it again`],
        about: claim,
      }),
    ];
  }
  return explainPending(facts, claim, subject);
}

function explainPending(facts: Facts, claim: PersistentVolumeClaim, subject: string): Link[] {
  const about = claim;
  const wanted = claim.spec.volumeName;
  if (wanted) {
    const there = facts.volumes.find(({ metadata }) => metadata.name === wanted);
    const says = `asks for PersistentVolume ${wanted}, ${
      there === undefined ? 'which does not exist' : `which is ${there.status?.phase ?? 'new'}`
    }`;
    const todo = ['make that volume free, or make a claim that asks for no volume by name'];
    return [end(facts, there === undefined ? 'stuck' : 'waits', subject, says, { todo, about })];
  }
  const named = storageClassOf(claim);
  if (named === '') {
    const says = `asks for a volume without a class${since(claim.metadata.creationTimestamp, facts)}; none is made for it`;
    const todo = [
      'make a PersistentVolume without a class that is large enough',
      'or make the claim again with a class',
    ];
    return [end(facts, 'stuck', subject, says, { todo, about })];
  }
  const name = named ?? defaultClassOf(facts.classes)?.metadata.name;
  if (name === undefined) {
    return [
      end(facts, 'stuck', subject, 'names no StorageClass, and none is the default', {
        todo: [
          'mark a class as default: annotation storageclass.kubernetes.io/is-default-class: "true"',
          'or make the claim again with spec.storageClassName',
        ],
        about,
      }),
    ];
  }
  const storageClass = facts.classes.find(({ metadata }) => metadata.name === name);
  if (storageClass === undefined) {
    const todo = [`make StorageClass ${name}`, 'or make the claim again with a class that exists'];
    return [end(facts, 'stuck', subject, `its StorageClass ${name} does not exist`, { todo, about })];
  }
  if (waitsForPod(facts, claim)) return explainDelayed(facts, claim, subject);
  return explainProvisioning(facts, claim, storageClass, subject);
}

/** Nothing is made before a pod that uses the claim has been given a node. */
export function waitsForPod(facts: Facts, claim: PersistentVolumeClaim): boolean {
  const storageClass = facts.classes.find(({ metadata }) => metadata.name === storageClassOf(claim));
  return (
    storageClass?.volumeBindingMode === 'WaitForFirstConsumer' &&
    claim.status?.phase !== 'Bound' &&
    selectedNodeOf(claim) === undefined
  );
}

function explainDelayed(facts: Facts, claim: PersistentVolumeClaim, subject: string): Link[] {
  const users = usersOf(facts, claim);
  const [first] = users;
  if (first === undefined) {
    return [
      end(facts, 'waits', subject, 'its class makes volumes only once a pod uses the claim, and none does', {
        todo: ['make a pod that uses it'],
        about: claim,
      }),
    ];
  }
  return [
    end(facts, 'waits', subject, `waits until a node is chosen for ${podNames(users)}`, {
      todo: [`ask further: berth why pod ${first.metadata.name} -n ${first.metadata.namespace}`],
      about: claim,
    }),
  ];
}

function explainProvisioning(
  facts: Facts,
  claim: PersistentVolumeClaim,
  { provisioner, metadata }: StorageClass,
  subject: string,
): Link[] {
  const about = claim;
  if (provisioner === 'kubernetes.io/no-provisioner') {
    const says = `class ${metadata.name} makes no volumes; waits for a PersistentVolume of that class that fits`;
    return [end(facts, 'stuck', subject, says, { todo: ['make one'], about })];
  }
  if (provisionerOf(claim) === undefined) {
    return [
      end(facts, 'waits', subject, 'nobody was asked to make its volume yet', {
        todo: ['see that the controller manager runs: it asks the provisioner'],
        about,
      }),
    ];
  }
  const missing = missingSource(facts, claim);
  if (missing !== undefined) {
    return [
      end(facts, 'stuck', subject, missing, {
        todo: ['make the source, or the claim again without it'],
        about,
      }),
    ];
  }
  const absence = absenceOf(facts, 'provisioner', provisioner);
  const says =
    absence ?? `waits for the provisioner of ${provisioner}${since(claim.metadata.creationTimestamp, facts)}`;
  return [
    end(facts, absence === undefined ? 'waits' : 'stuck', subject, says, {
      todo: [lookAt('provisioner', provisioner)],
      about,
    }),
  ];
}

/** A claim to be cloned that is not there; other sources are looked for by the provisioner, which says so. */
function missingSource(facts: Facts, claim: PersistentVolumeClaim): string | undefined {
  const source = claim.spec.dataSource;
  if (source?.kind !== 'PersistentVolumeClaim' || source.apiGroup) return undefined;
  const there = facts.claims.some(
    ({ metadata }) => metadata.name === source.name && metadata.namespace === claim.metadata.namespace,
  );
  return there ? undefined : `is to be a copy of claim ${source.name}, which does not exist`;
}

function explainGrowth(facts: Facts, claim: PersistentVolumeClaim): Link[] {
  const asked = claim.spec.resources?.requests?.storage;
  const has = claim.status?.capacity?.storage;
  if (asked === undefined || has === undefined || parseQuantity(asked).nano <= parseQuantity(has).nano)
    return [];
  const subject = `expansion to ${asked}`;
  const conditions = claim.status?.conditions ?? [];
  const pending = conditions.find(
    ({ type, status }) => type === 'FileSystemResizePending' && status === 'True',
  );
  if (pending !== undefined) {
    const users = usersOf(facts, claim);
    return [
      end(facts, 'waits', subject, 'the storage is larger; the file system on it is enlarged on a node', {
        todo: users.length === 0 ? ['start a pod that uses the claim'] : [],
        about: claim,
      }),
    ];
  }
  const name = storageClassOf(claim);
  const storageClass = facts.classes.find(({ metadata }) => metadata.name === name);
  if (storageClass && !storageClass.allowVolumeExpansion) {
    const todo = [`set allowVolumeExpansion of StorageClass ${name}`];
    return [
      end(facts, 'stuck', subject, `class ${name} does not let its volumes grow`, { todo, about: claim }),
    ];
  }
  const driver = storageClass?.provisioner ?? 'the driver';
  const absence = absenceOf(facts, 'resizer', driver);
  return [
    end(
      facts,
      absence === undefined ? 'waits' : 'stuck',
      subject,
      absence ?? `has ${has}; waits for the resizer of ${driver}`,
      {
        todo: [lookAt('resizer', driver)],
        about: claim,
      },
    ),
  ];
}

function explainGoing(facts: Facts, claim: PersistentVolumeClaim, subject: string): Link[] {
  const { finalizers = [], deletionTimestamp } = claim.metadata;
  const users = usersOf(facts, claim);
  const reasons: Readonly<Record<string, () => string>> = {
    [FINALIZER_PVC_PROTECTION]: () =>
      users.length === 0
        ? 'the controller manager has to see that nobody uses it'
        : `${podNames(users)} still ${users.length === 1 ? 'uses' : 'use'} it`,
    [FINALIZER_PROVISIONING]: () => 'the provisioner finds out whether its volume was made, to delete it',
    [FINALIZER_CLONE_PROTECTION]: () => 'it is being cloned',
    [FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE]: () =>
      'a snapshot of it is not ready yet (kubectl get volumesnapshots says which)',
  };
  const why = finalizers.map(
    (finalizer) =>
      reasons[finalizer]?.() ?? `finalizer ${finalizer} is on it, for whoever put it there to remove`,
  );
  const todo = users.length > 0 ? [`delete ${podNames(users)}; the claim goes after the last`] : [];
  return [
    end(
      facts,
      'waits',
      subject,
      `is being deleted${since(deletionTimestamp, facts)}: ${why.join('; ') || 'it goes at any moment'}`,
      { todo, about: claim },
    ),
  ];
}

/** Those that have not ended. */
function usersOf(facts: Facts, claim: PersistentVolumeClaim): Pod[] {
  return facts.pods
    .filter((pod) => pod.metadata.namespace === claim.metadata.namespace && !isTerminated(pod))
    .filter((pod) => pod.spec.volumes?.some((volume) => claimNameOf(pod, volume) === claim.metadata.name));
}

export const podNames = (found: readonly Pod[]): string =>
  enumerated(found.map((pod) => `pod ${keyOf(pod)}`));
