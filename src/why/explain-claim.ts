// From a claim to its volume: is it bound, and if not, who has to do what first. Pure.

import { defaultClassOf } from '../api/default-class.ts';
import type { PersistentVolumeClaim } from '../api/kinds.ts';
import { keyOf } from '../api/object.ts';
import { selectedNodeOf, storageClassOf } from '../api/volumes.ts';
import {
  FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE,
  FINALIZER_CLONE_PROTECTION,
  FINALIZER_PROVISIONING,
  FINALIZER_PVC_PROTECTION,
} from '../api/well-known.ts';
import type { DriverName } from '../csi/names/driver-name.ts';
import type { Link } from './chain.ts';
import { explainProvisioning } from './explain-provisioning.ts';
import { explainScheduling } from './explain-scheduling.ts';
import { classNamed, podsOf, volumeNamed } from './fact-index.ts';
import type { Facts } from './facts.ts';
import { end, enumerated, objectArgument, ok, podNames, reported, since } from './link.ts';
import { newestReport } from './report.ts';

const claimSubject = (claim: PersistentVolumeClaim): string => `PersistentVolumeClaim ${keyOf(claim)}`;

/** Without its expansion and modification, which explain-growth.ts has. */
export function explainClaim(facts: Facts, claim: PersistentVolumeClaim): Link[] {
  const { metadata, status } = claim;
  const subject = claimSubject(claim);
  if (metadata.deletionTimestamp !== undefined) return explainGoing(facts, claim, subject);
  const volume = claim.spec.volumeName;
  if (status?.phase === 'Bound') {
    return [ok(subject, `bound to ${volume}, ${status.capacity?.storage ?? 'size unknown'}`)];
  }
  if (status?.phase === 'Lost') {
    const says = `its volume ${volume} is gone, and the data with it as far as the cluster knows`;
    return [
      end(facts, 'stuck', subject, says, {
        todo: [`restore PersistentVolume ${volume}, or delete the claim and create it again`],
        about: claim,
      }),
    ];
  }
  return explainPending(facts, claim, subject);
}

function explainPending(facts: Facts, claim: PersistentVolumeClaim, subject: string): Link[] {
  const about = claim;
  if (claim.spec.volumeName) return [explainNamedVolume(facts, claim, subject)];
  const named = storageClassOf(claim);
  if (named === '') {
    const says = `asks for a volume without a class${since(claim.metadata.creationTimestamp, facts)}; none is provisioned for it`;
    const todo = [
      'create a PersistentVolume without a class that is large enough',
      'or create the claim again with a class',
    ];
    return [end(facts, 'stuck', subject, says, { todo, about })];
  }
  const name = named ?? defaultClassOf(facts.classes)?.metadata.name;
  if (name === undefined) {
    return [
      end(facts, 'stuck', subject, 'names no StorageClass, and none is the default', {
        todo: [
          'mark a class as default: annotation storageclass.kubernetes.io/is-default-class: "true"',
          'or create the claim again with spec.storageClassName',
        ],
        about,
        cause: 'no default StorageClass',
      }),
    ];
  }
  const storageClass = classNamed(facts, name);
  if (storageClass === undefined) {
    const todo = [`create StorageClass ${name}`, 'or create the claim again with a class that exists'];
    return [
      end(facts, 'stuck', subject, `its StorageClass ${name} does not exist`, {
        todo,
        about,
        cause: `no StorageClass ${name}`,
      }),
    ];
  }
  if (waitsForPod(facts, claim)) return explainDelayed(facts, claim, subject);
  return explainProvisioning(facts, claim, { storageClass, subject });
}

function explainNamedVolume(facts: Facts, claim: PersistentVolumeClaim, subject: string): Link {
  const wanted = claim.spec.volumeName;
  const there = volumeNamed(facts, wanted);
  const about = claim;
  if (there === undefined) {
    const says = `asks for PersistentVolume ${wanted}, which does not exist`;
    const todo = [`create PersistentVolume ${wanted}`, 'or create a claim that names no volume'];
    return end(facts, 'stuck', subject, says, { todo, about });
  }
  const { claimRef } = there.spec;
  const isTaken =
    claimRef?.name !== undefined &&
    (claimRef.name !== claim.metadata.name || claimRef.namespace !== claim.metadata.namespace);
  const says = `asks for PersistentVolume ${wanted}, ${
    isTaken
      ? `which claim ${claimRef.namespace}/${claimRef.name} has`
      : `which is ${there.status?.phase ?? 'new'}`
  }`;
  const todo = ['free that volume, or create a claim that names no volume'];
  return end(facts, isTaken ? 'stuck' : 'waits', subject, says, { todo, about });
}

