// The columns of the core group's kinds, except pods.

import { getOwn } from '../../api/own-property.ts';
import { canonicalQuantity, isQuantity } from '../../api/quantity.ts';
import type { Column } from '../kind.ts';
import { type Loose, mapOf, mapsOf, stringOf } from '../kinds/loose.ts';
import { ageOf } from './age.ts';
import { ageColumn, column, nameColumn, shortAccessModes, wide } from './column.ts';

export const namespaceColumns: readonly Column[] = [
  nameColumn,
  column('Status', (namespace) => namespace.status?.phase),
  ageColumn,
];

function nodeStatus(node: Loose): string {
  const ready = mapsOf(node.status?.conditions).find((each) => each.type === 'Ready');
  const states = [ready ? (ready.status === 'True' ? 'Ready' : 'NotReady') : 'Unknown'];
  if (node.spec?.unschedulable) states.push('SchedulingDisabled');
  return states.join(',');
}

function nodeRoles(node: Loose): string {
  const roles = new Set<string>();
  for (const [key, value] of Object.entries(node.metadata.labels ?? {})) {
    if (key.startsWith('node-role.kubernetes.io/')) roles.add(key.slice('node-role.kubernetes.io/'.length));
    else if (key === 'kubernetes.io/role') roles.add(value);
  }
  roles.delete('');
  return [...roles].sort().join(',') || '<none>';
}

const nodeAddress = (type: string) => (node: Loose) =>
  stringOf(mapsOf(node.status?.addresses).find((each) => each.type === type)?.address) || '<none>';

export const nodeColumns: readonly Column[] = [
  nameColumn,
  column('Status', nodeStatus),
  column('Roles', nodeRoles),
  ageColumn,
  column('Version', (node) => node.status?.nodeInfo?.kubeletVersion),
  wide('Internal-IP', nodeAddress('InternalIP')),
  wide('External-IP', nodeAddress('ExternalIP')),
  wide('OS-Image', (node) => node.status?.nodeInfo?.osImage || '<unknown>'),
  wide('Kernel-Version', (node) => {
    const { kernelVersion, architecture } = node.status?.nodeInfo ?? {};
    return `${kernelVersion || '<unknown>'}${architecture ? ` (${architecture})` : ''}`;
  }),
  wide('Container-Runtime', (node) => node.status?.nodeInfo?.containerRuntimeVersion || '<unknown>'),
];

const amountOf = (amount: unknown): string =>
  isQuantity(amount) ? canonicalQuantity(amount as string) : '0';
const storageOf = (resources: unknown): string => amountOf(mapOf(resources)?.storage);
const phaseOf = (object: Loose): string =>
  object.metadata.deletionTimestamp ? 'Terminating' : stringOf(object.status?.phase);
/** The annotation named the class before the field existed. */
const classOf = (object: Loose): string =>
  object.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ??
  stringOf(object.spec?.storageClassName);

export const persistentVolumeColumns: readonly Column[] = [
  nameColumn,
  column('Capacity', (volume) => storageOf(volume.spec?.capacity)),
  column('Access Modes', (volume) => shortAccessModes(volume.spec?.accessModes)),
  column('Reclaim Policy', (volume) => volume.spec?.persistentVolumeReclaimPolicy),
  column('Status', phaseOf),
  column('Claim', (volume) => {
    const claim = mapOf(volume.spec?.claimRef);
    return claim ? `${claim.namespace ?? ''}/${claim.name ?? ''}` : '';
  }),
  column('StorageClass', classOf),
  column('VolumeAttributesClass', (volume) => volume.spec?.volumeAttributesClassName ?? '<unset>'),
  column('Reason', (volume) => volume.status?.reason),
  ageColumn,
  wide('VolumeMode', (volume) => volume.spec?.volumeMode ?? '<unset>'),
];

export const persistentVolumeClaimColumns: readonly Column[] = [
  nameColumn,
  column('Status', phaseOf),
  column('Volume', (claim) => claim.spec?.volumeName),
  column('Capacity', (claim) => (claim.spec?.volumeName ? storageOf(claim.status?.capacity) : '')),
  column('Access Modes', (claim) =>
    claim.spec?.volumeName ? shortAccessModes(claim.status?.accessModes) : '',
  ),
  column('StorageClass', classOf),
  column('VolumeAttributesClass', (claim) => claim.spec?.volumeAttributesClassName ?? '<unset>'),
  ageColumn,
  wide('VolumeMode', (claim) => claim.spec?.volumeMode ?? '<unset>'),
];

const keysOf = (value: unknown): number => Object.keys(mapOf(value) ?? {}).length;

export const secretColumns: readonly Column[] = [
  nameColumn,
  column('Type', (secret) => secret.type),
  column('Data', (secret) => keysOf(secret.data)),
  ageColumn,
];

export const configMapColumns: readonly Column[] = [
  nameColumn,
  column('Data', (map) => keysOf(map.data) + keysOf(map.binaryData)),
  ageColumn,
];

const quotaAmounts =
  (isLimit: boolean) =>
  ({ status }: Loose): string =>
    Object.entries(mapOf(status?.hard) ?? {})
      .filter(([name]) => name.startsWith('limits.') === isLimit)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, hard]) => `${name}: ${amountOf(getOwn(mapOf(status?.used), name))}/${amountOf(hard)}`)
      .join(', ');

export const resourceQuotaColumns: readonly Column[] = [
  nameColumn,
  column('Request', quotaAmounts(false)),
  column('Limit', quotaAmounts(true)),
  ageColumn,
];

export const serviceAccountColumns: readonly Column[] = [nameColumn, ageColumn];

const eventFirstSeen = (event: Loose, nowMs: number): string =>
  ageOf(event.firstTimestamp ?? event.eventTime, nowMs);

export const eventColumns: readonly Column[] = [
  column('Last Seen', (event, nowMs) => {
    if (event.series) return ageOf(event.series.lastObservedTime, nowMs);
    return event.lastTimestamp ? ageOf(event.lastTimestamp, nowMs) : eventFirstSeen(event, nowMs);
  }),
  column('Type', (event) => event.type),
  column('Reason', (event) => event.reason),
  column('Object', (event) => {
    const { kind, name } = mapOf(event.involvedObject) ?? {};
    return stringOf(kind).toLowerCase() + (name ? `/${name}` : '');
  }),
  wide('Subobject', (event) => event.involvedObject?.fieldPath),
  wide('Source', (event) => {
    const component = stringOf(event.source?.component) || stringOf(event.reportingComponent);
    const host = stringOf(event.source?.host) || stringOf(event.reportingInstance);
    return host ? `${component}, ${host}` : component;
  }),
  column('Message', (event) => stringOf(event.message).trim()),
  wide('First Seen', eventFirstSeen),
  wide('Count', (event) => event.series?.count ?? event.count ?? 1),
  column('Name', (event) => event.metadata.name, { priority: 1, format: 'name' }),
];
