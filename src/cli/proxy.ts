// `berth proxy`: stands between a driver and whoever calls it. Prints `ready unix://SOCKET` once it serves.

import { socketPath } from '../csi/names/socket-path.ts';
import { ActiveFaults } from '../faults/active-faults.ts';
import { checkForProxy, faultInterceptor } from '../faults/fault-interceptor.ts';
import { controlSocketOf, serveFaults } from '../faults/serve-faults.ts';
import type { ProxyInterceptor } from '../proxy/proxy-interceptor.ts';
import { serveProxy } from '../proxy/serve-proxy.ts';
import { openRecorder } from '../recording/recorder.ts';
import { recordingInterceptor } from '../recording/recording-interceptor.ts';
import { stringFlag } from '../runtime/flags/flag.ts';
import { realRandom } from '../runtime/random.ts';
import { realClock } from '../runtime/time/clock.ts';
import { aborted } from '../runtime/time/until-aborted.ts';
import { defineCommand } from './command.ts';
import { addFaults, faultFlag } from './fault-flag.ts';
import { packageVersion } from './version.ts';

/** Calls under way when it is told to stop may end within this time. */
const GRACE_MS = 10_000;

export const command = defineCommand({
  summary: 'Forwards CSI calls to a driver, between it and its sidecars or the kubelet',
  description:
    'Any driver in any language. Deadlines, metadata, errors and cancellation pass through, and so do methods that are not ' +
    'of CSI. The driver may start later, stop and come back: meanwhile calls are answered UNAVAILABLE.',
  flags: {
    listen: stringFlag({ help: 'Socket to listen on, unix:///path', required: true }),
    driver: stringFlag({ help: "The driver's socket, unix:///path", required: true }),
    fault: faultFlag(
      "A fault from the start, as 'CreateVolume fail UNAVAILABLE 30%'. May be repeated; `berth fault --proxy SOCKET` adds and removes",
    ),
    record: stringFlag({ help: 'File for a recording of all calls, without secrets; must not exist' }),
  },
  async run({ flags, signal, stdout, log }) {
    const by = `berth ${await packageVersion()}`;
    const faults = new ActiveFaults({
      random: realRandom,
      check: checkForProxy,
      onStrike: ({ id }, { method }) => log.info('A fault struck a call', { fault: id, method }),
    });
    addFaults(faults, flags.fault);
    const recorder = flags.record
      ? await openRecorder({ path: flags.record, by, clock: realClock, log })
      : undefined;
    const interceptors: ProxyInterceptor[] = [...(recorder ? [recordingInterceptor(recorder)] : [])];
    const faulty = faultInterceptor(faults, { clock: realClock, address: socketPath(flags.driver) });
    const proxy = await serveProxy({
      listen: flags.listen,
      driver: flags.driver,
      // Innermost, so that a recording has what the caller was told. Left out while no fault is set: it costs nothing then.
      interceptors: () => (faults.isIdle ? interceptors : [...interceptors, faulty]),
      clock: realClock,
      log,
    }).catch(async (error: unknown) => {
      await recorder?.discard();
      throw error;
    });
    const endControl = await serveFaults(faults, controlSocketOf(proxy.address)).catch(async (error) => {
      await proxy.stop(0);
      throw error;
    });
    stdout.write(`ready unix://${socketPath(flags.listen)}\n`);
    await aborted(signal);
    await endControl();
    await proxy.stop(GRACE_MS);
    await recorder?.close();
  },
});
