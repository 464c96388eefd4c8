// Runs a driver as a process, for drivers without a command line of their own: real clock, log on standard error,
// `ready unix://SOCKET` on standard output once it serves, graceful shutdown on SIGINT and SIGTERM.

import { createLog } from '../runtime/log/log.ts';
import { realClock } from '../runtime/time/clock.ts';
import type { Driver } from './driver.ts';
import { serveDriver } from './serve-driver.ts';

export interface RunDriverOptions {
  /** `unix:///path` or a path. */
  endpoint: string;
  /** klog's `-v`: 2 shows failed calls, 5 every call; default 0. */
  verbosity?: number;
  /** The grace time for calls in flight at shutdown. */
  graceMs?: number;
  /** Called after the last call has ended. */
  close?: () => void | Promise<void>;
}

/** Resolves when the driver has stopped. */
export async function runDriver(driver: Driver, options: RunDriverOptions): Promise<void> {
  const log = createLog({ clock: realClock, verbosity: options.verbosity ?? 0 });
  const server = await serveDriver(driver, { endpoint: options.endpoint, clock: realClock, log });
  process.stdout.write(`ready unix://${server.address}\n`);
  await new Promise<void>((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
  });
  await server.stop(options.graceMs ?? 10_000);
  await options.close?.();
}
