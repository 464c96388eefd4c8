// Data sources in other namespaces: allowed by a ReferenceGrant in the source's namespace, behind the gate
// CrossNamespaceVolumeDataSource. Watches ReferenceGrants; writes nothing.

import { type PersistentVolumeClaim, type ReferenceGrant, referenceGrants } from '../../../api/kinds.ts';
import { foreignNamespaceOf, isGranted, notGranted } from '../../../api/reference-grants.ts';
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
      if (grants !== undefined) throw new ClaimProblem(notGranted(claim));
      const { kind, name } = claim.spec.dataSourceRef ?? {};
      throw permanentProblem(
        'dataSourceRef namespace specified but the CrossNamespaceVolumeDataSource feature is disabled: ' +
          `${kind} ${foreignNamespaceOf(claim)}/${name} cannot be the source`,
      );
    },
    subscribe(changed) {
      const tell = ({ metadata }: ReferenceGrant): void => changed(metadata.namespace ?? '');
      grants?.subscribe({ added: tell, updated: (_before, after) => tell(after), deleted: tell });
    },
  };
}
