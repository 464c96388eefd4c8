// Many messages for one reason on one object are one event: from the tenth within ten minutes on they are
// "(combined from similar events)", so that a message with a time or a number in it cannot make an event a try.

import type { Clock } from '../ports.ts';
import { type Remark, similarKey, truncateMessage } from './event-record.ts';
import { LruMap } from './lru-map.ts';

const MOST_MESSAGES = 10;
const INTERVAL_MS = 600_000;

export interface EventAggregator {
  /** The remark to record, and the key under which its repetitions are counted. */
  aggregate(remark: Remark): { remark: Remark; key: string };
}

export function createEventAggregator(options: {
  clock: Pick<Clock, 'monotonicMs'>;
  remembered: number;
}): EventAggregator {
  const { clock, remembered } = options;
  const seen = new LruMap<string, { messages: Set<string>; lastMs: number }>(remembered);
  return {
    aggregate(remark) {
      const nowMs = clock.monotonicMs();
      const similar = similarKey(remark);
      let record = seen.get(similar);
      if (record === undefined || nowMs - record.lastMs > INTERVAL_MS) {
        record = { messages: new Set(), lastMs: nowMs };
        seen.set(similar, record);
      }
      record.lastMs = nowMs;
      record.messages.add(remark.message);
      if (record.messages.size < MOST_MESSAGES) return { remark, key: `${similar}\n${remark.message}` };
      // The set must not grow with each new message; which one leaves does not matter.
      for (const message of record.messages) {
        record.messages.delete(message);
        break;
      }
      const message = truncateMessage(`(combined from similar events): ${remark.message}`);
      return { remark: { ...remark, message }, key: similar };
    },
  };
}
