// Which VolumeSnapshotContent a snapshot of a claim needs, and its class; or the problem, as a message for the user.
// Pure.

import type {
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  VolumeSnapshot,
  VolumeSnapshotClass,
  VolumeSnapshotContent,
} from '../../api/kinds.ts';
import { volumeSnapshots } from '../../api/kinds.ts';
import { apiVersionOf, type Draft } from '../../api/object.ts';
import { matchesNodeSelectorTerms } from '../../api/selectors.ts';
import { snapshotSecret } from '../../api/snapshot-secrets.ts';
import { dynamicContentName, isDefaultSnapshotClass } from '../../api/snapshots.ts';
import { refersToClaim } from '../../api/volumes.ts';
import {
  ANN_SNAPSHOT_SECRET_NAME,
  ANN_SNAPSHOT_SECRET_NAMESPACE,
  FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE,
  FINALIZER_SNAPSHOT_CONTENT,
  LABEL_SNAPSHOT_MANAGED_BY,
} from '../../api/well-known.ts';
import { type DriverName, volumeNamesOf } from '../../csi/names/driver-name.ts';

export interface Failure {
  /** The event's reason. */
  reason: string;
  message: string;
}

export interface ContentPlan {
  snapshotClass: VolumeSnapshotClass;
  claim: PersistentVolumeClaim;
  draft: Draft<VolumeSnapshotContent>;
}

export interface PlanFacts {
  snapshot: VolumeSnapshot;
  claim: PersistentVolumeClaim | undefined;
  /** The volume that the claim is bound to. */
  volume: PersistentVolume | undefined;
  classes: readonly VolumeSnapshotClass[];
  /** `--prevent-volume-mode-conversion` */
  recordsVolumeMode: boolean;
  /** With `--enable-distributed-snapshotting`: the nodes from which the content's node is chosen. */
  nodes?: readonly Node[];
}

const CREATION_FAILED = 'SnapshotContentCreationFailed';
const failure = (reason: string, message: string): Failure => ({ reason, message });

export function planContent(facts: PlanFacts): ContentPlan | Failure {
  const { snapshot } = facts;
  const { volumeSnapshotClassName: wanted, source } = snapshot.spec;
  // The event's reason names what the user should check first: the class where none was named, else the claim.
  const about = wanted === undefined ? 'SetDefaultSnapshotClassFailed' : CREATION_FAILED;
  const { claim, volume } = facts;
  if (claim === undefined) {
    return failure(about, `PersistentVolumeClaim "${source.persistentVolumeClaimName}" does not exist`);
  }
  const bound = boundVolume(claim, volume);
  if ('message' in bound) return failure(about, bound.message);
  const snapshotClass = chooseClass(facts, bound.driver);
  if ('reason' in snapshotClass) return snapshotClass;
  if (snapshotClass.driver !== bound.driver) {
    return failure(
      CREATION_FAILED,
      `VolumeSnapshotClass "${snapshotClass.metadata.name}" is for driver ${snapshotClass.driver}, ` +
        `but the volume of claim "${claim.metadata.name}" is of driver ${bound.driver}`,
    );
  }
  const isProtected = claim.metadata.finalizers?.includes(FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE);
  if (claim.metadata.deletionTimestamp !== undefined && !isProtected) {
    return failure(CREATION_FAILED, `claim "${claim.metadata.name}" is being deleted`);
  }
  return withSecret(facts, { snapshotClass, claim, volume: bound.volume });
}

export type Bound = { volume: PersistentVolume; driver: DriverName } | { message: string };

