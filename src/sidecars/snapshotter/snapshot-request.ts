// The name and the parameters of a CreateSnapshot request. Both are immutable or recorded before the first call, so a
// retry by any process asks for the same snapshot. Pure.

import type { VolumeSnapshotClass, VolumeSnapshotContent } from '../../api/kinds.ts';
import { SNAPSHOT_SECRET_PARAMETERS } from '../../api/snapshot-secrets.ts';
import { ANN_SNAPSHOT_PARAMETERS, RESERVED_PARAMETER_PREFIX } from '../../api/well-known.ts';
import { SnapshotProblem } from './snapshot-problem.ts';

export interface SnapshotNaming {
  /** `--snapshot-name-prefix` */
  prefix: string;
  /** `--snapshot-name-uuid-length`; -1 for the whole UID with its dashes. */
  uuidLength: number;
}

export function snapshotNameFor(snapshotUid: string, { prefix, uuidLength }: SnapshotNaming): string {
  const id = uuidLength === -1 ? snapshotUid : snapshotUid.replaceAll('-', '').slice(0, uuidLength);
  return `${prefix}-${id}`;
}

/** The parameters of the call: those recorded by the first call, if there was one. Throws a SnapshotProblem. */
export function parametersFor(
  content: VolumeSnapshotContent,
  snapshotClass: VolumeSnapshotClass | undefined,
  { extraCreateMetadata }: { extraCreateMetadata: boolean },
): Record<string, string> {
  const recorded = recordedParameters(content);
  if (recorded !== undefined) return recorded;
  const { volumeSnapshotClassName, volumeSnapshotRef } = content.spec;
  if (volumeSnapshotClassName === undefined) throw new SnapshotProblem('the content has no snapshot class');
  if (snapshotClass === undefined) {
    throw new SnapshotProblem(`VolumeSnapshotClass "${volumeSnapshotClassName}" does not exist`);
  }
  return {
    ...driverParameters(snapshotClass.parameters ?? {}),
    ...(extraCreateMetadata && {
      [`${RESERVED_PARAMETER_PREFIX}volumesnapshot/name`]: volumeSnapshotRef.name ?? '',
      [`${RESERVED_PARAMETER_PREFIX}volumesnapshot/namespace`]: volumeSnapshotRef.namespace ?? '',
      [`${RESERVED_PARAMETER_PREFIX}volumesnapshotcontent/name`]: content.metadata.name,
    }),
  };
}

function driverParameters(parameters: Readonly<Record<string, string>>): Record<string, string> {
  const forDriver: Record<string, string> = {};
  for (const [key, value] of Object.entries(parameters)) {
    if (SNAPSHOT_SECRET_PARAMETERS.has(key)) continue;
    if (key.startsWith(RESERVED_PARAMETER_PREFIX)) {
      throw new SnapshotProblem(
        `the snapshot class has the parameter ${key}, which has a reserved prefix and is unknown`,
      );
    }
    forDriver[key] = value;
  }
  return forDriver;
}

/** The annotation's value. `attempt` makes it differ from every other record. */
export function parametersRecord(parameters: Record<string, string>, attempt: string): string {
  return JSON.stringify({ parameters, attempt });
}

/** Undefined when nothing readable was recorded: the official snapshotter records none. */
function recordedParameters({ metadata }: VolumeSnapshotContent): Record<string, string> | undefined {
  const text = metadata.annotations?.[ANN_SNAPSHOT_PARAMETERS];
  if (text === undefined) return undefined;
  try {
    const value: unknown = (JSON.parse(text) as { parameters?: unknown } | null)?.parameters;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    if (!Object.values(value).every((each) => typeof each === 'string')) return undefined;
    return value as Record<string, string>;
  } catch {
    return undefined;
  }
}
