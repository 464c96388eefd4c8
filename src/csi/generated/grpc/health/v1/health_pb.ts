// Generated from proto/grpc/health/v1/health.proto by scripts/generate-proto.ts.

import type { DescMessage, Message, UnknownEnum } from '../../../../../wire/protobuf/descriptor.ts';
import { protoFile } from '../../../../../wire/protobuf/proto-file.ts';
import { wellKnown } from '../../../../../wire/protobuf/well-known.ts';

const file = protoFile('grpc.health.v1', wellKnown);

export type HealthCheckRequest = Message<'grpc.health.v1.HealthCheckRequest'> & {
  service: string;
};
export const HealthCheckRequestSchema: DescMessage<HealthCheckRequest> = file.message('HealthCheckRequest', `
  1 service string
`);

export const HealthCheckResponse_ServingStatus = file.enumeration('HealthCheckResponse.ServingStatus', {
  UNKNOWN: 0,
  SERVING: 1,
  NOT_SERVING: 2,
  SERVICE_UNKNOWN: 3,
});
export type HealthCheckResponse_ServingStatus = (typeof HealthCheckResponse_ServingStatus)[keyof typeof HealthCheckResponse_ServingStatus] | UnknownEnum;

export type HealthCheckResponse = Message<'grpc.health.v1.HealthCheckResponse'> & {
  status: HealthCheckResponse_ServingStatus;
};
export const HealthCheckResponseSchema: DescMessage<HealthCheckResponse> = file.message('HealthCheckResponse', `
  1 status HealthCheckResponse.ServingStatus
`);

export const Health = file.service('Health', {
  check: { methodKind: 'unary', input: HealthCheckRequestSchema, output: HealthCheckResponseSchema },
  watch: { methodKind: 'server_streaming', input: HealthCheckRequestSchema, output: HealthCheckResponseSchema },
});
