// Limits how many connections a server has at once. Others are closed as they come, and reported from time to time.

import type { Server } from 'node:net';
import type { Clock } from './clock.ts';
import { TokenBucket } from './token-bucket.ts';

/** Reports a second: one every ten seconds. */
const REPORTS_PER_SECOND = 0.1;

export interface ConnectionLimit {
  readonly max: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** `count` connections were closed since the last report. */
  report(count: number): void;
}

export function limitConnections(server: Server, { max, clock, report }: ConnectionLimit): void {
  const reports = new TokenBucket({ clock, burst: 1, perSecond: REPORTS_PER_SECOND });
  let count = 0;
  server.maxConnections = max;
  server.on('drop', () => {
    count++;
    if (!reports.take()) return;
    report(count);
    count = 0;
  });
}
