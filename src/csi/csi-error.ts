// The one error of CSI calls. A driver throws it to answer with a code; a client gets it for every failure, with the
// call, the socket and what to look at next in its message. Never carries a request or a secret.

import { ExpectedError } from '../runtime/expected-error.ts';
import { type GrpcCode, grpcCodeOf, grpcCodes } from '../wire/grpc/grpc-code.ts';

export interface CsiErrorInit {
  /** A name, or a number from the wire; a number gRPC does not define becomes UNKNOWN and is kept in `rawCode`. */
  code: GrpcCode | number;
  /** The driver's own text. */
  message: string;
  /** `CreateVolume`, when a call failed; absent in an error a driver throws. */
  method?: string;
  /** Where the driver was called. */
  address?: string;
  timeoutMs?: number;
  /** Serialized `google.rpc.Status`, when the driver sent one. */
  details?: Uint8Array;
  /** The code is ours, not the driver's word on what it did. */
  uncertain?: boolean;
  cause?: unknown;
}

export class CsiError extends ExpectedError {
  override readonly name = 'CsiError';
  readonly code: GrpcCode;
  /** The number on the wire. */
  readonly rawCode: number;
  /** The driver's own text, without the frame that `message` puts around it. */
  readonly description: string;
  readonly method: string | undefined;
  readonly address: string | undefined;
  readonly details: Uint8Array | undefined;
  /** True when the driver's answer was lost on our side: whatever the code says, the driver may have acted. */
  readonly uncertain: boolean;

  constructor(init: CsiErrorInit) {
    const rawCode = typeof init.code === 'number' ? init.code : grpcCodes[init.code];
    const code = grpcCodeOf(rawCode) ?? 'UNKNOWN';
    super(frame(init, code, rawCode), init.cause);
    this.code = code;
    this.rawCode = rawCode;
    this.description = init.message;
    this.method = init.method;
    this.address = init.address;
    this.details = init.details;
    this.uncertain = init.uncertain ?? false;
  }
}

function frame(init: CsiErrorInit, code: GrpcCode, rawCode: number): string {
  if (init.method === undefined) return init.message;
  const where = init.address === undefined ? '' : ` at ${init.address}`;
  const label = grpcCodeOf(rawCode) === undefined ? `${code} (code ${rawCode}, not defined by gRPC)` : code;
  const next = nextStep(init, code);
  return `${init.method}${where} failed: ${label}: ${init.message}${next === '' ? '' : `; ${next}`}`;
}

function nextStep(init: CsiErrorInit, code: GrpcCode): string {
  switch (code) {
    case 'UNAVAILABLE':
      return 'check that the driver runs and listens there';
    case 'DEADLINE_EXCEEDED': {
      const within = init.timeoutMs === undefined ? 'in time' : `within ${init.timeoutMs} ms`;
      return `no answer ${within}, the driver may still be working on it`;
    }
    case 'UNIMPLEMENTED':
      return 'the driver does not offer this call, check the capabilities it reports';
    default:
      return '';
  }
}

/** The code of a failure; undefined for what did not come from a CSI call. */
export function codeOf(error: unknown): GrpcCode | undefined {
  return error instanceof CsiError ? error.code : undefined;
}
