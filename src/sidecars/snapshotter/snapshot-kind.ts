// Contents of single snapshots: VolumeSnapshotContent, CreateSnapshot, DeleteSnapshot.

import {
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
  volumeSnapshotClasses,
  volumeSnapshotContents,
} from '../../api/kinds.ts';
import { snapshotSecret } from '../../api/snapshot-secrets.ts';
import { isOfGroup } from '../../api/snapshots.ts';
import {
  ANN_SNAPSHOT_BEING_CREATED,
  ANN_SNAPSHOT_BEING_DELETED,
  ANN_SNAPSHOT_PARAMETERS,
  ANN_SNAPSHOT_SECRET_NAME,
  ANN_SNAPSHOT_SECRET_NAMESPACE,
  FINALIZER_SNAPSHOT_CONTENT,
} from '../../api/well-known.ts';
import type { DriverName, SnapshotHandle, VolumeHandle } from '../../csi/names/driver-name.ts';
import { hasFinalizer } from '../../runtime/kube/finalizers.ts';
import { attemptFrom, type RecordKeys } from './attempt.ts';
import type { ContentKind } from './content-kind.ts';
import { annotatedSecret, classSecret } from './content-secrets.ts';
import { DELETED_STATUS, type SnapshotFacts, statusPatch } from './content-status.ts';
import type { ContentFacts } from './decide-content.ts';
import type { SnapshotCalls } from './snapshot-calls.ts';
import {
  type ClassOfContent,
  classParameters,
  type SnapshotNaming,
  snapshotNameFor,
} from './snapshot-request.ts';

const RECORD: RecordKeys = { beingCreated: ANN_SNAPSHOT_BEING_CREATED, parameters: ANN_SNAPSHOT_PARAMETERS };
const SECRET = { name: ANN_SNAPSHOT_SECRET_NAME, namespace: ANN_SNAPSHOT_SECRET_NAMESPACE };

const attemptOn = ({ metadata, status }: VolumeSnapshotContent) =>
  attemptFrom(metadata.annotations, {
    handle: status?.snapshotHandle as SnapshotHandle | undefined,
    keys: RECORD,
  });

export function snapshotContentFacts(
  content: VolumeSnapshotContent,
  { driver, classDriver }: { driver: DriverName; classDriver: string | undefined },
): ContentFacts {
  const { metadata, spec } = content;
  return {
    driver,
    content,
    classDriver,
    source: sourceOf(spec.source),
    isBound: Boolean(spec.volumeSnapshotRef.uid),
    isMember: isOfGroup(content),
    isProtected: hasFinalizer(content, FINALIZER_SNAPSHOT_CONTENT),
    isMarked: metadata.annotations?.[ANN_SNAPSHOT_BEING_DELETED] !== undefined,
    attempt: attemptOn(content),
  };
}

function sourceOf({
  volumeHandle,
  snapshotHandle,
}: VolumeSnapshotContent['spec']['source']): ContentFacts['source'] {
  if ((volumeHandle === undefined) === (snapshotHandle === undefined)) return undefined;
  return snapshotHandle === undefined
    ? { is: 'volumes' }
    : { is: 'pre-provisioned', handle: snapshotHandle as SnapshotHandle };
}

export interface SnapshotKindOptions {
  driver: DriverName;
  calls: SnapshotCalls;
  classOf(name: string): VolumeSnapshotClass | undefined;
  naming: SnapshotNaming;
  extraCreateMetadata: boolean;
}

export function snapshotKind(
  options: SnapshotKindOptions,
): ContentKind<VolumeSnapshotContent, SnapshotFacts> {
  const { driver, calls, naming } = options;
  const classOf = ({ spec: { volumeSnapshotClassName: name } }: VolumeSnapshotContent) => {
    const found = name === undefined ? undefined : options.classOf(name);
    return { kind: volumeSnapshotClasses.kind as ClassOfContent['kind'], name, found };
  };
  return {
    resource: volumeSnapshotContents,
    noun: 'snapshot',
    createCall: 'CreateSnapshot',
    finalizer: FINALIZER_SNAPSHOT_CONTENT,
    record: RECORD,
    reasons: {
      create: 'SnapshotCreationFailed',
      look: 'SnapshotContentCheckandUpdateFailed',
      delete: 'SnapshotDeleteError',
    },
    deletedStatus: DELETED_STATUS,
    attemptOn,
    factsOf: (content) =>
      snapshotContentFacts(content, { driver, classDriver: classOf(content).found?.driver }),
    classParameters(content) {
      const { name = '', namespace = '' } = content.spec.volumeSnapshotRef;
      const extra = {
        'volumesnapshot/name': name,
        'volumesnapshot/namespace': namespace,
        'volumesnapshotcontent/name': content.metadata.name,
      };
      return classParameters(classOf(content), options.extraCreateMetadata ? extra : {});
    },
    secret: ({ metadata }) => annotatedSecret(metadata, SECRET),
    secretToLook(content) {
      if (isOfGroup(content)) return annotatedSecret(content.metadata, SECRET);
      const values = { contentName: content.metadata.name };
      return classSecret(classOf(content), (parameters) =>
        snapshotSecret('snapshotter-list', parameters, values),
      );
    },
    create({ spec }, { parameters, secrets }, signal) {
      const name = snapshotNameFor(spec.volumeSnapshotRef.uid ?? '', naming);
      const volumeHandle = spec.source.volumeHandle as VolumeHandle;
      return calls.create({ name, volumeHandle, parameters, secrets }, signal);
    },
    look: (content, secrets, signal) => calls.look(handleOf(content), secrets, signal),
    delete: (content, secrets, signal) => calls.delete(handleOf(content), secrets, signal),
    statusOf: statusPatch,
  };
}

const handleOf = ({ spec, status }: VolumeSnapshotContent): SnapshotHandle =>
  (status?.snapshotHandle ?? spec.source.snapshotHandle) as SnapshotHandle;
