// The columns of kinds outside the core group.

import { canonicalQuantity, isQuantity } from '../../api/quantity.ts';
import type { Column } from '../kind.ts';
import { type Loose, mapOf, mapsOf, stringOf, stringsOf } from '../kinds/loose.ts';
import { ageColumn, column, createdAtColumn, nameColumn, wide } from './column.ts';

const flag = (name: string, cell: (object: Loose) => boolean): Column =>
  column(name, cell, { type: 'boolean' });

export const storageClassColumns: readonly Column[] = [
  column(
    'Name',
    ({ metadata }) => {
      const marks = [
        'storageclass.kubernetes.io/is-default-class',
        'storageclass.beta.kubernetes.io/is-default-class',
      ];
      const isDefault = marks.some((mark) => metadata.annotations?.[mark] === 'true');
      return isDefault ? `${metadata.name} (default)` : metadata.name;
    },
    { format: 'name' },
  ),
  column('Provisioner', (one) => one.provisioner),
  column('ReclaimPolicy', (one) => one.reclaimPolicy ?? 'Delete'),
  column('VolumeBindingMode', (one) => one.volumeBindingMode ?? 'Immediate'),
  column('AllowVolumeExpansion', (one) => one.allowVolumeExpansion ?? false, { type: 'string' }),
  ageColumn,
];

export const csiDriverColumns: readonly Column[] = [
  nameColumn,
  flag('AttachRequired', (driver) => driver.spec?.attachRequired ?? true),
  flag('PodInfoOnMount', (driver) => driver.spec?.podInfoOnMount ?? false),
  flag('StorageCapacity', (driver) => driver.spec?.storageCapacity ?? false),
  column('TokenRequests', (driver) => {
    const requests = driver.spec?.tokenRequests;
    return requests
      ? mapsOf(requests)
          .map((each) => stringOf(each.audience))
          .join(',')
      : '<unset>';
  }),
  flag('RequiresRepublish', (driver) => driver.spec?.requiresRepublish ?? false),
  column('Modes', (driver) => stringsOf(driver.spec?.volumeLifecycleModes).join(',') || '<none>'),
  ageColumn,
];

export const csiNodeColumns: readonly Column[] = [
  nameColumn,
  column('Drivers', (node) => mapsOf(node.spec?.drivers).length, { type: 'integer' }),
  ageColumn,
];

export const volumeAttachmentColumns: readonly Column[] = [
  nameColumn,
  column('Attacher', (one) => one.spec?.attacher, { format: 'name' }),
  column('PV', (one) => one.spec?.source?.persistentVolumeName),
  column('Node', (one) => one.spec?.nodeName),
  flag('Attached', (one) => one.status?.attached ?? false),
  ageColumn,
];

export const csiStorageCapacityColumns: readonly Column[] = [
  nameColumn,
  column('StorageClassName', (one) => one.storageClassName),
  column('Capacity', ({ capacity }) => (isQuantity(capacity) ? canonicalQuantity(capacity) : '<unset>')),
];

export const volumeAttributesClassColumns: readonly Column[] = [
  nameColumn,
  column('DriverName', (one) => one.driverName),
  ageColumn,
];

export const leaseColumns: readonly Column[] = [
  nameColumn,
  column('Holder', (lease) => lease.spec?.holderIdentity),
  ageColumn,
];

export const roleColumns: readonly Column[] = [nameColumn, createdAtColumn];

const subjects = (kind: string) => (binding: Loose) =>
  mapsOf(binding.subjects)
    .filter((subject) => subject.kind === kind)
    .map((subject) =>
      kind === 'ServiceAccount' ? `${subject.namespace ?? ''}/${subject.name}` : `${subject.name}`,
    )
    .join(', ');

export const bindingColumns: readonly Column[] = [
  nameColumn,
  column('Role', (binding) => `${binding.roleRef?.kind}/${binding.roleRef?.name}`),
  ageColumn,
  wide('Users', subjects('User')),
  wide('Groups', subjects('Group')),
  wide('ServiceAccounts', subjects('ServiceAccount')),
];

