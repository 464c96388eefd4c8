// Contents of group snapshots: VolumeGroupSnapshotContent, CreateVolumeGroupSnapshot, DeleteVolumeGroupSnapshot. The
// members become VolumeSnapshots by the snapshot controller, from the list in the content's status.

import {
  type VolumeGroupSnapshotClass,
  type VolumeGroupSnapshotContent,
  volumeGroupSnapshotClasses,
  volumeGroupSnapshotContents,
} from '../../api/kinds.ts';
import { groupSnapshotSecret } from '../../api/snapshot-secrets.ts';
import {
  ANN_GROUP_SNAPSHOT_BEING_CREATED,
  ANN_GROUP_SNAPSHOT_BEING_DELETED,
  ANN_GROUP_SNAPSHOT_PARAMETERS,
  ANN_GROUP_SNAPSHOT_SECRET_NAME,
  ANN_GROUP_SNAPSHOT_SECRET_NAMESPACE,
  FINALIZER_GROUP_SNAPSHOT_CONTENT,
} from '../../api/well-known.ts';
import type {
  DriverName,
  GroupSnapshotHandle,
  SnapshotHandle,
  VolumeHandle,
} from '../../csi/names/driver-name.ts';
import { hasFinalizer } from '../../runtime/kube/finalizers.ts';
import { attemptFrom, type RecordKeys } from './attempt.ts';
import type { ContentKind } from './content-kind.ts';
import { annotatedSecret, classSecret } from './content-secrets.ts';
import type { ContentFacts } from './decide-content.ts';
import type { GroupCalls, GroupHandles } from './group-calls.ts';
import { DELETED_GROUP_STATUS, type GroupFacts, groupStatusPatch } from './group-content-status.ts';
import { SnapshotProblem } from './snapshot-problem.ts';
import {
  type ClassOfContent,
  classParameters,
  type SnapshotNaming,
  snapshotNameFor,
} from './snapshot-request.ts';

const RECORD: RecordKeys = {
  beingCreated: ANN_GROUP_SNAPSHOT_BEING_CREATED,
  parameters: ANN_GROUP_SNAPSHOT_PARAMETERS,
};
const SECRET = { name: ANN_GROUP_SNAPSHOT_SECRET_NAME, namespace: ANN_GROUP_SNAPSHOT_SECRET_NAMESPACE };

export interface GroupKindOptions {
  driver: DriverName;
  calls: GroupCalls;
  classOf(name: string): VolumeGroupSnapshotClass | undefined;
  naming: SnapshotNaming;
  extraCreateMetadata: boolean;
  /** The driver reports CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT. */
  isCapable: boolean;
}

export function groupKind(options: GroupKindOptions): ContentKind<VolumeGroupSnapshotContent, GroupFacts> {
  const { driver, calls, naming } = options;
  const classOf = ({ spec: { volumeGroupSnapshotClassName: name } }: VolumeGroupSnapshotContent) => {
    const found = name === undefined ? undefined : options.classOf(name);
    return { kind: volumeGroupSnapshotClasses.kind as ClassOfContent['kind'], name, found };
  };
  const attemptOn = ({ metadata, status }: VolumeGroupSnapshotContent) =>
    attemptFrom(metadata.annotations, {
      handle: status?.volumeGroupSnapshotHandle as GroupSnapshotHandle | undefined,
      keys: RECORD,
    });
  return {
    resource: volumeGroupSnapshotContents,
    noun: 'group snapshot',
    createCall: 'CreateVolumeGroupSnapshot',
    finalizer: FINALIZER_GROUP_SNAPSHOT_CONTENT,
    record: RECORD,
    reasons: {
      create: 'GroupSnapshotCreationFailed',
      look: 'GroupSnapshotContentCheckandUpdateFailed',
      delete: 'GroupSnapshotDeleteError',
    },
    deletedStatus: DELETED_GROUP_STATUS,
    attemptOn,
    factsOf: (content) => ({
      driver,
      content,
      classDriver: classOf(content).found?.driver,
      source: sourceOf(content),
      isBound: Boolean(content.spec.volumeGroupSnapshotRef.uid),
      isMember: false,
      isProtected: hasFinalizer(content, FINALIZER_GROUP_SNAPSHOT_CONTENT),
      isMarked: content.metadata.annotations?.[ANN_GROUP_SNAPSHOT_BEING_DELETED] !== undefined,
      attempt: attemptOn(content),
    }),
    classParameters(content) {
      if (!options.isCapable) {
        throw new SnapshotProblem(
          `driver ${driver} takes no group snapshots: it does not report CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT`,
        );
      }
      const { name = '', namespace = '' } = content.spec.volumeGroupSnapshotRef;
      const extra = {
        'volumegroupsnapshot/name': name,
        'volumegroupsnapshot/namespace': namespace,
        'volumegroupsnapshotcontent/name': content.metadata.name,
      };
      return classParameters(classOf(content), options.extraCreateMetadata ? extra : {});
    },
    secret: ({ metadata }) => annotatedSecret(metadata, SECRET),
    secretToLook: (content) =>
      classSecret(classOf(content), (parameters) =>
        groupSnapshotSecret('group-snapshotter-get', parameters, { contentName: content.metadata.name }),
      ),
    create({ spec }, { parameters, secrets }, signal) {
      const name = snapshotNameFor(spec.volumeGroupSnapshotRef.uid ?? '', naming);
      const volumeHandles = (spec.source.volumeHandles ?? []) as VolumeHandle[];
      return calls.create({ name, volumeHandles, parameters, secrets }, signal);
    },
    look: (content, secrets, signal) => calls.look(handlesOf(content), secrets, signal),
    delete: (content, secrets, signal) => calls.delete(handlesOf(content), secrets, signal),
    statusOf: groupStatusPatch,
  };
}

function sourceOf({ spec: { source } }: VolumeGroupSnapshotContent): ContentFacts['source'] {
  const { volumeHandles = [], groupSnapshotHandles } = source;
  if (volumeHandles.length > 0 === (groupSnapshotHandles !== undefined)) return undefined;
  return groupSnapshotHandles === undefined
    ? { is: 'volumes' }
    : {
        is: 'pre-provisioned',
        handle: groupSnapshotHandles.volumeGroupSnapshotHandle as GroupSnapshotHandle,
      };
}

function handlesOf({ spec, status = {} }: VolumeGroupSnapshotContent): GroupHandles {
  const given = spec.source.groupSnapshotHandles;
  const made = status.volumeSnapshotInfoList?.map(({ snapshotHandle = '' }) => snapshotHandle);
  return {
    handle: (status.volumeGroupSnapshotHandle ??
      given?.volumeGroupSnapshotHandle ??
      '') as GroupSnapshotHandle,
    snapshotHandles: (made ?? given?.volumeSnapshotHandles ?? []) as SnapshotHandle[],
  };
}
