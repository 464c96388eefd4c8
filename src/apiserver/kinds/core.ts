// Kinds of the core group.

import { deleteOwn, getOwn, setOwn } from '../../api/own-property.ts';
import type { Kind } from '../kind.ts';
import { copyJson } from '../patch/json.ts';
import {
  configMapColumns,
  eventColumns,
  namespaceColumns,
  nodeColumns,
  persistentVolumeClaimColumns,
  persistentVolumeColumns,
  secretColumns,
  serviceAccountColumns,
} from '../printing/core-columns.ts';
import { podColumns } from '../printing/pod-columns.ts';
import { validateClaim, validateClaimUpdate } from '../validation/claim.ts';
import {
  validateConfigMap,
  validateConfigMapUpdate,
  validateSecret,
  validateSecretUpdate,
} from '../validation/config.ts';
import { validateEvent } from '../validation/event.ts';
import {
  validateNamespace,
  validateNamespaceUpdate,
  validateNode,
  validateNodeUpdate,
} from '../validation/node.ts';
import { validatePod, validatePodUpdate } from '../validation/pod.ts';
import { validateVolume, validateVolumeUpdate } from '../validation/volume.ts';
import { claimWarnings, podWarnings, volumeWarnings } from '../validation/warnings.ts';
import { defineKind, restore } from './define-kind.ts';
import { ensureMap, mapOf, setDefault, stringsOf } from './loose.ts';
import { setPodRequestDefaults, setPodSpecDefaults } from './pod-defaults.ts';
import { keepOnlyEphemeralContainers, keepOnlyResources } from './pod-parts.ts';
import { qosClassOf } from './qos.ts';
import { resourceQuotaKind } from './resource-quota.ts';

const core = { group: '', version: 'v1', module: 'core/v1' };

const namespaceKind = defineKind({
  ...core,
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
  shortNames: ['ns'],
  subresources: ['status', 'finalize'],
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  columns: namespaceColumns,
  setDefaults(namespace) {
    setDefault(ensureMap(namespace, 'status'), 'phase', 'Active');
    if (!namespace.metadata.name) return;
    namespace.metadata.labels ??= {};
    namespace.metadata.labels['kubernetes.io/metadata.name'] ??= namespace.metadata.name;
  },
  prepareForCreate(namespace) {
    namespace.status = { phase: 'Active' };
  },
  prepareForUpdate(next, current, subresource) {
    if (subresource === 'finalize') restore(next, current, 'status');
  },
  normalise(namespace, current, subresource) {
    // Only `finalize` changes the finalizers of the spec.
    if (current !== undefined && subresource !== 'finalize') restore(namespace, current, 'spec');
    if (current !== undefined) return;
    const finalizers = stringsOf(mapOf(namespace.spec)?.finalizers);
    namespace.spec = {
      finalizers: finalizers.includes('kubernetes') ? finalizers : [...finalizers, 'kubernetes'],
    };
  },
  validate: validateNamespace,
  validateUpdate: validateNamespaceUpdate,
  selectable: { 'status.phase': (namespace) => namespace.status?.phase },
});

