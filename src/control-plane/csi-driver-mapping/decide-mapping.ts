// What to do about one CSIDriver of the design documents' CRD (csi.storage.k8s.io/v1alpha1): it is mapped to today's
// object (storage.k8s.io/v1), which is the one that every component reads. The mapped object is owned by the CRD's
// object; an object without that owner was made by others, and wins. Pure.

import { type CSIDriver, type CSIDriverDesign, csiDriverDesigns } from '../../api/kinds.ts';
import { apiVersionOf, type Draft } from '../../api/object.ts';
import { sameJson } from '../../api/same-json.ts';
import { ANN_INLINE_HANDLES } from '../../api/well-known.ts';

export type MappingStep =
  | { do: 'create'; object: Draft<CSIDriver> }
  | { do: 'patch'; spec: { podInfoOnMount: boolean } }
  /** The changed field is immutable in today's object. Deleting the object leads to a new one. */
  | { do: 'delete' }
  | { do: 'event'; reason: string; message: string };

type MappedSpec = Required<
  Pick<CSIDriver['spec'], 'attachRequired' | 'podInfoOnMount' | 'volumeLifecycleModes'>
>;

const apiVersion = apiVersionOf(csiDriverDesigns);

export function decideMapping(
  design: CSIDriverDesign | undefined,
  today: CSIDriver | undefined,
): MappingStep[] {
  // The garbage collector deletes the mapped object with its owner.
  if (!design || design.metadata.deletionTimestamp) return [];
  const spec = mapSpec(design);
  if (!today) return [...versionProblem(design), { do: 'create', object: mappedObject(design, spec) }];
  if (today.metadata.deletionTimestamp) return [];
  if (!isMapped(today)) return foreign(spec, today);
  const { attachRequired, podInfoOnMount, volumeLifecycleModes } = today.spec;
  const isOwner = ownersOf(today).some(({ uid }) => uid === design.metadata.uid);
  if (
    !isOwner ||
    attachRequired !== spec.attachRequired ||
    !sameJson(volumeLifecycleModes, spec.volumeLifecycleModes)
  ) {
    return [{ do: 'delete' }];
  }
  if (podInfoOnMount === spec.podInfoOnMount) return [];
  return [...versionProblem(design), { do: 'patch', spec: { podInfoOnMount: spec.podInfoOnMount } }];
}

/** Whether this controller made the object. */
function isMapped(today: CSIDriver): boolean {
  return ownersOf(today).length > 0;
}

const ownersOf = ({ metadata }: CSIDriver) =>
  (metadata.ownerReferences ?? []).filter(
    (owner) => owner.apiVersion === apiVersion && owner.kind === csiDriverDesigns.kind,
  );

function mapSpec({ spec }: CSIDriverDesign): MappedSpec {
  return {
    attachRequired: spec.attachRequired ?? true,
    podInfoOnMount: spec.podInfoOnMountVersion === 'v1',
    volumeLifecycleModes: [spec.lifecycle === 'ephemeral' ? 'Ephemeral' : 'Persistent'],
  };
}

function mappedObject({ metadata }: CSIDriverDesign, spec: MappedSpec): Draft<CSIDriver> {
  const { name, uid } = metadata;
  const owner = { apiVersion, kind: csiDriverDesigns.kind, name, uid };
  const handles = metadata.annotations?.[ANN_INLINE_HANDLES];
  const annotations = handles === undefined ? {} : { annotations: { [ANN_INLINE_HANDLES]: handles } };
  return { metadata: { name, ownerReferences: [owner], ...annotations }, spec };
}

function versionProblem({ spec: { podInfoOnMountVersion } }: CSIDriverDesign): MappingStep[] {
  if (!podInfoOnMountVersion || podInfoOnMountVersion === 'v1') return [];
  const message =
    `podInfoOnMountVersion "${podInfoOnMountVersion}" is unknown: NodePublishVolume gets no pod information. ` +
    'The version that exists is v1.';
  return [{ do: 'event', reason: 'UnknownPodInfoVersion', message }];
}

function foreign(spec: MappedSpec, today: CSIDriver): MappingStep[] {
  const differing = (Object.keys(spec) as (keyof MappedSpec)[]).filter(
    (field) => !sameJson(spec[field], today.spec[field]),
  );
  const effect = differing.length > 0 ? `they differ in ${differing.join(', ')}` : 'they agree';
  const message =
    `CSIDriver ${today.metadata.name} of storage.k8s.io/v1 exists and is the one in effect; this object of ` +
    `${apiVersion} is ignored (${effect}). Delete one of the two.`;
  return [{ do: 'event', reason: 'CSIDriverIgnored', message }];
}
