// All admission plugins, in the order in which they run.

import type { ClusterAuthorizer } from '../authorization/authorizer.ts';
import type { AdmissionPlugin, Reader } from '../pipeline.ts';
import { clusterIP } from './cluster-ip.ts';
import { defaultStorageClass } from './default-storage-class.ts';
import { defaultTolerationSeconds } from './default-toleration-seconds.ts';
import { inlineVolume } from './inline-volume.ts';
import { namespaceLifecycle } from './namespace-lifecycle.ts';
import { DEFAULT_NODE_LABEL_PREFIXES } from './node-labels.ts';
import { nodeRestriction } from './node-restriction.ts';
import { persistentVolumeClaimResize } from './persistent-volume-claim-resize.ts';
import { podSecurityPolicy } from './pod-security-policy.ts';
import { priority } from './priority.ts';
import { rbacEscalation } from './rbac-escalation.ts';
import { resourceQuota } from './resource-quota.ts';
import { runtimeClass } from './runtime-class.ts';
import { serviceAccount } from './service-account.ts';
import { storageObjectInUseProtection } from './storage-object-in-use-protection.ts';

export interface AdmissionOptions {
  /** Prefixes of labels that nodes may set on their own Node, besides the kubelet's. */
  nodeLabelPrefixes?: readonly string[];
}

export function admissionPlugins(ports: {
  reader: Reader;
  authorizer: ClusterAuthorizer;
  options?: AdmissionOptions;
}): AdmissionPlugin[] {
  const { reader, authorizer, options = {} } = ports;
  const labelPrefixes = options.nodeLabelPrefixes ?? DEFAULT_NODE_LABEL_PREFIXES;
  return [
    namespaceLifecycle({ reader }),
    nodeRestriction({ reader, labelPrefixes }),
    serviceAccount({ reader }),
    priority({ reader }),
    runtimeClass({ reader }),
    defaultTolerationSeconds(),
    clusterIP({ reader }),
    podSecurityPolicy({ reader, authorizer }),
    inlineVolume({ reader }),
    storageObjectInUseProtection(),
    defaultStorageClass({ reader }),
    persistentVolumeClaimResize({ reader }),
    rbacEscalation({ authorizer }),
    // Last: a write that another plugin rejects is not counted.
    resourceQuota({ reader }),
  ];
}
