// Workloads of apps/v1: stored, defaulted and validated. Of these, only StatefulSets have a controller in Berth; for the
// others kube-controller-manager can be run beside it.

import { getOwn } from '../../api/own-property.ts';
import { sameJson } from '../../api/same-json.ts';
import type { Kind, ScalePaths } from '../kind.ts';
import {
  controllerRevisionColumns,
  daemonSetColumns,
  deploymentColumns,
  replicaSetColumns,
  statefulSetColumns,
} from '../printing/other-columns.ts';
import { podWarnings } from '../validation/warnings.ts';
import {
  validateControllerRevision,
  validateControllerRevisionUpdate,
  validateStatefulSetUpdate,
  validateWorkload,
  validateWorkloadUpdate,
} from '../validation/workload.ts';
import { defineKind } from './define-kind.ts';
import { ensureMap, type Loose, type LooseMap, mapsOf, setDefault } from './loose.ts';
import { setPodSpecDefaults } from './pod-defaults.ts';

const apps = {
  group: 'apps',
  version: 'v1',
  module: 'apps/v1',
  namespaced: true,
  categories: ['all'],
  hasGeneration: true,
  warnings: (workload: Loose) => podWarnings('spec.template.spec', workload.spec?.template?.spec),
};

const scale: ScalePaths = {
  specReplicas: '.spec.replicas',
  statusReplicas: '.status.replicas',
  labelSelector: '.spec.selector',
};

function templateDefaults(spec: LooseMap): void {
  setPodSpecDefaults(ensureMap(ensureMap(spec, 'template'), 'spec'));
  setDefault(spec, 'revisionHistoryLimit', 10);
}

const daemonSetKind = defineKind({
  ...apps,
  kind: 'DaemonSet',
  plural: 'daemonsets',
  shortNames: ['ds'],
  subresources: ['status'],
  columns: daemonSetColumns,
  setDefaults(set) {
    const spec = ensureMap(set, 'spec');
    templateDefaults(spec);
    const strategy = ensureMap(spec, 'updateStrategy');
    setDefault(strategy, 'type', 'RollingUpdate');
    if (strategy.type === 'RollingUpdate') {
      const rolling = ensureMap(strategy, 'rollingUpdate');
      setDefault(rolling, 'maxUnavailable', 1);
      setDefault(rolling, 'maxSurge', 0);
    }
  },
  prepareForCreate: (set) => setTemplateGeneration(set, '1'),
  prepareForUpdate(next, current) {
    const generation = getOwn(current.metadata.annotations ?? {}, TEMPLATE_GENERATION);
    if (generation !== undefined) setTemplateGeneration(next, generation);
  },
  normalise(next, current) {
    if (current === undefined || sameJson(next.spec?.template, current.spec?.template)) return;
    const generation = getOwn(current.metadata.annotations ?? {}, TEMPLATE_GENERATION);
    setTemplateGeneration(next, String(Number(generation ?? 0) + 1));
  },
  validate: validateWorkload,
  validateUpdate: validateWorkloadUpdate,
});

/** Counts the changes of a DaemonSet's template. */
const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation';

function setTemplateGeneration({ metadata }: Loose, generation: string): void {
  metadata.annotations = { ...metadata.annotations, [TEMPLATE_GENERATION]: generation };
}

const deploymentKind = defineKind({
  ...apps,
  kind: 'Deployment',
  plural: 'deployments',
  shortNames: ['deploy'],
  subresources: ['scale', 'status'],
  scale,
  columns: deploymentColumns,
  setDefaults(deployment) {
    const spec = ensureMap(deployment, 'spec');
    templateDefaults(spec);
    setDefault(spec, 'replicas', 1);
    setDefault(spec, 'progressDeadlineSeconds', 600);
    const strategy = ensureMap(spec, 'strategy');
    setDefault(strategy, 'type', 'RollingUpdate');
    if (strategy.type === 'RollingUpdate') {
      const rolling = ensureMap(strategy, 'rollingUpdate');
      setDefault(rolling, 'maxUnavailable', '25%');
      setDefault(rolling, 'maxSurge', '25%');
    }
  },
  validate: validateWorkload,
  validateUpdate: validateWorkloadUpdate,
});

const replicaSetKind = defineKind({
  ...apps,
  kind: 'ReplicaSet',
  plural: 'replicasets',
  shortNames: ['rs'],
  subresources: ['scale', 'status'],
  scale,
  columns: replicaSetColumns,
  setDefaults(set) {
    const spec = ensureMap(set, 'spec');
    setPodSpecDefaults(ensureMap(ensureMap(spec, 'template'), 'spec'));
    setDefault(spec, 'replicas', 1);
  },
  validate: validateWorkload,
  validateUpdate: validateWorkloadUpdate,
});

/** The templates that DaemonSets and StatefulSets had. */
const controllerRevisionKind = defineKind({
  ...apps,
  kind: 'ControllerRevision',
  plural: 'controllerrevisions',
  categories: [],
  hasGeneration: false,
  columns: controllerRevisionColumns,
  validate: validateControllerRevision,
  validateUpdate: validateControllerRevisionUpdate,
});

const statefulSetKind = defineKind({
  ...apps,
  kind: 'StatefulSet',
  plural: 'statefulsets',
  shortNames: ['sts'],
  subresources: ['scale', 'status'],
  scale,
  columns: statefulSetColumns,
  setDefaults(set) {
    const spec = ensureMap(set, 'spec');
    templateDefaults(spec);
    setDefault(spec, 'replicas', 1);
    setDefault(spec, 'podManagementPolicy', 'OrderedReady');
    const retention = ensureMap(spec, 'persistentVolumeClaimRetentionPolicy');
    setDefault(retention, 'whenDeleted', 'Retain');
    setDefault(retention, 'whenScaled', 'Retain');
    const strategy = ensureMap(spec, 'updateStrategy');
    setDefault(strategy, 'type', 'RollingUpdate');
    // No maxUnavailable: its feature gate is off by default in Kubernetes.
    if (strategy.type === 'RollingUpdate') setDefault(ensureMap(strategy, 'rollingUpdate'), 'partition', 0);
    for (const template of mapsOf(spec.volumeClaimTemplates)) {
      setDefault(template, 'apiVersion', 'v1');
      setDefault(template, 'kind', 'PersistentVolumeClaim');
      setDefault(ensureMap(template, 'spec'), 'volumeMode', 'Filesystem');
      setDefault(ensureMap(template, 'status'), 'phase', 'Pending');
    }
  },
  validate: validateWorkload,
  validateUpdate: validateStatefulSetUpdate,
});

export const appsKinds: readonly Kind[] = [
  controllerRevisionKind,
  daemonSetKind,
  deploymentKind,
  replicaSetKind,
  statefulSetKind,
];
