// The 17 gRPC codes under the names the CSI specification uses, their numbers on the wire, and the names under which
// Go programs print them (metrics labels of the official sidecars). Pure.

export const grpcCodes = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

export type GrpcCode = keyof typeof grpcCodes;

export const allGrpcCodes = Object.keys(grpcCodes) as GrpcCode[];

/** The name of a code, or undefined for a number gRPC does not define. */
export function grpcCodeOf(number: number): GrpcCode | undefined {
  return allGrpcCodes[number];
}

const goNames: Record<GrpcCode, string> = {
  OK: 'OK',
  CANCELLED: 'Canceled',
  UNKNOWN: 'Unknown',
  INVALID_ARGUMENT: 'InvalidArgument',
  DEADLINE_EXCEEDED: 'DeadlineExceeded',
  NOT_FOUND: 'NotFound',
  ALREADY_EXISTS: 'AlreadyExists',
  PERMISSION_DENIED: 'PermissionDenied',
  RESOURCE_EXHAUSTED: 'ResourceExhausted',
  FAILED_PRECONDITION: 'FailedPrecondition',
  ABORTED: 'Aborted',
  OUT_OF_RANGE: 'OutOfRange',
  UNIMPLEMENTED: 'Unimplemented',
  INTERNAL: 'Internal',
  UNAVAILABLE: 'Unavailable',
  DATA_LOSS: 'DataLoss',
  UNAUTHENTICATED: 'Unauthenticated',
};

/** As Go prints it: `DeadlineExceeded`; `Code(42)` for a number gRPC does not define. */
export function goCodeName(number: number): string {
  const code = grpcCodeOf(number);
  return code === undefined ? `Code(${number})` : goNames[code];
}
