// Records the calls that a proxy forwards, as their caller sees them.

import { CsiError } from '../csi/csi-error.ts';
import type { ProxyInterceptor } from '../proxy/proxy-interceptor.ts';
import { grpcCodes } from '../wire/grpc/grpc-code.ts';
import { type EndedCall, LONGEST_MESSAGE_BYTES, type Recorder } from './recorder.ts';

/** To be the outermost: what other interceptors do to a call is part of what its caller sees. */
export function recordingInterceptor(recorder: Recorder): ProxyInterceptor {
  return async (call, next) => {
    const { path, method, requestBytes, caller } = call;
    const request = requestBytes > LONGEST_MESSAGE_BYTES ? undefined : call.request;
    const end = recorder.begin({ path, method, request, requestBytes, caller });
    try {
      const answer = await next();
      const { code, text, details, isLost, bytes = 0 } = answer;
      const isHeld = code === grpcCodes.OK && bytes <= LONGEST_MESSAGE_BYTES;
      end({ code, text, details, isLost, bytes, ...(isHeld && { response: answer.messages[0] }) });
      return answer;
    } catch (error) {
      end(endOf(error));
      throw error;
    }
  };
}

/** A CsiError of an interceptor is the answer; anything else the proxy answers with INTERNAL. */
export function endOf(error: unknown): EndedCall {
  if (!(error instanceof CsiError)) return { code: grpcCodes.INTERNAL, text: '', isLost: true };
  const { rawCode, description, details, uncertain } = error;
  return { code: rawCode, text: description, details, isLost: uncertain };
}
