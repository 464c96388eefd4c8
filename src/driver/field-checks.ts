// The checks that operation-rules.ts uses: each validates one field of a request and describes the problem with the
// spec's field names. Pure.

import {
  type CsiError,
  VolumeCapability_AccessMode_Mode as Mode,
  type VolumeCapability,
} from '../csi/index.ts';
import { unsupported } from './capabilities.ts';
import type { Driver } from './driver.ts';
import { refuse } from './refuse.ts';

/**
 * The problem, or undefined. A string becomes INVALID_ARGUMENT; an error carries the code that the spec requires
 * instead. Fields are read by name: the table in operation-rules.ts matches checks to requests.
 */
export type Check = (request: RequestFields, driver: Driver) => string | CsiError | undefined;
export type RequestFields = Readonly<Record<string, unknown>>;

// The spec's limits: 128 bytes for strings unless the field says otherwise; the operating system's limit for paths.
const MAX_STRING_BYTES = 128;
const MAX_NODE_ID_BYTES = 256;
const MAX_PATH_BYTES = 4096;

/** The suggested name of a new object: any text without control characters other than white space. */
export const name: Check = (request) => {
  const value = text(request, 'name');
  if (value === '') return 'name is required';
  if (Buffer.byteLength(value) > MAX_STRING_BYTES) return `name is longer than ${MAX_STRING_BYTES} bytes`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that the spec bans
  return /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/.test(value)
    ? 'name holds control characters'
    : undefined;
};

export function identifier(field: string, maxBytes = MAX_STRING_BYTES): Check {
  return (request) => {
    const value = text(request, field);
    if (value === '') return `${wireName(field)} is required`;
    return badText(field, value, maxBytes);
  };
}

export const nodeId: Check = identifier('nodeId', MAX_NODE_ID_BYTES);

export function optionalIdentifier(field: string, maxBytes = MAX_STRING_BYTES): Check {
  return (request) => badText(field, text(request, field), maxBytes);
}

function badText(field: string, value: string, maxBytes: number): string | undefined {
  if (Buffer.byteLength(value) > maxBytes) return `${wireName(field)} is longer than ${maxBytes} bytes`;
  if (/\p{Cc}/u.test(value)) return `${wireName(field)} holds control characters`;
  return undefined;
}

/** An absolute path without `.` and `..`, so that a prefix check on it is safe. */
export function path(field: string, options: { optional?: boolean } = {}): Check {
  return (request) => {
    const value = text(request, field);
    if (value === '') return options.optional ? undefined : `${wireName(field)} is required`;
    if (!value.startsWith('/')) return `${wireName(field)} must be an absolute path`;
    if (value.split('/').some((part) => part === '..' || part === '.')) {
      return `${wireName(field)} must not contain "." or ".." parts`;
    }
    return badText(field, value, MAX_PATH_BYTES);
  };
}

/** The path of a volume that may not be there; no volume is at a relative path. */
export function location(field: string): Check {
  return identifier(field, MAX_PATH_BYTES);
}

export const volumeCapability: Check = (request, driver) => {
  const capability = request.volumeCapability as VolumeCapability | undefined;
  if (capability === undefined) return 'volume_capability is required';
  return malformed(capability) ?? unsupported(driver, capability);
};

/** On the node, a well-formed capability that is not supported is FAILED_PRECONDITION. */
export const nodeVolumeCapability: Check = (request, driver) => {
  const capability = request.volumeCapability as VolumeCapability | undefined;
  if (capability === undefined) return 'volume_capability is required';
  const problem = unsupported(driver, capability);
  return malformed(capability) ?? (problem === undefined ? undefined : refuse.failedPrecondition(problem));
};

export const optionalVolumeCapability: Check = (request) => {
  const capability = request.volumeCapability as VolumeCapability | undefined;
  return capability && malformed(capability);
};

export const supportedVolumeCapabilities: Check = (request, driver) => {
  const capabilities = request.volumeCapabilities as VolumeCapability[];
  return (
    volumeCapabilities(request, driver) ??
    firstProblem(capabilities.map((capability) => () => unsupported(driver, capability)))
  );
};

