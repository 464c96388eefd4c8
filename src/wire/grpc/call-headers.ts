// The headers of a call: its time-out on the way there, its status on the way back. Pure.

import type { HeaderField } from '../http2/header-table.ts';
import { ErrorCode } from '../http2/http2-error.ts';
import type { StreamFailure } from '../http2/http2-stream.ts';
import { grpcCodes } from './grpc-code.ts';

/** How a call ended. */
export interface CallStatus {
  readonly code: number;
  readonly text: string;
  /** Serialized `google.rpc.Status`. */
  readonly details?: Uint8Array;
  /** Decided on this side; the peer has not sent it. */
  readonly isOurs: boolean;
  readonly cause?: unknown;
}

export const contentType: HeaderField = { name: 'content-type', value: 'application/grpc' };
export const httpOk: HeaderField = { name: ':status', value: '200' };

const TIMEOUT_UNITS_MS: Readonly<Record<string, number>> = {
  n: 1e-6,
  u: 1e-3,
  m: 1,
  S: 1000,
  M: 60_000,
  H: 3_600_000,
};
/** The protocol allows eight digits. */
const MAX_TIMEOUT = 99_999_999;

export function formatTimeout(timeoutMs: number): string {
  const ms = Math.max(1, Math.ceil(timeoutMs));
  if (ms <= MAX_TIMEOUT) return `${ms}m`;
  return `${Math.min(MAX_TIMEOUT, Math.ceil(ms / 1000))}S`;
}

/** Undefined for a text that is no time-out. */
export function parseTimeout(text: string): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,8})([numSMH])$/.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits) * (TIMEOUT_UNITS_MS[unit] as number);
}

/** Percent-encodes everything but printable ASCII, and the percent sign. */
export function encodeText(text: string): string {
  if (/^[ -$&-~]*$/.test(text)) return text;
  return Array.from(Buffer.from(text), (byte) =>
    byte < 0x20 || byte > 0x7e || byte === 0x25
      ? `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
      : String.fromCharCode(byte),
  ).join('');
}

/** Never fails: what is wrongly encoded is left as it is. */
export function decodeText(text: string): string {
  if (!text.includes('%')) return text;
  const bytes: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const hex = text[at] === '%' ? /^[0-9a-f]{2}/i.exec(text.slice(at + 1, at + 3))?.[0] : undefined;
    bytes.push(hex === undefined ? text.charCodeAt(at) : Number.parseInt(hex, 16));
    if (hex !== undefined) at += 2;
  }
  return Buffer.from(bytes).toString();
}

const statusFields: readonly HeaderField[] = Object.values(grpcCodes).map((code) => ({
  name: 'grpc-status',
  value: String(code),
}));

/** The end of an answer. */
export function statusHeaders(status: { code: number; text?: string; details?: Uint8Array | undefined }): {
  known: readonly HeaderField[];
  once: readonly HeaderField[];
} {
  const { code, text = '', details } = status;
  const known = statusFields[code];
  return {
    known: known ? [known] : [],
    once: [
      ...(known ? [] : [{ name: 'grpc-status', value: String(code) }]),
      ...(text === '' ? [] : [{ name: 'grpc-message', value: encodeText(text) }]),
      ...(details ? [{ name: 'grpc-status-details-bin', value: unpaddedBase64(details) }] : []),
    ],
  };
}

function unpaddedBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replace(/=+$/, '');
}

/** Reads the HTTP status of an answer, and the status of the call from its trailers. */
export function readAnswer(fields: readonly string[]): { http?: string; type?: string; status?: CallStatus } {
  let code: number | undefined;
  let text = '';
  const answer: { http?: string; type?: string; status?: CallStatus } = {};
  let details: Uint8Array | undefined;
  for (let at = 0; at < fields.length; at += 2) {
    const value = fields[at + 1] as string;
    switch (fields[at]) {
      case ':status':
        answer.http = value;
        break;
      case 'content-type':
        answer.type = value;
        break;
      case 'grpc-status':
        code = /^\d{1,9}$/.test(value) ? Number(value) : grpcCodes.UNKNOWN;
        break;
      case 'grpc-message':
        text = decodeText(value);
        break;
      case 'grpc-status-details-bin':
        details = Buffer.from(value.split(',')[0] as string, 'base64');
        break;
    }
  }
  if (code !== undefined) answer.status = { code, text, isOurs: false, ...(details && { details }) };
  return answer;
}

const codesOfHttp: Readonly<Record<string, number>> = {
  400: grpcCodes.INTERNAL,
  401: grpcCodes.UNAUTHENTICATED,
  403: grpcCodes.PERMISSION_DENIED,
  404: grpcCodes.UNIMPLEMENTED,
  429: grpcCodes.UNAVAILABLE,
  502: grpcCodes.UNAVAILABLE,
  503: grpcCodes.UNAVAILABLE,
  504: grpcCodes.UNAVAILABLE,
};

/** The status of an answer that carries none, by gRPC's mapping of HTTP codes. */
export function statusOfHttp(http: string | undefined, type: string | undefined): CallStatus {
  const code = codesOfHttp[http ?? ''] ?? grpcCodes.UNKNOWN;
  return {
    code,
    text: `an answer that is not gRPC: HTTP status ${http}, content type ${type}`,
    isOurs: true,
  };
}

const codesOfResets: Readonly<Record<number, number>> = {
  [ErrorCode.REFUSED_STREAM]: grpcCodes.UNAVAILABLE,
  [ErrorCode.CANCEL]: grpcCodes.CANCELLED,
  [ErrorCode.ENHANCE_YOUR_CALM]: grpcCodes.RESOURCE_EXHAUSTED,
  [ErrorCode.INADEQUATE_SECURITY]: grpcCodes.PERMISSION_DENIED,
};

export function statusOfFailure({ kind, code, text }: StreamFailure): CallStatus {
  const isReset = kind === 'reset';
  return {
    code: isReset ? (codesOfResets[code] ?? grpcCodes.INTERNAL) : grpcCodes.UNAVAILABLE,
    text,
    isOurs: true,
  };
}
