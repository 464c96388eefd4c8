// What to do next for one claim. Pure. The way: finalizer on the claim, prime claim, data, the prime's volume is bound to
// the claim, clean-up. The finalizer comes first and goes last, so that nothing is left behind of what was created by then.
// What is created later, by a request that was given up, is left to delete-orphans.ts.

import type { PersistentVolumeClaim, Pod, StorageClass } from '../api/kinds.ts';
import type { KubeObject } from '../api/object.ts';
import { foreignNamespaceOf, notGranted } from '../api/reference-grants.ts';
import { selectedNodeOf } from '../api/volumes.ts';
import { finalizerOf, type PopulatorDefinition } from './populator-definition.ts';

export interface PopulationFacts<S extends KubeObject> {
  definition: PopulatorDefinition<S>;
  claim: PersistentVolumeClaim | undefined;
  source: S | undefined;
  /** Sources in other namespaces need it. */
  isGranted: boolean;
  /** Undefined where the claim has none, or it does not exist. */
  storageClass: StorageClass | undefined;
  prime: PersistentVolumeClaim | undefined;
  /** The populator pod, where there is one. */
  pod: Pod | undefined;
}

export type PopulationStep<S extends KubeObject> =
  | { do: 'nothing' }
  /** A change of what it waits for wakes it. */
  | { do: 'wait'; why: string; event?: { reason: string; message: string } }
  | { do: 'protect' }
  | { do: 'create-prime'; nodeName: string | undefined }
  | { do: 'create-pod'; source: S; nodeName: string | undefined }
  | { do: 'delete-failed-pod'; uid: string; why: string }
  | { do: 'call-functions'; source: S }
  /** All data is in the prime claim's volume. */
  | { do: 'rebind' }
  /** `isFinished`: the claim has its volume. Otherwise it is being deleted. */
  | { do: 'clean-up'; isFinished: boolean };

export function decidePopulation<S extends KubeObject>(facts: PopulationFacts<S>): PopulationStep<S> {
  const { claim, definition, prime, pod } = facts;
  if (claim === undefined || !isOurs(definition, claim)) return { do: 'nothing' };
  const isProtected = claim.metadata.finalizers?.includes(finalizerOf(definition)) ?? false;
  if (claim.metadata.deletionTimestamp !== undefined) {
    return isProtected ? { do: 'clean-up', isFinished: false } : { do: 'nothing' };
  }
  const { volumeName } = claim.spec;
  if (volumeName) {
    if (!isProtected) return { do: 'nothing' };
    // The binder must see that the volume is no longer the prime claim's: deleted earlier, the volume went with it.
    if (prime && prime.spec.volumeName === volumeName && prime.status?.phase !== 'Lost')
      return wait(`prime claim ${prime.metadata.name} still counts as bound to volume ${volumeName}`);
    return { do: 'clean-up', isFinished: true };
  }
  const ready = preconditions(facts, claim);
  if ('do' in ready) return ready;
  const { source, nodeName } = ready;
  if (!isProtected) return { do: 'protect' };
  if (prime === undefined) return { do: 'create-prime', nodeName };
  if ('start' in definition.populate) {
    if (!prime.spec.volumeName) return wait(`prime claim ${prime.metadata.name} is not bound`);
    return { do: 'call-functions', source };
  }
  if (pod === undefined) return { do: 'create-pod', source, nodeName };
  if (pod.metadata.deletionTimestamp !== undefined) return wait(`pod ${pod.metadata.name} is being deleted`);
  const { phase, message = '' } = pod.status ?? {};
  if (phase === 'Failed') return { do: 'delete-failed-pod', uid: pod.metadata.uid, why: message };
  if (phase !== 'Succeeded' || !prime.spec.volumeName)
    return wait(`pod ${pod.metadata.name} is ${phase ?? 'Pending'}`);
  return { do: 'rebind' };
}

function isOurs(
  { namespace, source }: PopulatorDefinition,
  { metadata, spec }: PersistentVolumeClaim,
): boolean {
  const { apiGroup, kind, name } = spec.dataSourceRef ?? {};
  return (
    metadata.namespace !== namespace && (apiGroup ?? '') === source.group && kind === source.kind && !!name
  );
}

/** What must be there before anything is created. */
function preconditions<S extends KubeObject>(
  { definition, source, isGranted, storageClass }: PopulationFacts<S>,
  claim: PersistentVolumeClaim,
): PopulationStep<S> | { source: S; nodeName: string | undefined } {
  const { dataSourceRef, storageClassName } = claim.spec;
  const foreign = foreignNamespaceOf(claim);
  const name = `${foreign ?? claim.metadata.namespace}/${dataSourceRef?.name}`;
  const reason = 'PopulatorDataSourceNotFound';
  if (foreign !== undefined && !isGranted) {
    const message = definition.crossNamespace
      ? notGranted(claim)
      : `the populator does not use sources of other namespaces, as ${name} is`;
    return wait(message, { reason, message });
  }
  if (source === undefined) {
    const message = `Data source ${name} not found`;
    return wait(message, { reason, message });
  }
  if (storageClassName && storageClass === undefined)
    return wait(`StorageClass ${storageClassName} does not exist`);
  if (storageClass?.provisioner.startsWith('kubernetes.io/')) return { do: 'nothing' };
  if (storageClass?.volumeBindingMode !== 'WaitForFirstConsumer') return { source, nodeName: undefined };
  const nodeName = selectedNodeOf(claim);
  return nodeName === undefined ? wait('no node is selected for the claim yet') : { source, nodeName };
}

function wait(
  why: string,
  event?: { reason: string; message: string },
): { do: 'wait'; why: string; event?: { reason: string; message: string } } {
  return { do: 'wait', why, ...(event && { event }) };
}
