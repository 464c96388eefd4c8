// What the author of a volume populator writes: which kind of object volumes are populated from, and how.

import type { PersistentVolumeClaim, StorageClass } from '../api/kinds.ts';
import type { KubeObject } from '../api/object.ts';
import type { EventRecorder } from '../runtime/events/create-event-recorder.ts';
import type { KubeClient } from '../runtime/kube/kube.ts';

export interface PopulatorDefinition<S extends KubeObject = KubeObject> {
  /** A domain, as in `hello.example.com`: prefix of the finalizer, the annotation and the source of events. */
  prefix: string;
  /** Where prime claims and populator pods are created. Claims of this namespace are never populated. */
  namespace: string;
  /** The kind that claims name in `dataSourceRef`. */
  source: { group: string; version: string; kind: string; plural: string };
  /** By a pod that writes into the volume, or by functions. */
  populate: PopulateByPod<S> | PopulateByFunctions<S>;
  /** Sources in other namespaces, where a ReferenceGrant allows it. */
  crossNamespace?: boolean;
}

/** The pod has one container and runs to its end; when it fails it is created again. */
export interface PopulateByPod<S extends KubeObject> {
  image: string;
  /** The image's unless given. */
  command?: readonly string[];
  args(source: S, volume: { isBlock: boolean }): readonly string[];
  /** Where the volume is in the container. */
  mountPath: string;
  /** Where a raw block volume is in the container. */
  devicePath: string;
}

/** Each may be called any number of times, also again after it succeeded. */
export interface PopulateByFunctions<S extends KubeObject> {
  /** Starts to populate the volume of the prime claim, which is bound. */
  start(population: Population<S>): Promise<void>;
  /** Whether all data is there. Asked again, with backoff, until it is. */
  isComplete(population: Population<S>): Promise<boolean>;
  /** Removes what `start` left beside the volume, also when the claim was deleted meanwhile. */
  cleanUp?(population: Omit<Population<S>, 'source' | 'storageClass'>): Promise<void>;
}

export interface Population<S extends KubeObject> {
  kube: KubeClient;
  recorder: EventRecorder;
  /** The user's claim. */
  claim: PersistentVolumeClaim;
  /** The name of the prime claim in the populator's namespace: its volume becomes the claim's. */
  primeName: string;
  source: S;
  storageClass: StorageClass | undefined;
  signal: AbortSignal;
}

export const finalizerOf = ({ prefix }: Pick<PopulatorDefinition, 'prefix'>): string =>
  `${prefix}/populate-target-protection`;
export const populatedFromOf = ({ prefix }: Pick<PopulatorDefinition, 'prefix'>): string =>
  `${prefix}/populated-from`;

/** On prime claims and populator pods: `namespace/name` of the claim that it is for. */
export const populatesOf = ({ prefix }: Pick<PopulatorDefinition, 'prefix'>): string => `${prefix}/populates`;

export const primeNameOf = (claimUid: string): string => `prime-${claimUid}`;
export const podNameOf = (claimUid: string): string => `populate-${claimUid}`;

/** The UID of the claim that a prime claim or populator pod is for; undefined for other names. */
export const claimUidIn = (name: string): string | undefined => /^(?:prime|populate)-(.+)$/.exec(name)?.[1];
