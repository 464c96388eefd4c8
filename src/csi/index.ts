// The public face of the CSI wire, `berth/csi`: messages and services, client, server base, the error taxonomy.

export type { CallContext } from '../wire/grpc/call-context.ts';
export type { ConnectionState } from '../wire/grpc/channel.ts';
export { allGrpcCodes, type GrpcCode, grpcCodes } from '../wire/grpc/grpc-code.ts';
export { defaultMaxMessageBytes } from '../wire/grpc/message-limit.ts';
export { methodPath } from '../wire/grpc/method-path.ts';
export { create } from '../wire/protobuf/create.ts';
export type { Message, MessageInitShape, MessageShape } from '../wire/protobuf/descriptor.ts';
export { type Timestamp, timestampFromMs } from '../wire/protobuf/well-known.ts';
export { type ConnectCsiOptions, type CsiConnection, connectCsi } from './client/connect-csi.ts';
export { type CsiClient, csiClient } from './client/csi-client.ts';
export { type LoopbackOptions, loopbackTransport } from './client/loopback-transport.ts';
export { type OperationMetrics, operationMetrics } from './client/operation-metrics.ts';
export { getDriverName, getPluginInfo, probe, probeUntilReady } from './client/probe.ts';
export type { CsiCallOptions, CsiStreamTransport, CsiTransport } from './client/transport.ts';
export { CsiError, type CsiErrorInit, codeOf } from './csi-error.ts';
export * from './generated/csi/v1/csi_pb.ts';
export * from './generated/csiregistration/csi_registration_pb.ts';
export * from './generated/pluginregistration/registration_pb.ts';
export * from './messages/capabilities.ts';
export { messageText } from './messages/message-text.ts';
export * from './names/driver-name.ts';
export {
  maxSocketPathBytes,
  type ShortSocketPath,
  shortSocketPath,
  socketPath,
} from './names/socket-path.ts';
export {
  type CallOutcome,
  type CsiOperation,
  type EarlierCalls,
  isFinal,
  outcomeOf,
  outcomes,
  provesNothingMade,
  type Verdict,
} from './outcome.ts';
export type { IncomingCall, Interceptor } from './server/serve-call.ts';
export { type CsiServer, type ServeCsiOptions, serveCsi } from './server/serve-csi.ts';
export {
  type Handlers,
  implement,
  type ServiceImplementation,
} from './server/service-implementation.ts';
