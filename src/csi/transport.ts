// The CSI port: one unary call over a connection to a driver. The gRPC client implements it over a unix socket, the
// simulation over a link that can fail. Every failure is a CsiError with a gRPC code.

import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from '@bufbuild/protobuf';

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
