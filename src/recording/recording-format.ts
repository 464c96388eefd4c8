// The lines of a recording: JSON lines, the first of which is the header. docs/recording.md is the reference. A change that
// an older reader would misunderstand gets a new version.

import type { JsonObject } from '../wire/protobuf/json.ts';

export const FORMAT = 'berth.csi-recording';
export const VERSION = 1;

/** The first line. */
export interface HeaderLine {
  readonly format: typeof FORMAT;
  readonly version: number;
  /** Wall-clock time from which `atMs` counts. */
  readonly startedAt: string;
  /** The program that wrote it. */
  readonly by: string;
}

/** A call arrived. */
export interface CallLine {
  readonly kind: 'call';
  /** Counted from 1 in the order of arrival. */
  readonly id: number;
  readonly atMs: number;
  /** `/csi.v1.Controller/CreateVolume` */
  readonly method: string;
  /** In the JSON mapping of proto3. Absent if it was too large, could not be read, or is not of CSI. */
  readonly request?: JsonObject;
  /** Paths of the fields whose values were secrets and were left out or replaced. */
  readonly stripped?: readonly string[];
  /** Length on the wire of a request that was too large to be recorded. */
  readonly omittedBytes?: number;
  /** Connections are counted from 1. */
  readonly caller?: { readonly connection?: number; readonly agent?: string };
  /** The driver's socket, where calls to several are recorded. */
  readonly target?: string;
}

/** A call ended. */
export interface AnswerLine {
  readonly kind: 'answer';
  /** That of its call. */
  readonly id: number;
  readonly atMs: number;
  /** A name of gRPC, or a number that it does not define. */
  readonly code: string | number;
  readonly message?: string;
  /** Serialized `google.rpc.Status`, in base64. */
  readonly details?: string;
  /** The driver did not send this status: the call was lost or given up. The driver may have acted. */
  readonly lost?: true;
  readonly response?: JsonObject;
  readonly stripped?: readonly string[];
  readonly omittedBytes?: number;
  /** The answer was a stream, whose messages are not recorded. */
  readonly streamed?: true;
}
