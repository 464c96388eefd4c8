// PersistentVolumes: one source, capacity, access modes, node affinity, and the fields that may change after creation.

import { dns1123LabelProblems, dns1123SubdomainProblems } from '../../api/names.ts';
import { getOwn } from '../../api/own-property.ts';
import { sameJson } from '../../api/same-json.ts';
import type { FieldError, Subresource } from '../kind.ts';
import { type Loose, type LooseMap, mapOf, mapsOf } from '../kinds/loose.ts';
import { Checks, forbidden, invalid, notSupported, required } from './checks.ts';
import { checkAccessModes, VOLUME_MODES } from './claim.ts';
import { checkNodeSelector } from './node-selector.ts';

/** Sources in kube-apiserver's order: the first one is validated, others are one too many. */
const SOURCES_IN_ORDER = [
  'hostPath',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'glusterfs',
  'flocker',
  'nfs',
  'rbd',
  'quobyte',
  'cephfs',
  'iscsi',
  'cinder',
  'fc',
  'azureFile',
  'vsphereVolume',
  'photonPersistentDisk',
  'portworxVolume',
  'azureDisk',
  'scaleIO',
  'local',
  'storageos',
  'csi',
];

/** Fields of a PersistentVolumeSpec that are not a source. */
const NOT_SOURCES = new Set([
  'accessModes',
  'capacity',
  'claimRef',
  'mountOptions',
  'nodeAffinity',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'volumeAttributesClassName',
  'volumeMode',
]);

export function sourcesOf(spec: LooseMap): string[] {
  return Object.keys(spec)
    .filter((field) => !NOT_SOURCES.has(field) && mapOf(spec[field]) !== undefined)
    .sort((a, b) => SOURCES_IN_ORDER.indexOf(a) - SOURCES_IN_ORDER.indexOf(b));
}

export function validateVolume(volume: Loose): FieldError[] {
  const checks = new Checks();
  const spec = mapOf(volume.spec) ?? {};
  checkAccessModes(checks, 'spec.accessModes', spec.accessModes);
  checkCapacity(checks, spec);
  checkVolumeSource(checks, 'spec', spec);
  const hostPath = mapOf(spec.hostPath);
  if (hostPath?.path === '/' && spec.persistentVolumeReclaimPolicy === 'Recycle') {
    checks.add(
      forbidden('spec.persistentVolumeReclaimPolicy', "may not be 'recycle' for a hostPath mount of '/'"),
    );
  }
  checks.oneOf('spec.persistentVolumeReclaimPolicy', spec.persistentVolumeReclaimPolicy, [
    'Delete',
    'Recycle',
    'Retain',
  ]);
  if (spec.storageClassName)
    checks.text('spec.storageClassName', spec.storageClassName, dns1123SubdomainProblems);
  checks.oneOf('spec.volumeMode', spec.volumeMode, VOLUME_MODES);
  checkNodeAffinity(checks, spec);
  if (spec.volumeAttributesClassName !== undefined) {
    const isNamed = checks.required(
      'spec.volumeAttributesClassName',
      spec.volumeAttributesClassName,
      'an empty string is disallowed',
    );
    if (isNamed) {
      checks.text('spec.volumeAttributesClassName', spec.volumeAttributesClassName, dns1123SubdomainProblems);
    }
    if (spec.volumeAttributesClassName && !spec.csi) {
      checks.add(required('spec.csi', 'has to be specified when using volumeAttributesClassName'));
    }
  }
  return checks.errors;
}

function checkCapacity(checks: Checks, spec: LooseMap): void {
  const capacity = mapOf(spec.capacity) ?? {};
  const resources = Object.keys(capacity);
  if (resources.length === 0) checks.add(required('spec.capacity'));
  if (capacity.storage === undefined || resources.length > 1) {
    checks.add(
      notSupported('spec.capacity', resources.find((name) => name !== 'storage') ?? '', ['storage']),
    );
  }
  for (const [resource, amount] of Object.entries(capacity)) {
    checks.quantity(`spec.capacity[${resource}]`, amount, { positive: true });
  }
}

/** Also for the inline spec of a VolumeAttachment. */
function checkVolumeSource(checks: Checks, field: string, spec: LooseMap): void {
  const sources = sourcesOf(spec);
  if (sources.length === 0) checks.add(required(field, 'must specify a volume type'));
  for (const extra of sources.slice(1)) {
    checks.add(forbidden(`${field}.${extra}`, 'may not specify more than 1 volume type'));
  }
  const [first = ''] = sources;
  const source = mapOf(getOwn(spec, first)) ?? {};
  if (first === 'csi') checkCSIVolume(checks, `${field}.csi`, source);
  if (first === 'hostPath') checkHostPath(checks, `${field}.hostPath`, source);
  if (first === 'local') {
    const local = source;
    if (checks.required(`${field}.local.path`, local.path)) {
      checkBacksteps(checks, `${field}.local.path`, local.path);
    }
    if (!mapOf(spec.nodeAffinity))
      checks.add(required(`${field}.nodeAffinity`, 'Local volume requires node affinity'));
  }
  if (first === 'nfs') {
    const nfs = source;
    checks.required(`${field}.nfs.server`, nfs.server);
    checks.required(`${field}.nfs.path`, nfs.path);
    if (!String(nfs.path ?? '').startsWith('/')) {
      checks.add(invalid(`${field}.nfs.path`, nfs.path ?? '', 'must be an absolute path'));
    }
  }
}

