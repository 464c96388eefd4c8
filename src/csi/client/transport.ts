// The CSI port: calls to a driver. connect-csi.ts implements it over a unix socket, loopback-transport.ts in one process,
// the simulation over a link that can fail. Every failure is a CsiError with a gRPC code.

import type {
  DescMessage,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from '../../wire/protobuf/descriptor.ts';

export interface CsiCallOptions {
  /** Every call has a deadline. */
  timeoutMs: number;
  signal?: AbortSignal;
}

export interface CsiTransport {
  call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    options: CsiCallOptions,
  ): Promise<MessageShape<O>>;
}

/** What also carries calls that are answered by a stream (SnapshotMetadata). The deadline is the whole stream's. */
export interface CsiStreamTransport extends CsiTransport {
  /** The call begins with the first message asked for; leaving the loop early cancels it. */
  stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageInitShape<I>,
    options: CsiCallOptions,
  ): AsyncIterable<MessageShape<O>>;
}
