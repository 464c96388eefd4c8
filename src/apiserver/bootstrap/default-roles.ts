// The default roles of a Kubernetes cluster, for the kinds that are served here: for users, for discovery, for the
// scheduler and the controller manager.

import type { ClusterRole, ClusterRoleBinding } from '../../api/kinds.ts';
import type { Draft } from '../../api/object.ts';
import { KUBELET_CLIENT } from '../auth/users.ts';
import type { PolicyRule } from '../authorization/policy-rules.ts';
import {
  aggregateTo,
  COORDINATION,
  CORE,
  CSI,
  clusterRole,
  clusterRoleBinding,
  EVENTS,
  groups,
  paths,
  RBAC,
  READ,
  READ_UPDATE,
  rule,
  SNAPSHOT,
  STORAGE,
  users,
  WRITE,
} from './rules.ts';

const REVIEWS: PolicyRule[] = [
  rule('authentication.k8s.io', ['tokenreviews'], ['create']),
  rule('authorization.k8s.io', ['subjectaccessreviews'], ['create']),
];

const WORKLOADS = ['statefulsets', 'deployments', 'daemonsets', 'replicasets'];

const VIEW: PolicyRule[] = [
  rule(
    CORE,
    ['pods', 'pods/status', 'pods/log', 'serviceaccounts', 'configmaps', 'namespaces', 'namespaces/status'],
    READ,
  ),
  rule(CORE, ['persistentvolumeclaims', 'persistentvolumeclaims/status', 'services', 'endpoints'], READ),
  rule(CORE, ['resourcequotas', 'resourcequotas/status', 'services/status'], READ),
  rule('discovery.k8s.io', ['endpointslices'], READ),
  rule([CORE, 'events.k8s.io'], ['events'], READ),
  rule(
    'apps',
    [...WORKLOADS, ...WORKLOADS.map((each) => `${each}/status`), ...WORKLOADS.map((each) => `${each}/scale`)],
    READ,
  ),
  rule(SNAPSHOT, ['volumesnapshots', 'volumesnapshots/status'], READ),
];

const EDIT: PolicyRule[] = [
  rule(CORE, ['secrets'], READ),
  rule(CORE, ['serviceaccounts'], ['impersonate']),
  rule(
    CORE,
    ['pods', 'serviceaccounts', 'persistentvolumeclaims', 'configmaps', 'secrets', 'services'],
    WRITE,
  ),
  rule(CORE, ['pods/attach', 'pods/exec', 'pods/portforward'], ['get', ...WRITE]),
  rule(CORE, ['pods/eviction', 'serviceaccounts/token'], ['create']),
  rule([CORE, 'events.k8s.io'], ['events'], WRITE),
  rule('apps', [...WORKLOADS, ...WORKLOADS.map((each) => `${each}/scale`)], WRITE),
  rule(COORDINATION, ['leases'], [...READ, ...WRITE]),
  rule(SNAPSHOT, ['volumesnapshots'], WRITE),
];

const ADMIN: PolicyRule[] = [
  rule('authorization.k8s.io', ['localsubjectaccessreviews'], ['create']),
  rule(RBAC, ['roles', 'rolebindings'], [...READ, ...WRITE]),
];

const SCHEDULER: PolicyRule[] = [
  EVENTS,
  rule(COORDINATION, ['leases'], ['create']),
  rule(COORDINATION, ['leases'], [...READ_UPDATE], ['kube-scheduler']),
  rule(CORE, ['nodes', 'namespaces', 'persistentvolumes', 'persistentvolumeclaims', 'services'], READ),
  rule(CORE, ['pods'], [...READ, 'delete']),
  rule(CORE, ['pods/binding', 'bindings'], ['create']),
  rule(CORE, ['pods/status'], ['update', 'patch']),
  rule('apps', ['replicasets', 'statefulsets'], READ),
  rule(STORAGE, ['csinodes', 'csidrivers', 'csistoragecapacities', 'volumeattachments'], READ),
  ...REVIEWS,
];

const VOLUME_SCHEDULER: PolicyRule[] = [
  rule(CORE, ['persistentvolumes', 'persistentvolumeclaims'], READ_UPDATE),
  rule(STORAGE, ['storageclasses'], READ),
  // Topology of nodes that only have the older object.
  rule(CSI, ['csinodeinfos'], READ),
];

const CONTROLLER_MANAGER: PolicyRule[] = [
  EVENTS,
  rule(COORDINATION, ['leases'], ['create']),
  rule(COORDINATION, ['leases'], READ_UPDATE, ['kube-controller-manager']),
  rule(CORE, ['secrets', 'serviceaccounts'], ['create', 'get', 'update']),
  rule(CORE, ['secrets'], ['delete']),
  rule(CORE, ['namespaces', 'configmaps'], ['get']),
  rule(CORE, ['serviceaccounts/token'], ['create']),
  rule('*', ['*'], ['list', 'watch']),
  ...REVIEWS,
];

const HEALTH = ['/livez', '/readyz', '/healthz'];

