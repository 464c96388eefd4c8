// What is accepted and yet warned of, by kind, in kube-apiserver's cases. Warnings follow validation: a rejected object has
// none of these.

import { getOwn } from '../../api/own-property.ts';
import { isQuantity, parseQuantity } from '../../api/quantity.ts';
import { sameJson } from '../../api/same-json.ts';
import { type Loose, mapOf, mapsOf } from '../kinds/loose.ts';

const BETA_CLASS = 'volume.beta.kubernetes.io/storage-class';
const BETA_OPTIONS = 'volume.beta.kubernetes.io/mount-options';
/** Volume plugins that no kubelet has any more. */
const REMOVED_PLUGINS: Readonly<Record<string, string>> = {
  cephfs: 'deprecated in v1.28, non-functional in v1.31+',
  photonPersistentDisk: 'deprecated in v1.11, non-functional in v1.16+',
  scaleIO: 'deprecated in v1.16, non-functional in v1.22+',
  storageOS: 'deprecated in v1.22, non-functional in v1.25+',
  glusterfs: 'deprecated in v1.25, non-functional in v1.26+',
  rbd: 'deprecated in v1.28, non-functional in v1.31+',
};

function annotationWarnings({ metadata }: Loose, messages: Readonly<Record<string, string>>): string[] {
  return Object.entries(messages)
    .filter(([key]) => getOwn(metadata.annotations, key) !== undefined)
    .map(([key, message]) => `metadata.annotations[${key}]: ${message}`);
}

export function volumeWarnings(volume: Loose): string[] {
  const spec = mapOf(volume.spec) ?? {};
  const recycles = spec.persistentVolumeReclaimPolicy === 'Recycle';
  return [
    ...annotationWarnings(volume, {
      [BETA_CLASS]: 'deprecated since v1.8; use "storageClassName" attribute instead',
      [BETA_OPTIONS]: 'deprecated since v1.31; use "mountOptions" attribute instead',
    }),
    ...(recycles
      ? ['spec.persistentVolumeReclaimPolicy: Recycle is deprecated; use dynamic provisioning instead']
      : []),
    ...Object.entries(REMOVED_PLUGINS)
      .filter(([plugin]) => mapOf(getOwn(spec, plugin)))
      .map(([plugin, message]) => `spec.${plugin}: ${message}`),
  ];
}

export function serviceWarnings(service: Loose): string[] {
  const spec = mapOf(service.spec) ?? {};
  const isHeadless = spec.type === 'ClusterIP' && spec.clusterIP === 'None';
  const isElsewhere = spec.type === 'ExternalName';
  const hasExternal = Array.isArray(spec.externalIPs) && spec.externalIPs.length > 0;
  const ignored: [boolean, string][] = [
    [isHeadless && Boolean(spec.loadBalancerIP), 'spec.loadBalancerIP is ignored for headless services'],
    [isHeadless && hasExternal, 'spec.externalIPs is ignored for headless services'],
    [isHeadless && spec.sessionAffinity !== 'None', 'spec.SessionAffinity is ignored for headless services'],
    [
      hasExternal && !isHeadless && !isElsewhere,
      'spec.externalIPs is deprecated and may no longer be implemented in some clusters',
    ],
    [hasExternal && isElsewhere, 'spec.externalIPs is ignored when spec.type is "ExternalName"'],
    [
      !isElsewhere && Boolean(spec.externalName),
      'spec.externalName is ignored when spec.type is not "ExternalName"',
    ],
  ];
  return ignored.filter(([holds]) => holds).map(([, text]) => text);
}

export function claimWarnings(claim: Loose): string[] {
  const resources = mapOf(mapOf(claim.spec)?.resources) ?? {};
  const fractional = ['requests', 'limits'].flatMap((part) => {
    const amount = mapOf(resources[part])?.storage;
    if (!isQuantity(amount) || parseQuantity(String(amount)).nano % 1_000_000_000n === 0n) return [];
    return [
      `spec.resources.${part}[storage]: fractional byte value "${amount}" is invalid, must be an integer`,
    ];
  });
  return [
    ...annotationWarnings(claim, {
      [BETA_CLASS]: 'deprecated since v1.8; use "storageClassName" attribute instead',
    }),
    ...fractional,
  ];
}

export function driverWarnings(driver: Loose, current: Loose | undefined): string[] {
  const { tokenRequests, serviceAccountTokenInSecrets } = mapOf(driver.spec) ?? {};
  if (mapsOf(tokenRequests).length === 0 || typeof serviceAccountTokenInSecrets === 'boolean') return [];
  if (current !== undefined && sameJson(tokenRequests, mapOf(current.spec)?.tokenRequests)) return [];
  return [
    'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes',
  ];
}

/** Of a pod, or of the template of a workload at `field`. */
export function podWarnings(field: string, spec: unknown): string[] {
  const { imagePullSecrets, terminationGracePeriodSeconds } = mapOf(spec) ?? {};
  const warnings = mapsOf(imagePullSecrets)
    .map(({ name }, index) => (name ? '' : `${field}.imagePullSecrets[${index}].name: invalid empty name ""`))
    .filter(Boolean);
  if (typeof terminationGracePeriodSeconds === 'number' && terminationGracePeriodSeconds < 0) {
    warnings.push(
      `${field}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
    );
  }
  return warnings;
}

/** Custom kinds may have finalizers without a domain; two writers may then mean different things by one name. */
export function finalizerWarnings({ metadata }: Loose, current: Loose | undefined): string[] {
  const plain = (metadata.finalizers ?? []).filter((name) => !name.includes('/'));
  return plain
    .filter((name) => !STANDARD_FINALIZERS.has(name) && !current?.metadata.finalizers?.includes(name))
    .map(
      (name) =>
        `metadata.finalizers: ${JSON.stringify(name)}: prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers`,
    );
}

/** Names without a prefix are reserved for Kubernetes' own finalizers. */
export const STANDARD_FINALIZERS: ReadonlySet<string> = new Set([
  'kubernetes',
  'orphan',
  'foregroundDeletion',
]);
