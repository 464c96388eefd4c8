// Secret references in the parameters of a VolumeSnapshotClass or VolumeGroupSnapshotClass, with templates filled from the
// snapshot and its content. The snapshot controller resolves the one for creation and deletion, the snapshotter the one
// for listing. Pure: no Secret is read.

import { type SecretAnswer, secretFrom } from './secret-template.ts';
import { RESERVED_PARAMETER_PREFIX } from './well-known.ts';

export type SnapshotSecretKind = 'snapshotter' | 'snapshotter-list';
export type GroupSnapshotSecretKind = 'group-snapshotter' | 'group-snapshotter-get';

export interface SnapshotSecretValues {
  contentName: string;
  /** Where it is known. */
  snapshot?: { name: string; namespace: string };
}

const keyOf = (kind: string, field: 'name' | 'namespace') =>
  `${RESERVED_PARAMETER_PREFIX}${kind}-secret-${field}`;

/** Every parameter of a class that is a reference to a Secret, those of group snapshots included. */
export const SNAPSHOT_SECRET_PARAMETERS: ReadonlySet<string> = new Set(
  ['snapshotter', 'snapshotter-list', 'group-snapshotter', 'group-snapshotter-get'].flatMap((kind) => [
    keyOf(kind, 'name'),
    keyOf(kind, 'namespace'),
  ]),
);

export function snapshotSecret(
  kind: SnapshotSecretKind,
  parameters: Readonly<Record<string, string>>,
  values: SnapshotSecretValues,
): SecretAnswer {
  return secretOf(kind, parameters, { ...values, object: 'volumesnapshot' });
}

export function groupSnapshotSecret(
  kind: GroupSnapshotSecretKind,
  parameters: Readonly<Record<string, string>>,
  values: SnapshotSecretValues,
): SecretAnswer {
  return secretOf(kind, parameters, { ...values, object: 'volumegroupsnapshot' });
}

function secretOf(
  kind: SnapshotSecretKind | GroupSnapshotSecretKind,
  parameters: Readonly<Record<string, string>>,
  { contentName, snapshot, object }: SnapshotSecretValues & { object: string },
): SecretAnswer {
  return secretFrom({
    where: 'snapshot class',
    parameters,
    nameKeys: [keyOf(kind, 'name')],
    namespaceKeys: [keyOf(kind, 'namespace')],
    forNamespace: {
      [`${object}content.name`]: contentName,
      ...(snapshot && { [`${object}.namespace`]: snapshot.namespace }),
    },
    // A user chooses the snapshot's name.
    forName: snapshot ? { [`${object}.name`]: snapshot.name } : {},
  });
}
