// The record of an outgoing call: a log line at -v=5, and its duration in the metrics.

import type { Clock, Log } from '../../runtime/ports.ts';
import type { DescMethod, Message } from '../../wire/protobuf/descriptor.ts';
import type { CsiError } from '../csi-error.ts';
import { messageText } from '../messages/message-text.ts';
import type { OperationMetrics } from './operation-metrics.ts';

export interface CallRecord {
  succeeded(response?: Message): void;
  failed(error: CsiError): void;
}

export interface CallRecorder {
  log: Log;
  clock: Clock;
  metrics: OperationMetrics | undefined;
  maxLogLength: number;
}

export function recordCall(
  recorder: CallRecorder,
  method: DescMethod,
  path: string,
  request: Message,
): CallRecord {
  const { clock, metrics, maxLogLength } = recorder;
  const startMs = clock.monotonicMs();
  const log = recorder.log.v(5);
  if (log.enabled) {
    log.info('CSI call', { method: path, request: messageText(method.input, request, maxLogLength) });
  }
  const observe = (rawCode: number): void =>
    metrics?.observe({ path, rawCode, seconds: (clock.monotonicMs() - startMs) / 1000 });
  return {
    succeeded(response) {
      observe(0);
      if (!log.enabled) return;
      log.info('CSI response', {
        method: path,
        ...(response && { response: messageText(method.output, response, maxLogLength) }),
      });
    },
    failed(error) {
      observe(error.rawCode);
      if (log.enabled)
        log.info('CSI call failed', { method: path, code: error.code, error: error.description });
    },
  };
}