export function defaultClusterRoles(): Draft<ClusterRole>[] {
  return [
    clusterRole('cluster-admin', [rule('*', ['*'], ['*']), { nonResourceURLs: ['*'], verbs: ['*'] }]),
    clusterRole('system:discovery', [
      paths(
        ...HEALTH,
        '/version',
        '/version/',
        '/openapi',
        '/openapi/*',
        '/api',
        '/api/*',
        '/apis',
        '/apis/*',
      ),
    ]),
    clusterRole('system:public-info-viewer', [paths(...HEALTH, '/version', '/version/')]),
    clusterRole('system:monitoring', [
      paths('/metrics', '/metrics/slis', ...HEALTH, ...HEALTH.map((each) => `${each}/*`)),
    ]),
    clusterRole('system:basic-user', [
      rule('authorization.k8s.io', ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'], ['create']),
      rule('authentication.k8s.io', ['selfsubjectreviews'], ['create']),
    ]),
    clusterRole('system:auth-delegator', REVIEWS),
    clusterRole('system:service-account-issuer-discovery', [
      paths(
        '/.well-known/openid-configuration',
        '/.well-known/openid-configuration/',
        '/openid/v1/jwks',
        '/openid/v1/jwks/',
      ),
    ]),
    clusterRole('admin', [], { aggregates: 'admin' }),
    clusterRole('edit', [], { aggregates: 'edit', labels: aggregateTo('admin') }),
    clusterRole('view', [], { aggregates: 'view', labels: aggregateTo('edit') }),
    clusterRole('system:aggregate-to-admin', ADMIN, { labels: aggregateTo('admin') }),
    clusterRole('system:aggregate-to-edit', EDIT, { labels: aggregateTo('edit') }),
    clusterRole('system:aggregate-to-view', VIEW, { labels: aggregateTo('view') }),
    clusterRole('system:kube-scheduler', SCHEDULER),
    clusterRole('system:volume-scheduler', VOLUME_SCHEDULER),
    clusterRole('system:kube-controller-manager', CONTROLLER_MANAGER),
    clusterRole('system:kubelet-api-admin', [
      rule(CORE, ['nodes'], [...READ, 'proxy']),
      rule(
        CORE,
        [
          'nodes/configz',
          'nodes/healthz',
          'nodes/log',
          'nodes/metrics',
          'nodes/pods',
          'nodes/proxy',
          'nodes/stats',
        ],
        ['*'],
      ),
    ]),
    clusterRole('system:persistent-volume-provisioner', [
      rule(CORE, ['persistentvolumes'], [...READ, 'create', 'delete']),
      rule(CORE, ['persistentvolumeclaims'], [...READ, 'update']),
      rule(STORAGE, ['storageclasses'], READ),
      rule(CORE, ['events'], ['watch']),
      EVENTS,
    ]),
    // What the dashboard shows: everything about volumes, never a Secret.
    clusterRole('berth:dashboard', [
      rule(
        CORE,
        ['pods', 'nodes', 'namespaces', 'persistentvolumes', 'persistentvolumeclaims', 'events'],
        READ,
      ),
      rule(
        STORAGE,
        [
          'storageclasses',
          'csidrivers',
          'csinodes',
          'volumeattachments',
          'csistoragecapacities',
          'volumeattributesclasses',
        ],
        READ,
      ),
      rule(CSI, ['csinodeinfos', 'csidrivers'], READ),
      rule(SNAPSHOT, ['volumesnapshots', 'volumesnapshotcontents', 'volumesnapshotclasses'], READ),
      rule(COORDINATION, ['leases'], READ),
      paths('/metrics'),
    ]),
  ];
}

export function defaultClusterRoleBindings(): Draft<ClusterRoleBinding>[] {
  const everyone = groups('system:authenticated');
  return [
    clusterRoleBinding('cluster-admin', 'cluster-admin', groups('system:masters')),
    clusterRoleBinding('system:monitoring', 'system:monitoring', groups('system:monitoring')),
    clusterRoleBinding('system:discovery', 'system:discovery', everyone),
    clusterRoleBinding('system:basic-user', 'system:basic-user', everyone),
    clusterRoleBinding(
      'system:public-info-viewer',
      'system:public-info-viewer',
      groups('system:authenticated', 'system:unauthenticated'),
    ),
    clusterRoleBinding(
      'system:service-account-issuer-discovery',
      'system:service-account-issuer-discovery',
      groups('system:serviceaccounts'),
    ),
    clusterRoleBinding('system:kube-scheduler', 'system:kube-scheduler', users('system:kube-scheduler')),
    clusterRoleBinding('system:volume-scheduler', 'system:volume-scheduler', users('system:kube-scheduler')),
    clusterRoleBinding(
      'system:kube-controller-manager',
      'system:kube-controller-manager',
      users('system:kube-controller-manager'),
    ),
    clusterRoleBinding('berth:kubelet-client', 'system:kubelet-api-admin', users(KUBELET_CLIENT.name)),
    clusterRoleBinding('berth:dashboard', 'berth:dashboard', users('berth:dashboard')),
  ];
}