const HOST_PATH_TYPES = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];

/** Also for volumes of pods. */
export function checkHostPath(checks: Checks, field: string, { path, type }: LooseMap): void {
  if (!checks.required(`${field}.path`, path)) return;
  checkBacksteps(checks, `${field}.path`, path);
  checks.oneOf(`${field}.type`, type, HOST_PATH_TYPES);
}

function checkBacksteps(checks: Checks, field: string, path: unknown): void {
  if (String(path).split('/').includes('..')) checks.add(invalid(field, path, "must not contain '..'"));
}

/** Driver names: at most 63 characters of letters, digits, dots and dashes. */
export function checkDriverName(checks: Checks, field: string, value: unknown): void {
  if (!checks.required(field, value)) return;
  const name = String(value);
  if (name.length > 63)
    checks.add({ reason: 'FieldValueTooLong', field, message: 'Too long: may not be more than 63 bytes' });
  checks.text(field, name, (text) => dns1123SubdomainProblems(text.toLowerCase()));
}

const SECRETS = [
  'controllerPublishSecretRef',
  'nodePublishSecretRef',
  'nodeStageSecretRef',
  'controllerExpandSecretRef',
  'nodeExpandSecretRef',
];

function checkCSIVolume(checks: Checks, field: string, csi: LooseMap): void {
  checkDriverName(checks, `${field}.driver`, csi.driver);
  checks.required(`${field}.volumeHandle`, csi.volumeHandle);
  for (const secret of SECRETS) {
    const reference = mapOf(csi[secret]);
    if (!reference) continue;
    for (const part of ['name', 'namespace']) {
      const at = `${field}.${secret}.${part}`;
      if (!checks.required(at, reference[part])) continue;
      checks.text(at, reference[part], part === 'name' ? dns1123SubdomainProblems : dns1123LabelProblems);
    }
  }
}

function checkNodeAffinity(checks: Checks, spec: LooseMap): void {
  const affinity = mapOf(spec.nodeAffinity);
  if (!affinity) return;
  const selector = mapOf(affinity.required);
  if (!selector) checks.add(required('spec.nodeAffinity.required', 'must specify required node constraints'));
  else checkNodeSelector(checks, 'spec.nodeAffinity.required', selector);
}

export function validateVolumeUpdate(next: Loose, current: Loose, subresource: Subresource): FieldError[] {
  const checks = new Checks();
  if (subresource === 'status' || next.spec === current.spec) return checks.errors;
  const [after, before] = [mapOf(next.spec) ?? {}, mapOf(current.spec) ?? {}];
  const isSecretNew = mapOf(before.csi)?.controllerExpandSecretRef === undefined;
  const sourceOf = (spec: LooseMap): unknown => {
    const fields = sourcesOf(spec).map((field) => {
      const { controllerExpandSecretRef, ...rest } = mapOf(getOwn(spec, field)) ?? {};
      // The secret for expansion may be set later, once.
      return [field, isSecretNew ? rest : { ...rest, controllerExpandSecretRef }];
    });
    return Object.fromEntries(fields);
  };
  if (!sameJson(sourceOf(after), sourceOf(before))) {
    checks.add(
      forbidden('spec.persistentvolumesource', 'spec.persistentvolumesource is immutable after creation'),
    );
  }
  checks.immutable('volumeMode', after.volumeMode, before.volumeMode);
  const affinity = mapOf(before.nodeAffinity);
  if (affinity && !sameJson(stableLabels(after.nodeAffinity), stableLabels(affinity))) {
    checks.add(
      invalid(
        'nodeAffinity',
        after.nodeAffinity ?? null,
        'field is immutable, except for updating from beta label to GA',
      ),
    );
  }
  if (before.volumeAttributesClassName && !after.volumeAttributesClassName) {
    checks.add(forbidden('spec.volumeAttributesClassName', 'update from non-nil value to nil is forbidden'));
  }
  return checks.errors;
}

const STABLE_LABELS: ReadonlyMap<unknown, string> = new Map([
  ['failure-domain.beta.kubernetes.io/zone', 'topology.kubernetes.io/zone'],
  ['failure-domain.beta.kubernetes.io/region', 'topology.kubernetes.io/region'],
  ['beta.kubernetes.io/os', 'kubernetes.io/os'],
  ['beta.kubernetes.io/arch', 'kubernetes.io/arch'],
  ['beta.kubernetes.io/instance-type', 'node.kubernetes.io/instance-type'],
]);

/** Beta labels may be replaced by their stable names, and nothing else may change. */
function stableLabels(affinity: unknown): unknown {
  const required = mapOf(mapOf(affinity)?.required);
  if (required === undefined) return affinity;
  const terms = mapsOf(required.nodeSelectorTerms).map((term) => ({
    ...term,
    matchExpressions: mapsOf(term.matchExpressions).map((each) => ({
      ...each,
      key: STABLE_LABELS.get(each.key) ?? each.key,
    })),
  }));
  return { ...mapOf(affinity), required: { ...required, nodeSelectorTerms: terms } };
}
