// How a driver says what it implements: a service's descriptor with handlers typed from it. Handlers left out answer
// UNIMPLEMENTED. Nothing here knows how calls arrive; see serve-csi.ts and loopback-transport.ts.

import type { CallContext } from '../../wire/grpc/call-context.ts';
import type {
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from '../../wire/protobuf/descriptor.ts';

type Handler<M> =
  M extends DescMethodUnary<infer I, infer O>
    ? (request: MessageShape<I>, context: CallContext) => MessageInitShape<O> | Promise<MessageInitShape<O>>
    : M extends DescMethodServerStreaming<infer I, infer O>
      ? (request: MessageShape<I>, context: CallContext) => AsyncIterable<MessageInitShape<O>>
      : never;

/** The handlers of a service; `createVolume(request, context)` and so on. A class instance will do. */
export type Handlers<S extends DescService> = { [K in keyof S['method']]?: Handler<S['method'][K]> };

export interface ServiceImplementation {
  readonly service: DescService;
  readonly handlers: Readonly<Record<string, unknown>>;
}

export function implement<S extends DescService>(service: S, handlers: Handlers<S>): ServiceImplementation {
  return { service, handlers: handlers as Record<string, unknown> };
}