export const volumeCapabilities: Check = (request) => {
  const capabilities = request.volumeCapabilities as VolumeCapability[];
  if (capabilities.length === 0) return 'volume_capabilities is required: at least one';
  return firstProblem(capabilities.map((capability) => () => malformed(capability)));
};

function malformed(capability: VolumeCapability): string | undefined {
  if (capability.accessType.case === undefined) return 'a volume capability must say block or mount';
  if ((capability.accessMode?.mode ?? Mode.UNKNOWN) === Mode.UNKNOWN) {
    return 'a volume capability must have an access mode';
  }
  return undefined;
}

export function capacityRange(options: { required?: boolean } = {}): Check {
  return (request) => {
    const range = request.capacityRange as { requiredBytes: bigint; limitBytes: bigint } | undefined;
    if (range === undefined) return options.required ? 'capacity_range is required' : undefined;
    if (range.requiredBytes < 0n || range.limitBytes < 0n) return 'capacity_range must not be negative';
    if (options.required && range.requiredBytes === 0n && range.limitBytes === 0n) {
      return 'capacity_range must set required_bytes or limit_bytes';
    }
    if (range.limitBytes !== 0n && range.limitBytes < range.requiredBytes) {
      return `capacity_range is empty: limit_bytes ${range.limitBytes} is less than required_bytes ${range.requiredBytes}`;
    }
    return undefined;
  };
}

export const maxEntries: Check = (request) =>
  (request.maxEntries as number) < 0 ? 'max_entries must not be negative' : undefined;

export const maxResults: Check = (request) =>
  (request.maxResults as number) < 0 ? 'max_results must not be negative' : undefined;

/** The spec's code; the driver knows the end of the volume. */
export const startingOffset: Check = (request) =>
  (request.startingOffset as bigint) < 0n
    ? refuse.outOfRange('starting_offset must not be negative')
    : undefined;

/** Rejects sources that the driver does not claim to support, so that capabilities and behaviour agree. */
export const contentSource: Check = (request, driver) => {
  const source = request.volumeContentSource as
    | { type: { case?: 'snapshot' | 'volume'; value?: { snapshotId?: string; volumeId?: string } } }
    | undefined;
  if (source === undefined) return undefined;
  const { case: kind, value } = source.type;
  if (kind === undefined) return 'volume_content_source must name a snapshot or a volume';
  if (kind === 'snapshot') {
    if (!driver.controller?.createSnapshot) return 'this driver cannot create a volume from a snapshot';
    return value?.snapshotId ? undefined : 'volume_content_source.snapshot.snapshot_id is required';
  }
  if (!driver.features?.cloneVolume) return 'this driver cannot clone volumes';
  return value?.volumeId ? undefined : 'volume_content_source.volume.volume_id is required';
};

export const mutableParameters: Check = (request, driver) =>
  Object.keys(request.mutableParameters as object).length > 0 && !driver.controller?.controllerModifyVolume
    ? 'this driver has no mutable parameters'
    : undefined;

export const readOnlyPublish: Check = (request, driver) =>
  request.readonly === true && !driver.features?.publishReadOnly
    ? 'readonly needs the capability PUBLISH_READONLY, which this driver does not have'
    : undefined;

export function identifiers(field: string, options: { atLeastOne?: boolean } = {}): Check {
  return (request) => {
    const values = request[field] as string[];
    if (options.atLeastOne && values.length === 0) return `${wireName(field)} is required: at least one`;
    if (values.some((value) => value === '')) return `${wireName(field)} holds an empty entry`;
    return firstProblem(values.map((value) => () => badText(field, value, MAX_STRING_BYTES)));
  };
}

function firstProblem(checks: (() => string | undefined)[]): string | undefined {
  for (const check of checks) {
    const problem = check();
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function text(request: RequestFields, field: string): string {
  return request[field] as string;
}

/** `volume_id` for `volumeId`: messages use the spec's spelling. */
function wireName(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