/** Nothing is provisioned before a pod that uses the claim has been given a node. */
export function waitsForPod(facts: Facts, claim: PersistentVolumeClaim): boolean {
  return (
    classNamed(facts, storageClassOf(claim))?.volumeBindingMode === 'WaitForFirstConsumer' &&
    claim.status?.phase !== 'Bound' &&
    selectedNodeOf(claim) === undefined
  );
}

function explainDelayed(facts: Facts, claim: PersistentVolumeClaim, subject: string): Link[] {
  const [first] = podsOf(facts, claim);
  const last = newestReport(facts, [claim], ['ProvisioningFailed']);
  const lastWords = last === undefined ? '' : ` (the last attempt failed: ${last.words})`;
  if (first === undefined) {
    const says = `its class provisions volumes only once a pod uses the claim, and none does${lastWords}`;
    return [
      end(facts, 'waits', subject, says, {
        todo: ['create a pod that uses it'],
        about: claim,
        cause: 'claims that no pod uses',
      }),
    ];
  }
  if (first.spec.nodeName) {
    const says = `waits for the scheduler to choose a node, but pod ${keyOf(first)} sets spec.nodeName, which bypasses the scheduler`;
    const todo = ['create the pod again with a nodeSelector in place of spec.nodeName'];
    return [end(facts, 'stuck', subject, says, { todo, about: claim })];
  }
  const waits = ok(subject, `gets its volume once pod ${keyOf(first)} has a node${lastWords}`);
  return [waits, explainScheduling(facts, first, `Pod ${keyOf(first)}`)];
}

function explainGoing(facts: Facts, claim: PersistentVolumeClaim, subject: string): Link[] {
  const { finalizers = [], deletionTimestamp } = claim.metadata;
  const users = podsOf(facts, claim);
  const report = newestReport(facts, [claim], ['ProvisioningCleanupFailed']);
  if (report !== undefined) {
    const driver = classNamed(facts, storageClassOf(claim))?.provisioner as DriverName | undefined;
    const attempt = { operation: 'DeleteVolume', driver, object: objectArgument('pvc', claim) } as const;
    return [reported(facts, subject, { report, attempt, before: 'is being deleted: ', about: claim })];
  }
  const strangers: string[] = [];
  const reasons: Readonly<Record<string, () => string>> = {
    [FINALIZER_PVC_PROTECTION]: () =>
      users.length === 0
        ? 'the controller manager has to see that nobody uses it'
        : `${podNames(users)} still ${users.length === 1 ? 'uses' : 'use'} it`,
    [FINALIZER_PROVISIONING]: () => 'the provisioner finds out whether its volume was made, to delete it',
    [FINALIZER_CLONE_PROTECTION]: () => 'it is being cloned',
    [FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE]: () => `${snapshotNames(facts, claim)} not ready yet`,
  };
  const why = finalizers.map((finalizer) => {
    const known = reasons[finalizer]?.();
    if (known === undefined) strangers.push(finalizer);
    return known ?? `finalizer ${finalizer} is on it, which only its owner removes`;
  });
  const todo = [
    ...(users.length > 0 ? [`delete ${podNames(users)}: the claim is deleted after the last`] : []),
    ...strangers.map((finalizer) => `check that the owner of finalizer ${finalizer} runs`),
  ];
  // Both need a person: a running pod, and a finalizer that no known controller removes.
  const state = users.length > 0 || strangers.length > 0 ? 'stuck' : 'waits';
  const says = `is being deleted${since(deletionTimestamp, facts)}: ${why.join('; ') || 'it is deleted at any moment'}`;
  return [end(facts, state, subject, says, { todo, about: claim })];
}

function snapshotNames(facts: Facts, claim: PersistentVolumeClaim): string {
  const names = (facts.snapshots ?? [])
    .filter(
      ({ metadata, spec, status }) =>
        metadata.namespace === claim.metadata.namespace &&
        spec.source.persistentVolumeClaimName === claim.metadata.name &&
        status?.readyToUse !== true,
    )
    .map((snapshot) => `snapshot ${keyOf(snapshot)}`);
  return names.length === 0
    ? 'a snapshot of it is'
    : `${enumerated(names)} ${names.length === 1 ? 'is' : 'are'}`;
}
