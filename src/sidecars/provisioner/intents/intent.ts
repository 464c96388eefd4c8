// An intent: the one durable record of an attempt to create a volume. It means that a volume may exist without a
// PersistentVolume, and holds what is needed to repeat the call when the claim and its source are gone: the fields of the
// claim that planning reads, and the source's ID. Never parameters or Secrets, which come from the class. Pure.
//
// It is stored in one of two places, in the same format: in the ledger during the first call to the driver, and on the
// claim (an annotation and a finalizer) once a call had an uncertain outcome, or where the ledger cannot be written.

import type { PersistentVolumeClaim, StorageClass } from '../../../api/kinds.ts';
import {
  ANN_PROVISIONING_REQUEST,
  ANN_SELECTED_NODE,
  ANN_SELECTED_NODE_ALPHA,
  ANN_STORAGE_CLASS_BETA,
  FINALIZER_PROVISIONING,
} from '../../../api/well-known.ts';
import { hasFinalizer } from '../../../runtime/kube/finalizers.ts';
import type { ContentSource, VolumePlan } from '../planning/plan-volume.ts';

export interface Intent {
  namespace: string;
  name: string;
  uid: string;
  /**
   * Digest of the request: two requests with the same digest ask for the same volume. Empty once different requests were
   * made: a refusal of one of them says nothing about the others.
   */
  digest: string;
  /** A process that is started later may plan another topology. */
  topologyDigest?: string;
  /** Number of calls started, the first included. In the ledger always 1. */
  asked: number;
  /** For users. */
  since: string;
  annotations?: Record<string, string>;
  spec: PersistentVolumeClaim['spec'];
  /** Of the request. Absent without a source. */
  source?: ContentSource;
}

type RequestDigest = Partial<Pick<VolumePlan, 'digest' | 'topologyDigest'>>;

/** An intent of an earlier version says nothing of its topology: it counts as another request where there is one. */
export function isSameRequest(one: RequestDigest, other: RequestDigest): boolean {
  return one.digest === other.digest && one.topologyDigest === other.topologyDigest;
}

/** What the calls of an intent asked for, compared with this plan. */
export function earlierOf(intent: Intent, plan: RequestDigest): 'the same' | 'something else' {
  return isSameRequest(intent, plan) ? 'the same' : 'something else';
}

/** The intent once this plan is asked for, too. */
export function intentWith(intent: Intent, plan: RequestDigest): Intent {
  return isSameRequest(intent, plan) ? intent : { ...intent, digest: '' };
}

/** A call for the claim, and with it one with its source, may be made or repeated: it has no volume yet, or an intent. */
export function mayBeAsked(claim: PersistentVolumeClaim): boolean {
  return !claim.spec.volumeName || hasFinalizer(claim, FINALIZER_PROVISIONING);
}

/** The loop's key of a claim, by UID: a new claim of the same name is another attempt. */
export function attemptKey({ namespace = '', name, uid }: { namespace?: string; name: string; uid: string }) {
  return `${namespace}/${name}/${uid}`;
}

const READ_ANNOTATIONS = new Set([ANN_SELECTED_NODE, ANN_SELECTED_NODE_ALPHA, ANN_STORAGE_CLASS_BETA]);

export function intentFor(
  claim: PersistentVolumeClaim,
  facts: {
    storageClass: StorageClass;
    digest: string;
    topologyDigest?: string | undefined;
    nowMs: number;
    source?: ContentSource | undefined;
  },
): Intent {
  const { namespace = '', name, uid } = claim.metadata;
  const annotations = readAnnotations(claim, facts.storageClass);
  return {
    namespace,
    name,
    uid,
    digest: facts.digest,
    ...(facts.topologyDigest && { topologyDigest: facts.topologyDigest }),
    asked: 1,
    since: new Date(facts.nowMs).toISOString(),
    ...(annotations && { annotations }),
    spec: claim.spec,
    ...(facts.source && { source: facts.source }),
  };
}

/** Annotations that determine where the volume goes, and those that the class's templates for Secrets may name. */
function readAnnotations(
  { metadata }: PersistentVolumeClaim,
  { parameters = {} }: StorageClass,
): Record<string, string> | undefined {
  const templates = Object.values(parameters).filter((value) => value.includes('${'));
  const read = Object.entries(metadata.annotations ?? {}).filter(
    ([key]) => READ_ANNOTATIONS.has(key) || templates.some((template) => template.includes(key)),
  );
  return read.length === 0 ? undefined : Object.fromEntries(read);
}

/** The intent on the claim. An unreadable one counts as an intent with several calls for another request. */
export function intentOn(claim: PersistentVolumeClaim): Intent | undefined {
  if (!hasFinalizer(claim, FINALIZER_PROVISIONING)) return undefined;
  const { namespace = '', name, uid, creationTimestamp, annotations } = claim.metadata;
  const intent = written(annotations);
  const {
    digest = '',
    topologyDigest,
    asked = 2,
    since = creationTimestamp,
    spec = claim.spec,
    source,
  } = intent;
  // Of the spec only what a user may change on a bound claim: the rest is on the claim, and immutable.
  const { volumeAttributesClassName: _now, ...unchanged } = claim.spec;
  const { resources, volumeAttributesClassName } = spec;
  const first = {
    ...unchanged,
    ...(resources && { resources }),
    ...(volumeAttributesClassName && { volumeAttributesClassName }),
  };
  return {
    namespace,
    name,
    uid,
    digest,
    ...(topologyDigest && { topologyDigest }),
    asked,
    since,
    spec: first,
    ...(source && isSource(source) && { source }),
  };
}

function written(annotations: Record<string, string> = {}): Partial<Intent> {
  try {
    return JSON.parse(annotations[ANN_PROVISIONING_REQUEST] ?? '{}') ?? {};
  } catch {
    return {};
  }
}

/** Users can write annotations. */
function isSource({ kind, id }: Partial<ContentSource>): boolean {
  return (kind === 'snapshot' || kind === 'volume') && typeof id === 'string';
}

/** The claim reconstructed from the intent: as it was at the first call, and being deleted. */
export function claimOf({ since, annotations = {}, spec, ...intent }: Intent): PersistentVolumeClaim {
  const { namespace, name, uid } = intent;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      namespace,
      name,
      uid,
      annotations,
      resourceVersion: '',
      creationTimestamp: since,
      deletionTimestamp: since,
    },
    spec,
  };
}