/** The CSI volume of a bound claim, or why it has none. */
export function boundVolume(claim: PersistentVolumeClaim, volume: PersistentVolume | undefined): Bound {
  const { name } = claim.metadata;
  if (claim.status?.phase !== 'Bound' || !claim.spec.volumeName) {
    return { message: `claim "${name}" is not bound to a volume yet` };
  }
  if (volume === undefined)
    return { message: `the volume "${claim.spec.volumeName}" of claim "${name}" is gone` };
  if (!refersToClaim(volume.spec.claimRef, claim)) {
    return { message: `volume "${volume.metadata.name}" is not bound to claim "${name}"` };
  }
  const { csi } = volume.spec;
  if (csi === undefined) {
    return { message: `volume "${volume.metadata.name}" has no CSI driver; only CSI volumes have snapshots` };
  }
  return { volume, driver: volumeNamesOf(csi).driver };
}

function chooseClass({ snapshot, classes }: PlanFacts, driver: DriverName): VolumeSnapshotClass | Failure {
  const { volumeSnapshotClassName: wanted } = snapshot.spec;
  if (wanted !== undefined) {
    const found = classes.find(({ metadata }) => metadata.name === wanted);
    return found ?? failure('GetSnapshotClassFailed', `VolumeSnapshotClass "${wanted}" does not exist`);
  }
  const defaults = classes.filter((each) => each.driver === driver && isDefaultSnapshotClass(each));
  const [first] = defaults;
  if (first !== undefined && defaults.length === 1) return first;
  const names = defaults.map(({ metadata }) => metadata.name).toSorted();
  return failure(
    'SetDefaultSnapshotClassFailed',
    names.length === 0
      ? `the snapshot names no class, and no VolumeSnapshotClass is the default of driver ${driver}`
      : `the snapshot names no class, and ${names.join(', ')} are all defaults of driver ${driver}`,
  );
}

function withSecret(
  facts: PlanFacts,
  found: { snapshotClass: VolumeSnapshotClass; claim: PersistentVolumeClaim; volume: PersistentVolume },
): ContentPlan | Failure {
  const { snapshot } = facts;
  const { snapshotClass, claim, volume } = found;
  const { name, namespace = '', uid } = snapshot.metadata;
  const contentName = dynamicContentName(snapshot);
  const reference = snapshotSecret('snapshotter', snapshotClass.parameters ?? {}, {
    contentName,
    snapshot: { name, namespace },
  });
  if ('problem' in reference) return failure(CREATION_FAILED, reference.problem);
  const { secret } = reference;
  const node = facts.nodes && nodeOf(volume, facts.nodes);
  const draft: Draft<VolumeSnapshotContent> = {
    metadata: {
      name: contentName,
      // Set at creation: a content without it could be deleted while the driver creates the snapshot.
      finalizers: [FINALIZER_SNAPSHOT_CONTENT],
      ...(node !== undefined && { labels: { [LABEL_SNAPSHOT_MANAGED_BY]: node } }),
      ...(secret && {
        annotations: {
          [ANN_SNAPSHOT_SECRET_NAME]: secret.name ?? '',
          [ANN_SNAPSHOT_SECRET_NAMESPACE]: secret.namespace ?? '',
        },
      }),
    },
    spec: {
      driver: snapshotClass.driver,
      deletionPolicy: snapshotClass.deletionPolicy,
      volumeSnapshotClassName: snapshotClass.metadata.name,
      source: { volumeHandle: volume.spec.csi?.volumeHandle ?? '' },
      ...(facts.recordsVolumeMode &&
        volume.spec.volumeMode !== undefined && { sourceVolumeMode: volume.spec.volumeMode }),
      volumeSnapshotRef: {
        apiVersion: apiVersionOf(volumeSnapshots),
        kind: volumeSnapshots.kind,
        name,
        namespace,
        uid,
      },
    },
  };
  return { snapshotClass, claim, draft };
}

/** The first node by name that can reach the volume; undefined where any can. */
function nodeOf(volume: PersistentVolume, nodes: readonly Node[]): string | undefined {
  const terms = volume.spec.nodeAffinity?.required?.nodeSelectorTerms;
  if (terms === undefined) return undefined;
  const reaching = nodes.filter((node) => matchesNodeSelectorTerms(terms, node));
  return reaching.map(({ metadata }) => metadata.name).toSorted()[0];
}
