// The name and the parameters of a CreateSnapshot or CreateVolumeGroupSnapshot request. Both are immutable or recorded
// before the first call, so a retry by any process asks for the same snapshot. Pure.

import { SNAPSHOT_SECRET_PARAMETERS } from '../../api/snapshot-secrets.ts';
import { RESERVED_PARAMETER_PREFIX } from '../../api/well-known.ts';
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

/** What the class says, without its secrets. `extra`: with `--extra-create-metadata`. Throws a SnapshotProblem. */
export function classParameters(
  { kind, name, found }: ClassOfContent,
  extra: Readonly<Record<string, string>>,
): Record<string, string> {
  if (name === undefined) throw new SnapshotProblem('the content has no snapshot class');
  if (found === undefined) throw new SnapshotProblem(`${kind} "${name}" does not exist`);
  const reserved = Object.entries(extra).map(([key, value]) => [`${RESERVED_PARAMETER_PREFIX}${key}`, value]);
  return { ...driverParameters(found.parameters ?? {}), ...Object.fromEntries(reserved) };
}

export interface ClassOfContent {
  kind: 'VolumeSnapshotClass' | 'VolumeGroupSnapshotClass';
  /** As the content names it. */
  name: string | undefined;
  found: { parameters?: Record<string, string> } | undefined;
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
export function recordedParameters(text: string | undefined): Record<string, string> | undefined {
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
