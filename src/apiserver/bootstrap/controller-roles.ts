// One role per controller, bound to its service account in kube-system: the rules of Kubernetes' controller of that
// name, with `patch` wherever it has `update`, since Berth's controllers patch.

import type { ClusterRole, ClusterRoleBinding, ServiceAccount } from '../../api/kinds.ts';
import type { Draft } from '../../api/object.ts';
import type { PolicyRule } from '../authorization/policy-rules.ts';
import {
  account,
  COORDINATION,
  CORE,
  CSI,
  clusterRole,
  clusterRoleBinding,
  EVENTS,
  RBAC,
  READ,
  READ_UPDATE,
  rule,
  SNAPSHOT,
  STORAGE,
} from './rules.ts';

const CONTROLLER_NAMESPACE = 'kube-system';

const STATUS = ['update', 'patch'];

const CONTROLLERS: Readonly<Record<string, PolicyRule[]>> = {
  'attachdetach-controller': [
    rule(CORE, ['persistentvolumes', 'persistentvolumeclaims', 'nodes', 'pods'], READ),
    rule(CORE, ['nodes/status'], STATUS),
    rule(STORAGE, ['volumeattachments'], [...READ_UPDATE, 'create', 'delete']),
    rule(STORAGE, ['csidrivers', 'csinodes'], READ),
    rule(CSI, ['csinodeinfos'], READ),
    EVENTS,
  ],
  'persistent-volume-binder': [
    rule(CORE, ['persistentvolumes'], [...READ_UPDATE, 'create', 'delete']),
    rule(CORE, ['persistentvolumeclaims'], READ_UPDATE),
    rule(CORE, ['persistentvolumes/status', 'persistentvolumeclaims/status'], STATUS),
    rule(CORE, ['pods', 'nodes'], READ),
    rule(STORAGE, ['storageclasses', 'volumeattributesclasses', 'csidrivers'], READ),
    rule(CORE, ['events'], ['watch']),
    EVENTS,
  ],
  'pvc-protection-controller': [
    rule(CORE, ['persistentvolumeclaims'], READ_UPDATE),
    rule(CORE, ['persistentvolumeclaims/status'], STATUS),
    rule(CORE, ['pods'], READ),
    EVENTS,
  ],
  'pv-protection-controller': [
    rule(CORE, ['persistentvolumes'], READ_UPDATE),
    rule(CORE, ['persistentvolumeclaims'], READ),
    EVENTS,
  ],
  'ephemeral-volume-controller': [
    rule(CORE, ['pods'], READ),
    rule(CORE, ['pods/finalizers'], ['update']),
    rule(CORE, ['persistentvolumeclaims'], [...READ, 'create']),
    EVENTS,
  ],
  'expand-controller': [
    rule(CORE, ['persistentvolumes'], READ_UPDATE),
    rule(CORE, ['persistentvolumeclaims'], READ),
    rule(CORE, ['persistentvolumeclaims/status'], STATUS),
    EVENTS,
  ],
  'generic-garbage-collector': [rule('*', ['*'], [...READ_UPDATE, 'delete']), EVENTS],
  'namespace-controller': [
    rule(CORE, ['namespaces'], [...READ, 'delete']),
    rule(CORE, ['namespaces/finalize', 'namespaces/status'], STATUS),
    rule('*', ['*'], [...READ, 'delete', 'deletecollection']),
  ],
  'node-controller': [
    rule(CORE, ['nodes'], [...READ_UPDATE, 'delete']),
    rule(CORE, ['nodes/status', 'pods/status'], STATUS),
    rule(CORE, ['pods'], [...READ, 'delete']),
    rule(COORDINATION, ['leases'], READ),
    EVENTS,
  ],
  'pod-garbage-collector': [
    rule(CORE, ['pods'], [...READ, 'delete']),
    rule(CORE, ['nodes'], READ),
    rule(CORE, ['pods/status'], ['patch']),
  ],
  'resourcequota-controller': [rule('*', ['*'], READ), rule(CORE, ['resourcequotas/status'], STATUS), EVENTS],
  'statefulset-controller': [
    rule('apps', ['statefulsets'], READ),
    rule('apps', ['statefulsets/status'], STATUS),
    rule('apps', ['statefulsets/finalizers'], ['update']),
    rule(CORE, ['pods'], [...READ_UPDATE, 'create', 'delete']),
    rule(CORE, ['persistentvolumeclaims'], [...READ_UPDATE, 'create', 'delete']),
    EVENTS,
  ],
  // Berth's own: Kubernetes has no such controller.
  'csidriver-mapping-controller': [
    rule(CSI, ['csidrivers'], READ),
    rule(STORAGE, ['csidrivers'], [...READ_UPDATE, 'create', 'delete']),
    EVENTS,
  ],
  'clusterrole-aggregation-controller': [rule(RBAC, ['clusterroles'], [...READ_UPDATE, 'escalate'])],
  'service-account-controller': [
    rule(CORE, ['serviceaccounts'], [...READ, 'create']),
    rule(CORE, ['namespaces'], READ),
    EVENTS,
  ],
  'volumeattributesclass-protection-controller': [
    rule(CORE, ['persistentvolumes', 'persistentvolumeclaims'], READ),
    rule(STORAGE, ['volumeattributesclasses'], READ_UPDATE),
    rule(SNAPSHOT, ['volumesnapshots'], READ),
    EVENTS,
  ],
};

export function controllerObjects(): (
  | Draft<ClusterRole>
  | Draft<ClusterRoleBinding>
  | Draft<ServiceAccount>
)[] {
  return Object.entries(CONTROLLERS).flatMap(([name, rules]) => {
    const title = `system:controller:${name}`;
    return [
      {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name, namespace: CONTROLLER_NAMESPACE },
      } satisfies Draft<ServiceAccount>,
      clusterRole(title, rules),
      clusterRoleBinding(title, title, account(CONTROLLER_NAMESPACE, name)),
    ];
  });
}
