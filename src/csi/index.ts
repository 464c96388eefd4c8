// The public face of the CSI wire, `berth/csi`: messages and services, client, server base, the error taxonomy.

export type { IncomingCall, Interceptor } from './call-pipeline.ts';
export * from './capabilities.ts';
export { type ConnectCsiOptions, type CsiConnection, connectCsi } from './connect-csi.ts';
export { type CsiClient, csiClient } from './csi-client.ts';
export { CsiError, type CsiErrorInit, codeOf } from './csi-error.ts';
export * from './driver-name.ts';
export * from './generated/csi/v1/csi_pb.ts';
export * from './generated/csiregistration/csi_registration_pb.ts';
export * from './generated/pluginregistration/registration_pb.ts';
export type { ConnectionState } from './grpc/channel.ts';
export { allGrpcCodes, type GrpcCode, grpcCodes } from './grpc-code.ts';
export { type LoopbackOptions, loopbackTransport } from './loopback-transport.ts';
export { defaultMaxMessageBytes } from './message-limit.ts';
export { messageText } from './message-text.ts';
export { methodPath } from './method-path.ts';
export { type OperationMetrics, operationMetrics } from './operation-metrics.ts';
export {
  type CallOutcome,
  type CsiOperation,
  isFinal,
  outcomeOf,
  outcomes,
  type Verdict,
} from './outcome.ts';
export { getDriverName, getPluginInfo, probe, probeUntilReady } from './probe.ts';
export { create } from './protobuf/create.ts';
export type { Message, MessageInitShape, MessageShape } from './protobuf/descriptor.ts';
export { type Timestamp, timestampFromMs } from './protobuf/well-known.ts';
export { type CsiServer, type ServeCsiOptions, serveCsi } from './serve-csi.ts';
export {
  type CallContext,
  type Handlers,
  implement,
  type ServiceImplementation,
} from './service-implementation.ts';
export { maxSocketPathBytes, type ShortSocketPath, shortSocketPath, socketPath } from './socket-path.ts';
export type { CsiCallOptions, CsiStreamTransport, CsiTransport } from './transport.ts';
