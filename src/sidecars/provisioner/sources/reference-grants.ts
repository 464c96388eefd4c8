// Data sources in other namespaces: allowed by a ReferenceGrant in the source's namespace, behind the gate
// CrossNamespaceVolumeDataSource. Watches ReferenceGrants; writes nothing.

import { type PersistentVolumeClaim, type ReferenceGrant, referenceGrants } from '../../../api/kinds.ts';
import type { Informers } from '../../../runtime/informer/informer.ts';
import { ClaimProblem, permanentProblem } from '../planning/claim-problem.ts';
import type { ProvisionerFlags } from '../provisioner-flags.ts';

export interface SourceGrants {
  /** Whether the claim's source is in its own namespace, or granted to it. */
  allows(claim: PersistentVolumeClaim): boolean;
  /** Throws a ClaimProblem that says what is missing. */
  require(claim: PersistentVolumeClaim): void;
  /** The grants of a namespace changed. */
  subscribe(changed: (namespace: string) => void): void;
}

export function watchGrants(
  informers: Informers,
  { featureGates }: Pick<ProvisionerFlags, 'featureGates'>,
): SourceGrants {
  const grants = featureGates.CrossNamespaceVolumeDataSource
    ? informers.of(referenceGrants, { optional: true })
    : undefined;
  const allows = (claim: PersistentVolumeClaim): boolean =>
    foreignNamespaceOf(claim) === undefined || isGranted(claim, grants?.list() ?? []);
  return {
    allows,
    require(claim) {
      if (allows(claim)) return;
      const { kind = '', name = '' } = claim.spec.dataSourceRef ?? {};
      const source = `${foreignNamespaceOf(claim)}/${name}`;
      if (grants === undefined) {
        throw permanentProblem(
          `dataSourceRef namespace specified but the CrossNamespaceVolumeDataSource feature is disabled: ${kind} ${source} cannot be the source`,
        );
      }
      const from = `${claim.metadata.namespace}/${claim.metadata.name}`;
      throw new ClaimProblem(
        `accessing ${source} of ${kind} dataSource from ${from} isn't allowed: no ReferenceGrant in namespace ` +
          `${foreignNamespaceOf(claim)} permits it`,
      );
    },
    subscribe(changed) {
      const tell = ({ metadata }: ReferenceGrant): void => changed(metadata.namespace ?? '');
      grants?.subscribe({ added: tell, updated: (_before, after) => tell(after), deleted: tell });
    },
  };
}

/** The namespace of the claim's source, where it is not the claim's. `dataSource` is always in the claim's. */
export function foreignNamespaceOf({ metadata, spec }: PersistentVolumeClaim): string | undefined {
  const namespace = spec.dataSource ? undefined : spec.dataSourceRef?.namespace;
  return namespace && namespace !== metadata.namespace ? namespace : undefined;
}

/** By one grant that names both the claim's namespace and the source. Pure. */
export function isGranted(claim: PersistentVolumeClaim, grants: readonly ReferenceGrant[]): boolean {
  const { apiGroup = '', kind, name } = claim.spec.dataSourceRef ?? {};
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