export const podSecurityPolicyColumns: readonly Column[] = [
  nameColumn,
  column('Priv', (policy) => String(policy.spec?.privileged ?? false)),
  column('Caps', (policy) => stringsOf(policy.spec?.allowedCapabilities).join(',')),
  column('Selinux', (policy) => policy.spec?.seLinux?.rule),
  column('RunAsUser', (policy) => policy.spec?.runAsUser?.rule),
  column('FsGroup', (policy) => policy.spec?.fsGroup?.rule),
  column('Supgroup', (policy) => policy.spec?.supplementalGroups?.rule),
  column('ReadOnlyRootFs', (policy) => String(policy.spec?.readOnlyRootFilesystem ?? false)),
  column('Volumes', (policy) => stringsOf(policy.spec?.volumes).join(',')),
];

export const definitionColumns: readonly Column[] = [nameColumn, createdAtColumn];
export const reviewColumns: readonly Column[] = [nameColumn, createdAtColumn];

const containers = (object: Loose) => mapsOf(object.spec?.template?.spec?.containers);
const containerNames = wide('Containers', (object) =>
  containers(object)
    .map((each) => stringOf(each.name))
    .join(','),
);
const images = wide('Images', (object) =>
  containers(object)
    .map((each) => stringOf(each.image))
    .join(','),
);

/** A LabelSelector as text. */
export function selectorText(selector: unknown): string {
  const { matchLabels, matchExpressions } = mapOf(selector) ?? {};
  const equalities = Object.entries(mapOf(matchLabels) ?? {}).map(([key, value]) => `${key}=${value}`);
  const expressions = mapsOf(matchExpressions).map(({ key, operator, values }) => {
    if (operator === 'Exists') return `${key}`;
    if (operator === 'DoesNotExist') return `!${key}`;
    return `${key} ${stringOf(operator).toLowerCase()} (${stringsOf(values).sort().join(',')})`;
  });
  return [...equalities.sort(), ...expressions].join(',') || '<none>';
}
const selector = wide('Selector', (object) => selectorText(object.spec?.selector));
const count = (name: string, read: (status: Record<string, unknown>) => unknown): Column =>
  column(name, (object) => Number(read(mapOf(object.status) ?? {}) ?? 0), { type: 'integer' });

export const deploymentColumns: readonly Column[] = [
  nameColumn,
  column('Ready', (one) => `${one.status?.readyReplicas ?? 0}/${one.spec?.replicas ?? 0}`),
  count('Up-to-date', (status) => status.updatedReplicas),
  count('Available', (status) => status.availableReplicas),
  ageColumn,
  containerNames,
  images,
  selector,
];

export const statefulSetColumns: readonly Column[] = [
  nameColumn,
  column('Ready', (one) => `${one.status?.readyReplicas ?? 0}/${one.spec?.replicas ?? 0}`),
  ageColumn,
  containerNames,
  images,
];

export const daemonSetColumns: readonly Column[] = [
  nameColumn,
  count('Desired', (status) => status.desiredNumberScheduled),
  count('Current', (status) => status.currentNumberScheduled),
  count('Ready', (status) => status.numberReady),
  count('Up-to-date', (status) => status.updatedNumberScheduled),
  count('Available', (status) => status.numberAvailable),
  column('Node Selector', (one) => {
    const chosen = Object.entries(mapOf(one.spec?.template?.spec?.nodeSelector) ?? {});
    return (
      chosen
        .map(([key, value]) => `${key}=${value}`)
        .sort()
        .join(',') || '<none>'
    );
  }),
  ageColumn,
  containerNames,
  images,
  selector,
];

export const replicaSetColumns: readonly Column[] = [
  nameColumn,
  column('Desired', (set) => set.spec?.replicas ?? 0, { type: 'integer' }),
  count('Current', (status) => status.replicas),
  count('Ready', (status) => status.readyReplicas),
  ageColumn,
  containerNames,
  images,
  selector,
];

export const controllerRevisionColumns: readonly Column[] = [
  nameColumn,
  column('Controller', ({ metadata }) => {
    const owner = metadata.ownerReferences?.find((each) => each.controller);
    if (!owner) return '<none>';
    const [group] = owner.apiVersion.includes('/') ? owner.apiVersion.split('/') : [''];
    return `${owner.kind.toLowerCase()}${group ? `.${group}` : ''}/${owner.name}`;
  }),
  column('Revision', (one) => String(one.revision ?? 0)),
  ageColumn,
];
