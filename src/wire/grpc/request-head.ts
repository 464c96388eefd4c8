// What the headers of a request say, and why one that is not gRPC is refused: in the terms of HTTP, since its caller does
// not speak gRPC. Pure.

import { parseTimeout } from './call-headers.ts';
import { grpcCodes } from './grpc-code.ts';

export interface RequestHead {
  /** `/csi.v1.Controller/CreateVolume` */
  readonly path: string;
  readonly timeoutMs: number | undefined;
  readonly refusal: Refusal | undefined;
}

/** An HTTP status where the caller does not speak gRPC, otherwise a gRPC code. */
export type Refusal =
  | { readonly http: string; readonly text: string }
  | { readonly code: number; readonly text: string };

export function readRequestHead(fields: readonly string[], isTooLong: boolean): RequestHead {
  let path = '';
  let method = '';
  let type = '';
  let timeout: string | undefined;
  for (let at = 0; at < fields.length; at += 2) {
    const value = fields[at + 1] as string;
    const name = fields[at];
    if (name === ':path') path = value;
    else if (name === ':method') method = value;
    else if (name === 'content-type') type = value;
    else if (name === 'grpc-timeout') timeout = value;
  }
  const timeoutMs = timeout === undefined ? undefined : parseTimeout(timeout);
  let refusal: Refusal | undefined;
  if (isTooLong) refusal = { http: '431', text: 'the headers of the request are too long' };
  else if (method !== 'POST') refusal = { http: '405', text: 'this is a gRPC server: requests are POST' };
  else if (!/^application\/grpc($|[+;])/.test(type)) {
    refusal = { http: '415', text: 'this is a gRPC server: the content type is application/grpc' };
  } else if (timeout !== undefined && timeoutMs === undefined) {
    refusal = { code: grpcCodes.INTERNAL, text: `grpc-timeout ${timeout} is not a valid timeout` };
  }
  return { path, timeoutMs, refusal };
}
