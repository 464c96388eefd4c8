// The objects of a new cluster, and the upgrade of an older data directory: missing objects are created, missing rules
// and subjects added, and nothing that a user added is removed. Objects with
// `rbac.authorization.kubernetes.io/autoupdate: "false"` are not changed. Pure: the caller writes.

import type { ClusterRole, ClusterRoleBinding, Namespace, ServiceAccount } from '../../api/kinds.ts';
import {
  clusterRoleBindings,
  clusterRoles,
  namespaces,
  priorityClasses,
  roleBindings,
  roles,
  serviceAccounts,
} from '../../api/kinds.ts';
import type { Draft, KubeObject, Resource } from '../../api/object.ts';
import { getOwn } from '../../api/own-property.ts';
import { uncoveredRules } from '../authorization/policy-rules.ts';
import { effectiveRules } from '../authorization/role-index.ts';
import type { Reader } from '../pipeline.ts';
import { controllerObjects } from './controller-roles.ts';
import { defaultClusterRoleBindings, defaultClusterRoles } from './default-roles.ts';
import { systemPriorityClasses } from './priority-classes.ts';

const BOOTSTRAP_NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

/** A namespace's default service account, created with the namespace in the same commit. */
export function defaultServiceAccount(namespace: string): Draft<ServiceAccount> {
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } };
}

function namespaceObject(name: string): Draft<Namespace> {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
  };
}

/** In order of creation. */
export function bootstrapObjects(): Draft<KubeObject>[] {
  const all: Draft<KubeObject>[] = [
    ...BOOTSTRAP_NAMESPACES.map(namespaceObject),
    ...BOOTSTRAP_NAMESPACES.map(defaultServiceAccount),
    ...defaultClusterRoles(),
    ...defaultClusterRoleBindings(),
    ...controllerObjects(),
    ...systemPriorityClasses(),
  ];
  const everyRole = all.filter((object) => object.kind === 'ClusterRole') as ClusterRole[];
  for (const role of everyRole) {
    if (role.aggregationRule) role.rules = [...effectiveRules(role, everyRole)];
  }
  return all;
}

const RESOURCES: Readonly<Record<string, Resource>> = {
  Namespace: namespaces,
  ServiceAccount: serviceAccounts,
  ClusterRole: clusterRoles,
  ClusterRoleBinding: clusterRoleBindings,
  Role: roles,
  RoleBinding: roleBindings,
  PriorityClass: priorityClasses,
};

export interface BootstrapStep {
  operation: 'create' | 'update';
  resource: Resource;
  object: Draft<KubeObject>;
}

/** The writes that bring the store up to `wanted`. Empty on the second run. */
export function bootstrapSteps(
  reader: Reader,
  wanted: readonly Draft<KubeObject>[] = bootstrapObjects(),
): BootstrapStep[] {
  const steps: BootstrapStep[] = [];
  for (const object of wanted) {
    const resource = getOwn(RESOURCES, object.kind ?? '');
    if (!resource) throw new Error(`no rule for bringing a ${object.kind} up to date`);
    const { name = '', namespace } = object.metadata;
    const present = reader.get(resource, namespace === undefined ? { name } : { name, namespace });
    if (!present) {
      steps.push({ operation: 'create', resource, object });
      continue;
    }
    const updated = broughtUpToDate(present, object);
    if (updated) steps.push({ operation: 'update', resource, object: updated });
  }
  // A namespace whose default service account is missing (an older directory, a deletion) gets it again.
  const made = new Set(
    wanted.map((object) => `${object.kind} ${object.metadata.namespace}/${object.metadata.name}`),
  );
  for (const { metadata } of reader.list(namespaces)) {
    const { name, deletionTimestamp } = metadata;
    if (deletionTimestamp || made.has(`ServiceAccount ${name}/default`)) continue;
    if (reader.get(serviceAccounts, { namespace: name, name: 'default' })) continue;
    steps.push({ operation: 'create', resource: serviceAccounts, object: defaultServiceAccount(name) });
  }
  return steps;
}

/** The stored object with what it lacks; undefined when it lacks nothing or opts out. */
function broughtUpToDate(present: KubeObject, wanted: Draft<KubeObject>): Draft<KubeObject> | undefined {
  const { labels = {}, annotations = {} } = present.metadata;
  if (annotations['rbac.authorization.kubernetes.io/autoupdate'] !== 'true') return undefined;
  const metadata = {
    ...present.metadata,
    labels: { ...wanted.metadata.labels, ...labels },
    annotations: { ...wanted.metadata.annotations, ...annotations },
  };
  const sameMetadata =
    Object.keys(metadata.labels).length === Object.keys(labels).length &&
    Object.keys(metadata.annotations).length === Object.keys(annotations).length;

  if ('roleRef' in wanted) {
    const has = (present as ClusterRoleBinding).subjects ?? [];
    const wants = (wanted as unknown as ClusterRoleBinding).subjects ?? [];
    const missing = wants.filter(
      (subject) =>
        !has.some(
          ({ kind, name, namespace }) =>
            kind === subject.kind && name === subject.name && namespace === subject.namespace,
        ),
    );
    if (missing.length === 0 && sameMetadata) return undefined;
    return { ...present, metadata, subjects: [...has, ...missing] } as Draft<KubeObject>;
  }
  const has = (present as ClusterRole).rules ?? [];
  const wants = (wanted as unknown as ClusterRole).rules ?? [];
  const missing = uncoveredRules(has, wants);
  if (missing.length === 0 && sameMetadata) return undefined;
  return { ...present, metadata, rules: [...has, ...missing] } as Draft<KubeObject>;
}