const nodeKind = defineKind({
  ...core,
  kind: 'Node',
  plural: 'nodes',
  namespaced: false,
  shortNames: ['no'],
  subresources: ['proxy', 'status'],
  columns: nodeColumns,
  setDefaults(node) {
    const spec = ensureMap(node, 'spec');
    // Where the two differ, the older field counts.
    const [first] = stringsOf(spec.podCIDRs);
    if (spec.podCIDR && spec.podCIDR !== first) spec.podCIDRs = [spec.podCIDR];
    else if (first && !spec.podCIDR) spec.podCIDR = first;
    const status = mapOf(node.status);
    if (status?.capacity !== undefined) setDefault(status, 'allocatable', copyJson(status.capacity));
  },
  keepsStatusOnCreate: true,
  validate: validateNode,
  validateUpdate: validateNodeUpdate,
  selectable: { 'spec.unschedulable': (node) => node.spec?.unschedulable === true },
});
const podKind = defineKind({
  ...core,
  kind: 'Pod',
  plural: 'pods',
  namespaced: true,
  shortNames: ['po'],
  categories: ['all'],
  subresources: [
    'attach',
    'binding',
    'ephemeralcontainers',
    'eviction',
    'exec',
    'log',
    'portforward',
    'resize',
    'status',
  ],
  columns: podColumns,
  hasGeneration: true,
  setDefaults(pod) {
    const spec = ensureMap(pod, 'spec');
    setPodSpecDefaults(spec);
    // For pods themselves, not for templates.
    setDefault(spec, 'enableServiceLinks', true);
    setPodRequestDefaults(spec);
  },
  prepareForCreate(pod) {
    pod.status = { phase: 'Pending', qosClass: qosClassOf(mapOf(pod.spec) ?? {}) };
  },
  stampTimes(next, current, now) {
    if (current !== undefined || !next.spec?.schedulingGates?.length) return;
    ensureMap(next, 'status').conditions = [
      {
        type: 'PodScheduled',
        status: 'False',
        lastProbeTime: null,
        lastTransitionTime: now,
        reason: 'SchedulingGated',
        message: 'Scheduling is blocked due to non-empty scheduling gates',
      },
    ];
  },
  prepareForUpdate(next, current, subresource) {
    if (subresource === 'ephemeralcontainers') keepOnlyEphemeralContainers(next, current);
    if (subresource === 'resize') keepOnlyResources(next, current);
    if (subresource !== 'status') return;
    restoreMetadata(next, current, 'ownerReferences');
    if (current.status?.qosClass) ensureMap(next, 'status').qosClass = current.status.qosClass;
  },
  warnings: ({ spec }) => podWarnings('spec', spec),
  validate: validatePod,
  validateUpdate: validatePodUpdate,
  selectable: {
    'spec.nodeName': (pod) => pod.spec?.nodeName,
    'spec.restartPolicy': (pod) => pod.spec?.restartPolicy,
    'spec.schedulerName': (pod) => pod.spec?.schedulerName,
    'spec.serviceAccountName': (pod) => pod.spec?.serviceAccountName,
    'spec.hostNetwork': (pod) => pod.spec?.hostNetwork === true,
    'status.phase': (pod) => pod.status?.phase,
    'status.podIP': (pod) => pod.status?.podIP,
    'status.nominatedNodeName': (pod) => pod.status?.nominatedNodeName,
  },
});

function restoreMetadata(next: { metadata: object }, current: { metadata: object }, field: string): void {
  const [target, source] = [
    next.metadata as Record<string, unknown>,
    current.metadata as Record<string, unknown>,
  ];
  const value = getOwn(source, field);
  if (value === undefined) deleteOwn(target, field);
  else setOwn(target, field, copyJson(value));
}

const persistentVolumeKind = defineKind({
  ...core,
  kind: 'PersistentVolume',
  plural: 'persistentvolumes',
  namespaced: false,
  shortNames: ['pv'],
  subresources: ['status'],
  columns: persistentVolumeColumns,
  setDefaults(volume) {
    const spec = ensureMap(volume, 'spec');
    setDefault(spec, 'persistentVolumeReclaimPolicy', 'Retain');
    setDefault(spec, 'volumeMode', 'Filesystem');
    setDefault(ensureMap(volume, 'status'), 'phase', 'Pending');
  },
  prepareForCreate(volume) {
    volume.status = { phase: 'Pending' };
  },
  stampTimes(next, current, now) {
    const status = ensureMap(next, 'status');
    const last = current?.status?.lastPhaseTransitionTime;
    if (status.phase !== current?.status?.phase) {
      // A writer may set the transition time itself; a value equal to the stored one is only a copy.
      if (!status.lastPhaseTransitionTime || status.lastPhaseTransitionTime === last) {
        status.lastPhaseTransitionTime = now;
      }
    } else if (last) setDefault(status, 'lastPhaseTransitionTime', last);
  },
  warnings: volumeWarnings,
  validate: validateVolume,
  validateUpdate: validateVolumeUpdate,
  selectable: {},
});

