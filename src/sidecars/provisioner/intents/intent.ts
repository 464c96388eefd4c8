// An intent: the one durable record of an attempt to make a volume. It says that a volume may exist which no
// PersistentVolume records, and holds what is needed to ask the driver again although the claim is gone: what planning
// reads of it. Never parameters or Secrets, which are the class's. Pure.
//
// It has one of two homes, in the same form: the ledger while the driver is asked for the first time, and the claim (an
// annotation and a finalizer) once a call ended without a certain answer, or where the ledger cannot be written.

import type { PersistentVolumeClaim, StorageClass } from '../../../api/kinds.ts';
import {
  ANN_PROVISIONING_REQUEST,
  ANN_SELECTED_NODE,
  ANN_SELECTED_NODE_ALPHA,
  ANN_STORAGE_CLASS_BETA,
  FINALIZER_PROVISIONING,
} from '../../../api/well-known.ts';
import { hasFinalizer } from '../../../runtime/kube/finalizers.ts';

export interface Intent {
  namespace: string;
  name: string;
  uid: string;
  /** Of the request: two that are alike ask for the same. */
  digest: string;
  /** Calls begun, the first included. In the ledger always 1. */
  asked: number;
  /** For people. */
  since: string;
  annotations?: Record<string, string>;
  spec: PersistentVolumeClaim['spec'];
}

/** The loop's key of a claim: one of the same name that is made anew is another attempt. */
export function attemptKey({ namespace = '', name, uid }: { namespace?: string; name: string; uid: string }) {
  return `${namespace}/${name}/${uid}`;
}

const READ_ANNOTATIONS = new Set([ANN_SELECTED_NODE, ANN_SELECTED_NODE_ALPHA, ANN_STORAGE_CLASS_BETA]);

export function intentFor(
  claim: PersistentVolumeClaim,
  facts: { storageClass: StorageClass; digest: string; nowMs: number },
): Intent {
  const { namespace = '', name, uid } = claim.metadata;
  const annotations = readAnnotations(claim, facts.storageClass);
  return {
    namespace,
    name,
    uid,
    digest: facts.digest,
    asked: 1,
    since: new Date(facts.nowMs).toISOString(),
    ...(annotations && { annotations }),
    spec: claim.spec,
  };
}

/** Those that say where the volume goes, and those that the class's templates for Secrets may name. */
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

/** The intent that the claim keeps. One that cannot be read counts, as one of several calls for something else. */
export function intentOn(claim: PersistentVolumeClaim): Intent | undefined {
  if (!hasFinalizer(claim, FINALIZER_PROVISIONING)) return undefined;
  const { namespace = '', name, uid, creationTimestamp, annotations } = claim.metadata;
  const { digest = '', asked = 2, since = creationTimestamp, spec = claim.spec } = written(annotations);
  // Of the specification only what a user may change on a bound claim: the rest is on the claim, and cannot change.
  const { volumeAttributesClassName: _now, ...unchanged } = claim.spec;
  const { resources, volumeAttributesClassName } = spec;
  const first = {
    ...unchanged,
    ...(resources && { resources }),
    ...(volumeAttributesClassName && { volumeAttributesClassName }),
  };
  return { namespace, name, uid, digest, asked, since, spec: first };
}

function written(annotations: Record<string, string> = {}): Partial<Intent> {
  try {
    return JSON.parse(annotations[ANN_PROVISIONING_REQUEST] ?? '{}') ?? {};
  } catch {
    return {};
  }
}

/** The claim as far as it is known: as it was when the driver was first asked, and as one that nobody wants any more. */
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
