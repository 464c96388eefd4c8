// Which Secret the calls about a snapshot use: references in the parameters of a VolumeSnapshotClass, with templates
// that are filled from the snapshot and its content. The snapshot controller resolves the one for creation and
// deletion, the snapshotter the one for looking. Pure: no Secret is read here.

import { fillTemplate } from './fill-template.ts';
import type { SecretReference } from './kinds.ts';
import { isDns1123Label, isDns1123Subdomain } from './names.ts';
import { RESERVED_PARAMETER_PREFIX } from './well-known.ts';

export type SnapshotSecretKind = 'snapshotter' | 'snapshotter-list';

export interface SnapshotSecretValues {
  contentName: string;
  /** Where it is known. */
  snapshot?: { name: string; namespace: string };
}

export type SnapshotSecret = { secret: SecretReference | undefined } | { problem: string };

const keysOf = (kind: string) => ({
  name: `${RESERVED_PARAMETER_PREFIX}${kind}-secret-name`,
  namespace: `${RESERVED_PARAMETER_PREFIX}${kind}-secret-namespace`,
});

/** Every parameter of a class that is a reference to a Secret, those of group snapshots included. */
export const SNAPSHOT_SECRET_PARAMETERS: ReadonlySet<string> = new Set(
  ['snapshotter', 'snapshotter-list', 'group-snapshotter', 'group-snapshotter-get'].flatMap((kind) =>
    Object.values(keysOf(kind)),
  ),
);

/** No secret where the class names none for this kind of call; a problem, in words, where it does so badly. */
export function snapshotSecret(
  kind: SnapshotSecretKind,
  parameters: Readonly<Record<string, string>>,
  { contentName, snapshot }: SnapshotSecretValues,
): SnapshotSecret {
  const keys = keysOf(kind);
  const name = parameters[keys.name];
  const namespace = parameters[keys.namespace];
  if (name === undefined && namespace === undefined) return { secret: undefined };
  if (!name || !namespace) {
    const missing = name ? keys.namespace : keys.name;
    return {
      problem: `the snapshot class gives only half of a secret reference: parameter ${missing} is missing or empty`,
    };
  }
  // A user chooses the snapshot's name, so that never chooses a namespace.
  const forNamespace = new Map([
    ['volumesnapshotcontent.name', contentName],
    ...(snapshot ? [['volumesnapshot.namespace', snapshot.namespace] as const] : []),
  ]);
  const forName = new Map([
    ...forNamespace,
    ...(snapshot ? [['volumesnapshot.name', snapshot.name] as const] : []),
  ]);
  const filledName = filled(name, forName, isDns1123Subdomain, 'secret name');
  if ('problem' in filledName) return filledName;
  const filledNamespace = filled(namespace, forNamespace, isDns1123Label, 'namespace');
  if ('problem' in filledNamespace) return filledNamespace;
  return { secret: { name: filledName.text, namespace: filledNamespace.text } };
}

function filled(
  template: string,
  values: ReadonlyMap<string, string>,
  isValid: (text: string) => boolean,
  what: string,
): { text: string } | { problem: string } {
  const { text, unknown } = fillTemplate(template, values);
  if (unknown.length > 0) {
    const tokens = unknown.map((token) => `\${${token}}`).join(', ');
    return {
      problem: `the ${what} "${template}" in the snapshot class uses ${tokens}, which has no value here`,
    };
  }
  if (isValid(text)) return { text };
  const became = text === template ? '' : ` becomes "${text}", which`;
  return { problem: `"${template}" in the snapshot class${became} is not a valid ${what}` };
}
