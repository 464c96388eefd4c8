// A component's report about an object: the newest warning Event, or an error in a status. Cause and gRPC code are parsed from
// the text, since the API has no field for them; both Berth's form and that of the official Go programs are known. Pure.

import type { Event } from '../api/kinds.ts';
import type { KubeObject } from '../api/object.ts';
import { allGrpcCodes, type GrpcCode, goCodeName, grpcCodes } from '../wire/grpc/grpc-code.ts';
import { warningsAbout } from './fact-index.ts';
import type { Facts } from './facts.ts';

export interface Report {
  /** The cause in the words of the component that met it: the driver's own where it answered. */
  readonly words: string;
  /** The code with which the driver answered. */
  readonly code?: GrpcCode;
  /** `CreateVolume`. */
  readonly call?: string;
  /** Of the driver, where it could not be reached. */
  readonly socket?: string;
  /** How often it was reported. */
  readonly times: number;
  readonly lastMs: number;
}

/** The binder's events repeat what the objects show, and stay when that has changed. */
const BINDERS: ReadonlySet<string | undefined> = new Set([
  'persistentvolume-controller',
  'persistent-volume-binder',
]);

/** The newest warning about one of the objects, with one of these reasons; of equally new ones, about the first object. */
export function newestReport(
  facts: Facts,
  objects: readonly (KubeObject | undefined)[],
  reasons: readonly string[],
): Report | undefined {
  let newest: Event | undefined;
  for (const object of objects) {
    for (const event of object ? warningsAbout(facts, object) : []) {
      if (!reasons.includes(event.reason ?? '') || BINDERS.has(event.source?.component)) continue;
      if (newest === undefined || lastSeenMs(event) > lastSeenMs(newest)) newest = event;
    }
  }
  if (newest?.message === undefined) return undefined;
  return reportOf(newest.message, { times: newest.count ?? 1, lastMs: lastSeenMs(newest) });
}

/** An error in the object's status. How often it occurred is in the events about it, if at all. */
export function reportInStatus(
  facts: Facts,
  error: { message?: string; time?: string } | undefined,
  objects: readonly (KubeObject | undefined)[],
): Report | undefined {
  if (!error?.message) return undefined;
  const report = reportOf(error.message, { times: 1, lastMs: Date.parse(error.time ?? '') || 0 });
  const same = objects
    .flatMap((object) => (object ? warningsAbout(facts, object) : []))
    .filter(({ message }) => message !== undefined && reportOf(message).words === report.words);
  return { ...report, times: Math.max(1, ...same.map(({ count }) => count ?? 1)) };
}

export function lastSeenMs(event: Event): number {
  return Date.parse(event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp);
}

/** `CreateVolume at /csi.sock failed: OUT_OF_RANGE: too large`, as CsiError writes it. */
const OURS = /(\w+)(?: at (\S+))? failed: ([A-Z_]+)(?: \(code [^)]*\))?: (.*)$/s;
/** `rpc error: code = OutOfRange desc = too large`, as Go's gRPC writes it. */
const GO = /rpc error: code = (\w+) desc = (.*)$/s;
const GO_SOCKET = /dial unix (\S+?):/;
/** What components write around a cause that came to them, and what they add to it. */
const FRAMES: readonly RegExp[] = [
  /^Volume provisioning failed with infeasible error\. Retries will be delayed\. /,
  /^failed to provision volume with StorageClass "[^"]*": /,
  /^(?:AttachVolume\.Attach|MountVolume\.\w+|UnmountVolume\.\w+|NodeExpandVolume) failed for volume "[^"]*" : /,
  /^\S+ volume \S+ is not attached to node \S+: the attacher reports: /,
  /^Failed to (?:create|delete) snapshot: /,
  /^ephemeral volume \S+: create PVC \S+: /,
  /^inline volume is still attached to node \S+: /,
];
const TAILS: readonly RegExp[] = [
  /; a volume may exist, asking again until that is certain$/,
  /; check that the driver runs and listens there$/,
  /; no answer (?:in time|within \d+ ms), the driver may still be working on it$/,
  /; the driver does not offer this call, check the capabilities it reports$/,
  /; trying again$/,
];

export function reportOf(text: string, seen: { times: number; lastMs: number } = NEVER): Report {
  const ours = OURS.exec(text);
  const [, call = '', socket, codeName = '', answer = ''] = ours ?? [];
  if (ours && Object.hasOwn(grpcCodes, codeName)) {
    const code = codeName as GrpcCode;
    return {
      ...seen,
      words: withoutTails(answer),
      code,
      call,
      ...(socket !== undefined && code === 'UNAVAILABLE' && { socket }),
    };
  }
  const [, goCode, goWords = ''] = GO.exec(text) ?? [];
  const code = allGrpcCodes.find((each) => goCodeName(grpcCodes[each]) === goCode);
  const dialled = code === 'UNAVAILABLE' ? GO_SOCKET.exec(goWords)?.[1] : undefined;
  if (code !== undefined)
    return { ...seen, words: withoutTails(goWords), code, ...(dialled && { socket: dialled }) };
  return {
    ...seen,
    words: withoutTails(FRAMES.reduce((words, frame) => words.replace(frame, ''), text)),
  };
}

const NEVER = { times: 1, lastMs: 0 };

/** On one line: drivers pass on what commands print. */
function withoutTails(text: string): string {
  return TAILS.reduce((words, tail) => words.replace(tail, ''), text).replaceAll(/\s*\n\s*/g, ' ');
}
