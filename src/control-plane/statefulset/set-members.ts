// Names and contents of a StatefulSet's members: pods by ordinal, and a claim for each template. Pure.

import { hash } from 'node:crypto';
import type { PersistentVolumeClaim, Pod, PodSpec, StatefulSet } from '../../api/kinds.ts';
import type { Draft, OwnerReference } from '../../api/object.ts';

const LABEL_POD_NAME = 'statefulset.kubernetes.io/pod-name';
const LABEL_POD_INDEX = 'apps.kubernetes.io/pod-index';
export const LABEL_REVISION = 'controller-revision-hash';

type ClaimTemplate = NonNullable<NonNullable<StatefulSet['spec']>['volumeClaimTemplates']>[number];

/** `web-3` is the fourth member of a set called `web`. */
export function parentAndOrdinal(podName: string): { parent: string; ordinal: number } | undefined {
  const match = /^(.*)-(0|[1-9][0-9]*)$/.exec(podName);
  return match ? { parent: match[1] ?? '', ordinal: Number(match[2]) } : undefined;
}

export function firstOrdinal({ spec }: StatefulSet): number {
  return spec?.ordinals?.start ?? 0;
}

/** The ordinals that the set should have, first to last. */
export function ordinalsOf(set: StatefulSet): number[] {
  return Array.from({ length: set.spec?.replicas ?? 1 }, (_, index) => firstOrdinal(set) + index);
}

export function podNameOf(set: StatefulSet, ordinal: number): string {
  return `${set.metadata.name}-${ordinal}`;
}

/** The format by which the provisioner recognises a set's claims, to spread their volumes over segments. */
function claimNameFor(set: StatefulSet, template: ClaimTemplate, ordinal: number): string {
  return `${template.metadata?.name}-${set.metadata.name}-${ordinal}`;
}

/**
 * The revision: a hash of the pod template. It does not depend on the order of keys, or an unchanged set would restart
 * its pods.
 */
export function revisionOf({ metadata: { name }, spec }: StatefulSet): string {
  const template = spec?.template ?? NO_TEMPLATE;
  let digest = digests.get(template);
  if (digest === undefined) {
    digest = hash('sha256', canonicalJson(spec?.template)).slice(0, 10);
    digests.set(template, digest);
  }
  return `${name}-${digest}`;
}

const NO_TEMPLATE = {};
/** Cached by template: objects are never changed, and a run asks several times. */
const digests = new WeakMap<object, string>();

export function podFor(set: StatefulSet, ordinal: number): Draft<Pod> {
  const name = podNameOf(set, ordinal);
  const { metadata, spec } = set.spec?.template ?? {};
  const templates = set.spec?.volumeClaimTemplates ?? [];
  const fromTemplates = templates.map((template) => ({
    name: template.metadata?.name ?? '',
    persistentVolumeClaim: { claimName: claimNameFor(set, template, ordinal) },
  }));
  const others = (spec?.volumes ?? []).filter(
    (each) => !fromTemplates.some(({ name }) => name === each.name),
  );
  const serviceName = set.spec?.serviceName;
  return {
    metadata: {
      name,
      namespace: set.metadata.namespace ?? '',
      labels: {
        ...metadata?.labels,
        [LABEL_POD_NAME]: name,
        [LABEL_POD_INDEX]: String(ordinal),
        [LABEL_REVISION]: revisionOf(set),
      },
      ...(metadata?.annotations && { annotations: metadata.annotations }),
      ...(metadata?.finalizers && { finalizers: metadata.finalizers }),
      ownerReferences: [ownedBySet(set)],
    },
    spec: {
      ...(spec as PodSpec),
      hostname: name,
      ...(serviceName && { subdomain: serviceName }),
      volumes: [...fromTemplates, ...others],
    },
  };
}

/** The claims of one member, without owners: these depend on the retention policy. */
export function claimsFor(set: StatefulSet, ordinal: number): Draft<PersistentVolumeClaim>[] {
  return (set.spec?.volumeClaimTemplates ?? []).map((template) => ({
    metadata: {
      name: claimNameFor(set, template, ordinal),
      namespace: set.metadata.namespace ?? '',
      labels: { ...template.metadata?.labels, ...set.spec?.selector.matchLabels },
      ...(template.metadata?.annotations && { annotations: template.metadata.annotations }),
    },
    spec: { ...template.spec },
  }));
}

export function ownedBySet({ metadata: { name, uid } }: StatefulSet): OwnerReference {
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

export function ownedByPod({ metadata: { name, uid } }: Pod): OwnerReference {
  return { apiVersion: 'v1', kind: 'Pod', name, uid, controller: true, blockOwnerDeletion: true };
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value ?? null, (_key, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}