const persistentVolumeClaimKind = defineKind({
  ...core,
  kind: 'PersistentVolumeClaim',
  plural: 'persistentvolumeclaims',
  namespaced: true,
  shortNames: ['pvc'],
  subresources: ['status'],
  columns: persistentVolumeClaimColumns,
  setDefaults(claim) {
    setDefault(ensureMap(claim, 'spec'), 'volumeMode', 'Filesystem');
    setDefault(ensureMap(claim, 'status'), 'phase', 'Pending');
  },
  normalise(claim) {
    const { dataSource, dataSourceRef } = mapOf(claim.spec) ?? {};
    if (dataSource === undefined && dataSourceRef === undefined) return;
    claim.spec = { ...claim.spec };
    normaliseDataSources(claim.spec);
  },
  prepareForCreate(claim) {
    claim.status = { phase: 'Pending' };
  },
  warnings: claimWarnings,
  validate: validateClaim,
  validateUpdate: validateClaimUpdate,
});

/**
 * `dataSource` names a claim or a snapshot, or is dropped; then each of `dataSource` and `dataSourceRef` follows from the
 * other. A reference with a namespace stands alone, and is kept whatever the provisioner's gate: without it the claim
 * would get an empty volume.
 */
function normaliseDataSources(spec: Record<string, unknown>): void {
  const source = mapOf(spec.dataSource);
  if (source && !isClaimOrSnapshot(source)) delete spec.dataSource;
  if (mapOf(spec.dataSourceRef)?.namespace) return;
  const [from, to] = [mapOf(spec.dataSource), mapOf(spec.dataSourceRef)];
  if (from && !to) spec.dataSourceRef = { ...from };
  else if (to && !from) spec.dataSource = { apiGroup: to.apiGroup ?? null, kind: to.kind, name: to.name };
}

function isClaimOrSnapshot({ apiGroup, kind }: Record<string, unknown>): boolean {
  const group = apiGroup ?? '';
  return (
    (group === '' && kind === 'PersistentVolumeClaim') ||
    (group === 'snapshot.storage.k8s.io' && kind === 'VolumeSnapshot')
  );
}

const secretKind = defineKind({
  ...core,
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
  columns: secretColumns,
  setDefaults(secret) {
    setDefault(secret, 'type', 'Opaque');
    const plain = mapOf(secret.stringData);
    if (plain) {
      const data = ensureMap(secret, 'data');
      for (const [key, value] of Object.entries(plain)) {
        setOwn(data, key, Buffer.from(String(value), 'utf8').toString('base64'));
      }
    }
    delete secret.stringData;
  },
  validate: validateSecret,
  validateUpdate: validateSecretUpdate,
  selectable: { type: (secret) => secret.type },
});

const configMapKind = defineKind({
  ...core,
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
  shortNames: ['cm'],
  columns: configMapColumns,
  validate: validateConfigMap,
  validateUpdate: validateConfigMapUpdate,
});

const serviceAccountKind = defineKind({
  ...core,
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
  shortNames: ['sa'],
  subresources: ['token'],
  columns: serviceAccountColumns,
});

const eventKind = defineKind({
  ...core,
  kind: 'Event',
  plural: 'events',
  namespaced: true,
  shortNames: ['ev'],
  columns: eventColumns,
  validate: validateEvent,
  selectable: {
    'involvedObject.kind': (event) => event.involvedObject?.kind,
    'involvedObject.namespace': (event) => event.involvedObject?.namespace,
    'involvedObject.name': (event) => event.involvedObject?.name,
    'involvedObject.uid': (event) => event.involvedObject?.uid,
    'involvedObject.apiVersion': (event) => event.involvedObject?.apiVersion,
    'involvedObject.resourceVersion': (event) => event.involvedObject?.resourceVersion,
    'involvedObject.fieldPath': (event) => event.involvedObject?.fieldPath,
    reason: (event) => event.reason,
    reportingComponent: (event) => event.reportingComponent,
    source: (event) => event.source?.component ?? event.reportingComponent,
    type: (event) => event.type,
  },
});

export const coreKinds: readonly Kind[] = [
  configMapKind,
  eventKind,
  namespaceKind,
  nodeKind,
  persistentVolumeClaimKind,
  persistentVolumeKind,
  podKind,
  resourceQuotaKind,
  secretKind,
  serviceAccountKind,
];
