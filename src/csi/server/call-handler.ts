// Turns the bytes of a gRPC server's calls into calls of service implementations, and their results into answers.

import type { Clock, Log } from '../../runtime/ports.ts';
import { grpcCodes } from '../../wire/grpc/grpc-code.ts';
import type { GrpcServerOptions } from '../../wire/grpc/grpc-server.ts';
import { MESSAGE_HEADROOM } from '../../wire/grpc/message-framing.ts';
import type { AnswerStatus, ServerCall } from '../../wire/grpc/server-call.ts';
import { fromBinary } from '../../wire/protobuf/decode.ts';
import type { Message } from '../../wire/protobuf/descriptor.ts';
import { toBinary } from '../../wire/protobuf/encode.ts';
import type { OperationMetrics } from '../client/operation-metrics.ts';
import { CsiError } from '../csi-error.ts';
import { loggingInterceptor, metricsInterceptor } from './call-interceptors.ts';
import { type Interceptor, type ServedMethod, servedMethods } from './serve-call.ts';
import type { ServiceImplementation } from './service-implementation.ts';

export interface CallHandlerOptions {
  services: readonly ServiceImplementation[];
  /** Outermost first; the log and the metrics are outside of all of them. */
  interceptors?: readonly Interceptor[];
  log: Log;
  clock: Clock;
  metrics?: OperationMetrics;
  maxLogLength?: number;
  /** Longer calls are given up, also when it is the caller that does not read; default: no limit. */
  maxCallMs?: number;
}

export function callHandler(options: CallHandlerOptions): GrpcServerOptions['handle'] {
  const { log, clock, metrics, maxCallMs } = options;
  const interceptors = [
    ...(metrics ? [metricsInterceptor(metrics, clock)] : []),
    loggingInterceptor(log, options.maxLogLength),
    ...(options.interceptors ?? []),
  ];
  const methods = servedMethods({ services: options.services, interceptors, log });
  return async (method, request, call) => {
    const served = methods.get(method);
    if (served === undefined) {
      call.answer({ code: grpcCodes.UNIMPLEMENTED, text: `unknown method ${method}` });
      return;
    }
    const limit =
      maxCallMs === undefined ? undefined : clock.setTimeout(() => giveUp(call, maxCallMs), maxCallMs);
    await serve(served, request, call, log);
    limit?.cancel();
  };
}

function giveUp(call: ServerCall, limitMs: number): void {
  const text = `the call took longer than ${limitMs} ms`;
  call.abort(new Error(text));
  call.answer({ code: grpcCodes.DEADLINE_EXCEEDED, text });
}

async function serve(served: ServedMethod, bytes: Buffer, call: ServerCall, log: Log): Promise<void> {
  const { method, path, run } = served;
  let request: Message;
  try {
    request = fromBinary(method.input, bytes);
  } catch (error) {
    call.answer({
      code: grpcCodes.INTERNAL,
      text: `the request is no ${method.input.typeName}: ${(error as Error).message}`,
    });
    return;
  }
  try {
    const response = await run(request, call, (message) =>
      call.send(toBinary(method.output, message, MESSAGE_HEADROOM)),
    );
    if (response) call.answer({ code: grpcCodes.OK }, toBinary(method.output, response, MESSAGE_HEADROOM));
    else call.answer({ code: grpcCodes.OK });
  } catch (error) {
    if (error instanceof CsiError) call.answer(statusOf(error));
    else {
      log.error(`the answer of ${method.name} is not a message; answering INTERNAL`, error, { method: path });
      const text = `${method.name} gave an answer that cannot be sent; the driver's log tells why`;
      call.answer({ code: grpcCodes.INTERNAL, text });
    }
  }
}

// Errors travel in HTTP/2 trailers, whose size peers limit.
const maxDescriptionLength = 4096;
const maxDetailsBytes = 32_768;

function statusOf({ description, rawCode, details }: CsiError): AnswerStatus {
  const isLong = description.length > maxDescriptionLength;
  return {
    code: rawCode,
    text: isLong ? `${description.slice(0, maxDescriptionLength)} […]` : description,
    details: details && details.length <= maxDetailsBytes ? details : undefined,
  };
}
