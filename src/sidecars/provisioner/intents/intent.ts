// An intent: a volume may exist for this claim that nothing records. Holds what is needed to ask the driver once more
// although the claim is gone: what planning reads of it. Never parameters or Secrets, which are the class's. Pure.

import type { PersistentVolumeClaim, StorageClass } from '../../../api/kinds.ts';
import {
  ANN_SELECTED_NODE,
  ANN_SELECTED_NODE_ALPHA,
  ANN_STORAGE_CLASS_BETA,
} from '../../../api/well-known.ts';

export interface Intent {
  namespace: string;
  name: string;
  uid: string;
  /** Of the request: two that are alike ask for the same. */
  digest: string;
  /** For people. */
  since: string;
  annotations?: Record<string, string>;
  spec: PersistentVolumeClaim['spec'];
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

/** The claim as far as it is known, and as one that nobody wants any more. */
export function claimOf({
  namespace,
  name,
  uid,
  since,
  annotations = {},
  spec,
}: Intent): PersistentVolumeClaim {
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
