// What the driver is asked for: the name and the parameters of a snapshot. Both depend on things that do not change, or
// are recorded before the first call: whoever asks again, after whatever crash, asks for the same snapshot. Pure.

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

/** With which parameters to ask: those of the first time, where it was asked before. Throws a SnapshotProblem. */
export function parametersFor(
  content: VolumeSnapshotContent,
  snapshotClass: VolumeSnapshotClass | undefined,
  { extraCreateMetadata }: { extraCreateMetadata: boolean },
): Record<string, string> {
  const recorded = recordedParameters(content);
  if (recorded !== undefined) return recorded;
  const { volumeSnapshotClassName, volumeSnapshotRef } = content.spec;
  if (volumeSnapshotClassName === undefined) throw new SnapshotProblem('the content names no snapshot class');
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
        `the snapshot class has the parameter ${key}, whose prefix is reserved and which is not known`,
      );
    }
    forDriver[key] = value;
  }
  return forDriver;
}

/** As it stands on the content. `attempt` makes it differ from every other record. */
export function parametersRecord(parameters: Record<string, string>, attempt: string): string {
  return JSON.stringify({ parameters, attempt });
}

/** Undefined when nothing, or nothing readable, was recorded: the official snapshotter records none. */
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
