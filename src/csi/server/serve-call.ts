// Runs one incoming call through the interceptors to its handler, and turns every failure into a CsiError that may be sent
// to the caller. Used by the socket server and the loopback; knows neither.

import type { Log } from '../../runtime/ports.ts';
import type { CallContext } from '../../wire/grpc/call-context.ts';
import { grpcCodes } from '../../wire/grpc/grpc-code.ts';
import { methodPath } from '../../wire/grpc/method-path.ts';
import { create } from '../../wire/protobuf/create.ts';
import type { DescMessage, DescMethod, Message, MessageInitShape } from '../../wire/protobuf/descriptor.ts';
import { CsiError } from '../csi-error.ts';
import { withoutSecrets } from '../secrets/secret-values.ts';
import type { ServiceImplementation } from './service-implementation.ts';

export interface IncomingCall {
  readonly method: DescMethod;
  /** `/csi.v1.Controller/CreateVolume` */
  readonly path: string;
  readonly request: Message;
  readonly context: CallContext;
}

/** What `next` resolves to: the response; for a stream, undefined once its last message went out. */
export type Interceptor = (
  call: IncomingCall,
  next: () => Promise<Message | undefined>,
) => Promise<Message | undefined>;

/** Hands one message of a stream to the caller; resolves when there is room for another. */
export type Send = (message: Message) => Promise<void>;

export interface ServedMethod {
  readonly method: DescMethod;
  readonly path: string;
  run(request: Message, context: CallContext, send: Send): Promise<Message | undefined>;
}

/** The methods of these services by path. Throws when a service is implemented twice. */
export function servedMethods(options: {
  services: readonly ServiceImplementation[];
  interceptors: readonly Interceptor[];
  log: Log;
}): Map<string, ServedMethod> {
  const served = new Map<string, ServedMethod>();
  for (const implementation of options.services) {
    for (const method of implementation.service.methods) {
      const path = methodPath(method);
      if (served.has(path))
        throw new Error(`service ${implementation.service.typeName} is implemented twice`);
      served.set(path, servedMethod(implementation, method, options));
    }
  }
  return served;
}

function servedMethod(
  implementation: ServiceImplementation,
  method: DescMethod,
  options: { interceptors: readonly Interceptor[]; log: Log },
): ServedMethod {
  const path = methodPath(method);
  return {
    method,
    path,
    async run(request, context, send) {
      const call: IncomingCall = { method, path, request, context };
      // Innermost, so that interceptors see the error that the caller gets.
      const guarded = async (): Promise<Message | undefined> => {
        try {
          return await invoke(implementation, call, send);
        } catch (error) {
          throw presentable(error, call, options.log);
        }
      };
      const chain = options.interceptors.reduceRight<() => Promise<Message | undefined>>(
        (next, interceptor) => () => interceptor(call, next),
        guarded,
      );
      try {
        return await chain();
      } catch (error) {
        throw presentable(error, call, options.log);
      }
    },
  };
}

async function invoke(
  implementation: ServiceImplementation,
  call: IncomingCall,
  send: Send,
): Promise<Message | undefined> {
  const { method, request, context } = call;
  const handler = implementation.handlers[method.localName];
  if (typeof handler !== 'function') {
    throw new CsiError({
      code: 'UNIMPLEMENTED',
      message: `${method.name} is not implemented by this driver`,
    });
  }
  const result: unknown = handler.call(implementation.handlers, request, context);
  if (method.methodKind === 'unary')
    return create(method.output, (await result) as MessageInitShape<DescMessage>);
  for await (const part of result as AsyncIterable<MessageInitShape<DescMessage>>) {
    if (context.signal.aborted) throw new CsiError({ code: 'CANCELLED', message: 'the caller gave up' });
    await send(create(method.output, part));
  }
  return undefined;
}

/** A CsiError is sent as it is. Anything else is a bug in the driver: logged in full, not sent to the caller. */
function presentable(error: unknown, call: IncomingCall, log: Log): CsiError {
  const clean = (text: string): string => withoutSecrets(text, call.method.input, call.request);
  if (error instanceof CsiError && error.rawCode !== grpcCodes.OK) {
    const message = clean(error.description);
    if (message === error.description) return error;
    return new CsiError({ code: error.rawCode, message, ...(error.details && { details: error.details }) });
  }
  const { signal } = call.context;
  if (signal.aborted && (error === signal.reason || (error as Error | undefined)?.name === 'AbortError')) {
    return new CsiError({ code: 'CANCELLED', message: `${call.method.name} was given up`, cause: error });
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  log.error(`${call.method.name} failed unexpectedly; answering INTERNAL`, clean(text), {
    method: call.path,
  });
  return new CsiError({
    code: 'INTERNAL',
    message: `${call.method.name} failed unexpectedly; the driver's log tells why`,
    cause: error,
  });
}
