// Whether a ReferenceGrant allows a claim's data source in another namespace. Pure.

import type { PersistentVolumeClaim, ReferenceGrant } from './kinds.ts';

/** The namespace of the claim's source, where it is not the claim's. `dataSource` is always in the claim's. */
export function foreignNamespaceOf({ metadata, spec }: PersistentVolumeClaim): string | undefined {
  const namespace = spec.dataSource ? undefined : spec.dataSourceRef?.namespace;
  return namespace && namespace !== metadata.namespace ? namespace : undefined;
}

/** By one grant that names both the claim's namespace and the source. */
export function isGranted(claim: PersistentVolumeClaim, grants: readonly ReferenceGrant[]): boolean {
  const { apiGroup, kind, name } = claim.spec.dataSourceRef ?? {};
  return grants.some(
    ({ metadata, spec }) =>
      metadata.namespace === foreignNamespaceOf(claim) &&
      spec.from.some(
        (from) =>
          from.group === '' &&
          from.kind === 'PersistentVolumeClaim' &&
          from.namespace === claim.metadata.namespace,
      ) &&
      spec.to.some(
        (to) => to.group === (apiGroup ?? '') && to.kind === kind && (!to.name || to.name === name),
      ),
  );
}

/** What a claim without a grant is told. */
export function notGranted(claim: PersistentVolumeClaim): string {
  const namespace = foreignNamespaceOf(claim);
  const { kind, name } = claim.spec.dataSourceRef ?? {};
  const from = `${claim.metadata.namespace}/${claim.metadata.name}`;
  return (
    `accessing ${namespace}/${name} of ${kind} dataSource from ${from} isn't allowed: ` +
    `no ReferenceGrant in namespace ${namespace} permits it`
  );
}
