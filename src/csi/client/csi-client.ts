// Typed calls over a transport: `csiClient(Controller, transport, { timeoutMs }).createVolume({ name })`.

import type {
  DescMessage,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from '../../wire/protobuf/descriptor.ts';
import type { CsiCallOptions, CsiStreamTransport, CsiTransport } from './transport.ts';

type ClientMethod<M, T> =
  M extends DescMethodUnary<infer I, infer O>
    ? (request: MessageInitShape<I>, options?: Partial<CsiCallOptions>) => Promise<MessageShape<O>>
    : M extends DescMethodServerStreaming<infer I, infer O>
      ? T extends CsiStreamTransport
        ? (request: MessageInitShape<I>, options?: Partial<CsiCallOptions>) => AsyncIterable<MessageShape<O>>
        : never
      : never;

export type CsiClient<S extends DescService, T extends CsiTransport = CsiTransport> = {
  readonly [K in keyof S['method']]: ClientMethod<S['method'][K], T>;
};

export function csiClient<S extends DescService, T extends CsiTransport>(
  service: S,
  transport: T,
  defaults: { timeoutMs: number },
): CsiClient<S, T> {
  const methods: Record<string, unknown> = {};
  const options = (given?: Partial<CsiCallOptions>): CsiCallOptions => ({ ...defaults, ...given });
  for (const method of service.methods) {
    // Functions with a name: V8 gives an object to which nameless ones are assigned a hidden class of its own.
    if (method.methodKind === 'unary') {
      const unary = method as DescMethodUnary;
      const call = (request: MessageInitShape<DescMessage>, given?: Partial<CsiCallOptions>) =>
        transport.call(unary, request, options(given));
      methods[method.localName] = call;
    } else if (method.methodKind === 'server_streaming' && streams(transport)) {
      const streaming = method as DescMethodServerStreaming;
      const stream = (request: MessageInitShape<DescMessage>, given?: Partial<CsiCallOptions>) =>
        transport.stream(streaming, request, options(given));
      methods[method.localName] = stream;
    }
  }
  // The keys of S['method'] are the local names of its methods, by how descriptors are generated.
  return methods as CsiClient<S, T>;
}

function streams(transport: CsiTransport): transport is CsiStreamTransport {
  return 'stream' in transport;
}
