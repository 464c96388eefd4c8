// The first questions to a driver: is it ready, and what is its name.

import type { Clock, Log } from '../../runtime/ports.ts';
import { type CsiError, codeOf } from '../csi-error.ts';
import { type GetPluginInfoResponse, Identity } from '../generated/csi/v1/csi_pb.ts';
import { type DriverName, parseDriverName } from '../names/driver-name.ts';
import { csiClient } from './csi-client.ts';
import type { CsiTransport } from './transport.ts';

/** As often as the official components ask. */
const probeIntervalMs = 1000;

/** True when the driver says it is ready; a driver that leaves the answer empty is. Throws what the call throws. */
export async function probe(
  transport: CsiTransport,
  options: { timeoutMs: number; signal?: AbortSignal },
): Promise<boolean> {
  const response = await csiClient(Identity, transport, options).probe({}, options);
  return response.ready ?? true;
}

/**
 * Asks until the driver is ready. A driver that is not there yet, is slow, or says "not ready" is asked again for ever;
 * any other failure means that the driver itself reports a problem, and is thrown.
 */
export async function probeUntilReady(
  transport: CsiTransport,
  options: { clock: Clock; log: Log; timeoutMs: number; signal?: AbortSignal },
): Promise<void> {
  const { clock, log, timeoutMs, signal } = options;
  const call = { timeoutMs, ...(signal && { signal }) };
  for (;;) {
    signal?.throwIfAborted();
    try {
      if (await probe(transport, call)) return;
      log.warn('the driver answers but is not ready yet; asking again', { inMs: probeIntervalMs });
    } catch (error) {
      signal?.throwIfAborted();
      const code = codeOf(error);
      if (code !== 'DEADLINE_EXCEEDED' && code !== 'UNAVAILABLE') throw error;
      log.warn('the driver did not answer a probe; asking again', {
        error: (error as CsiError).message,
        inMs: probeIntervalMs,
      });
    }
    await clock.sleep(probeIntervalMs, signal);
  }
}

export async function getPluginInfo(
  transport: CsiTransport,
  options: { timeoutMs: number; signal?: AbortSignal },
): Promise<GetPluginInfoResponse> {
  return await csiClient(Identity, transport, options).getPluginInfo({}, options);
}

/** The driver's name, checked; a name that must not be used is an error. */
export async function getDriverName(
  transport: CsiTransport,
  options: { timeoutMs: number; signal?: AbortSignal },
): Promise<DriverName> {
  return parseDriverName((await getPluginInfo(transport, options)).name);
}
