// Metadata of every object: names by the rules of the kind, labels, annotations, owners, finalizers, and the immutable
// fields.

import {
  dns1035LabelProblems,
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  labelKeyProblems,
  labelValueProblems,
  pathSegmentProblems,
  qualifiedNameProblems,
} from '../../api/names.ts';
import type { KubeObject } from '../../api/object.ts';
import { getOwn } from '../../api/own-property.ts';
import type { FieldError, Kind } from '../kind.ts';
import { type LooseMap, mapOf, mapsOf, stringsOf } from '../kinds/loose.ts';
import { at, Checks, forbidden, invalid, required, tooLong } from './checks.ts';
import { STANDARD_FINALIZERS } from './warnings.ts';

const MAX_ANNOTATION_BYTES = 256 * 1024;
/** Kinds whose names are labels, and those whose names only have to fit a path. */
const LABEL_NAMED = new Set(['Namespace']);
const PATH_NAMED = new Set(['Role', 'ClusterRole', 'RoleBinding', 'ClusterRoleBinding']);

function nameProblems(kind: Kind, name: string): string[] {
  if (kind.group === 'rbac.authorization.k8s.io' && PATH_NAMED.has(kind.kind))
    return pathSegmentProblems(name);
  if (kind.group === '' && LABEL_NAMED.has(kind.kind)) return dns1123LabelProblems(name);
  if (kind.group === '' && kind.kind === 'Service') return dns1035LabelProblems(name);
  // Clients name events after their object, whatever its name is: only what a path cannot hold is rejected.
  if (kind.group === '' && kind.kind === 'Event') return pathSegmentProblems(name);
  return dns1123SubdomainProblems(name);
}

/** All errors of an object that is created; with `current`, of one that replaces it. */
export function validateMetadata(object: KubeObject, kind: Kind, current?: KubeObject): FieldError[] {
  const checks = new Checks();
  if (current) checkChange(checks, object, current);
  const metadata = mapOf(object.metadata) ?? {};
  // The stored object was valid when it was written.
  const stored: LooseMap = mapOf(current?.metadata) ?? {};
  const isNew = (field: string): boolean => getOwn(metadata, field) !== getOwn(stored, field);
  if (current === undefined || isNew('name') || isNew('namespace')) checkName(checks, metadata, kind);
  if (isNew('generation')) checks.nonNegative('metadata.generation', metadata.generation);
  if (isNew('labels')) checkLabels(checks, metadata.labels);
  if (isNew('annotations')) checkAnnotations(checks, metadata.annotations);
  if (isNew('ownerReferences')) checkOwners(checks, metadata.ownerReferences);
  if (isNew('finalizers')) {
    for (const [index, finalizer] of stringsOf(metadata.finalizers).entries()) {
      const problems = kind.writes.plainFinalizers ? qualifiedNameProblems : finalizerProblems;
      checks.text(at('metadata.finalizers', index), finalizer, problems);
    }
  }
  return checks.errors;
}

function checkName(checks: Checks, metadata: LooseMap, kind: Kind): void {
  const name = String(metadata.name ?? '');
  if (name === '') checks.add(required('metadata.name', 'name or generateName is required'));
  else checks.text('metadata.name', name, (text) => nameProblems(kind, text));
  if (metadata.generateName) {
    checks.text('metadata.generateName', String(metadata.generateName), (text) =>
      nameProblems(kind, text.replace(/[-.]$/, 'a')),
    );
  }
  if (kind.namespaced) {
    if (checks.required('metadata.namespace', metadata.namespace)) {
      checks.text('metadata.namespace', metadata.namespace, dns1123LabelProblems);
    }
  } else if (metadata.namespace) {
    checks.add(forbidden('metadata.namespace', 'not allowed on this type'));
  }
}

export function finalizerProblems(name: string): string[] {
  const problems = qualifiedNameProblems(name);
  if (problems.length === 0 && !name.includes('/') && !STANDARD_FINALIZERS.has(name)) {
    return ['name is neither a standard finalizer name nor is it fully qualified'];
  }
  return problems;
}

function checkLabels(checks: Checks, labels: unknown): void {
  for (const [key, value] of Object.entries(mapOf(labels) ?? {})) {
    checks.text('metadata.labels', key, labelKeyProblems);
    checks.text('metadata.labels', value, labelValueProblems);
  }
}

function checkAnnotations(checks: Checks, annotations: unknown): void {
  let bytes = 0;
  for (const [key, value] of Object.entries(mapOf(annotations) ?? {})) {
    checks.text('metadata.annotations', key.toLowerCase(), qualifiedNameProblems);
    bytes += Buffer.byteLength(key) + Buffer.byteLength(String(value));
  }
  if (bytes > MAX_ANNOTATION_BYTES) checks.add(tooLong('metadata.annotations', MAX_ANNOTATION_BYTES));
}

function checkOwners(checks: Checks, owners: unknown): void {
  let controllers = 0;
  const path = 'metadata.ownerReferences';
  for (const owner of mapsOf(owners)) {
    for (const field of ['apiVersion', 'kind', 'name', 'uid'] as const) {
      if (!owner[field])
        checks.add(
          invalid(
            `${path}.${field}`,
            owner[field] ?? '',
            `${field === 'apiVersion' ? 'version' : field} must not be empty`,
          ),
        );
    }
    if (owner.controller === true && ++controllers > 1) {
      checks.add(
        invalid('metadata.ownerReferences', owner, 'Only one reference can have Controller set to true'),
      );
    }
  }
}

/** The fields that may not change between two states of one object. */
function checkChange(checks: Checks, next: KubeObject, current: KubeObject): void {
  for (const field of [
    'name',
    'namespace',
    'uid',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
  ] as const) {
    checks.immutable(`metadata.${field}`, next.metadata[field], current.metadata[field]);
  }
  if (
    next.metadata.generation !== undefined &&
    next.metadata.generation < (current.metadata.generation ?? 0)
  ) {
    checks.add(invalid('metadata.generation', next.metadata.generation, 'must not be decremented'));
  }
  if (current.metadata.deletionTimestamp !== undefined) {
    const before = new Set(current.metadata.finalizers ?? []);
    const added = (next.metadata.finalizers ?? []).filter((finalizer) => !before.has(finalizer));
    if (added.length > 0) {
      checks.add(
        forbidden(
          'metadata.finalizers',
          `no new finalizers can be added if the object is being deleted, found new finalizers ${JSON.stringify(added)}`,
        ),
      );
    }
  }
}
