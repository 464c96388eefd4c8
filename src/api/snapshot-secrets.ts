// Secret references in the parameters of a VolumeSnapshotClass, with templates filled from the snapshot and its content. The
// snapshot controller resolves the one for creation and deletion, the snapshotter the one for listing. Pure: no Secret is read.

import { type SecretAnswer, secretFrom } from './secret-template.ts';
import { RESERVED_PARAMETER_PREFIX } from './well-known.ts';

export type SnapshotSecretKind = 'snapshotter' | 'snapshotter-list';

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
  { contentName, snapshot }: SnapshotSecretValues,
): SecretAnswer {
  return secretFrom({
    where: 'snapshot class',
    parameters,
    nameKeys: [keyOf(kind, 'name')],
    namespaceKeys: [keyOf(kind, 'namespace')],
    forNamespace: {
      'volumesnapshotcontent.name': contentName,
      ...(snapshot && { 'volumesnapshot.namespace': snapshot.namespace }),
    },
    // A user chooses the snapshot's name.
    forName: snapshot ? { 'volumesnapshot.name': snapshot.name } : {},
  });
}
