// `berth node-registrar`: a drop-in for the official node-driver-registrar.

import { connectCsi } from '../csi/client/connect-csi.ts';
import { getDriverName } from '../csi/client/probe.ts';
import { boolFlag, durationFlag, intFlag, stringFlag } from '../runtime/flags/flag.ts';
import { createDebugProfiles } from '../runtime/process/debug-profiles.ts';
import { serveHttpEndpoint } from '../runtime/process/http-endpoint.ts';
import { realClock } from '../runtime/time/clock.ts';
import { csiAddressFlag } from '../sidecars/common/common-flags.ts';
import { createNodeRegistrar } from '../sidecars/node-registrar/node-registrar.ts';
import { defineCommand, UsageError } from './command.ts';

const PROBE_MODE = 'kubelet-registration-probe';

export const command = defineCommand({
  summary: 'Registers a CSI driver with the kubelet',
  description:
    'Serves a registration socket in the directory that the kubelet watches. Exits with code 1 when the kubelet ' +
    'rejects the driver, so that it is restarted. Accepts the flags of the official node-driver-registrar.',
  flags: {
    'csi-address': csiAddressFlag,
    'kubelet-registration-path': stringFlag({
      help: "The driver's socket as the kubelet sees it, on the host",
      required: true,
    }),
    'plugin-registration-path': stringFlag({
      help: 'Directory that the kubelet watches, as mounted here',
      default: '/registration',
    }),
    timeout: durationFlag({ help: 'Time-out of calls to the driver', default: 1_000, min: 1 }),
    'requires-publish-pod': boolFlag({
      help: 'Tell the node that NodePublishVolume needs pod information (CSIRegistration/GetCSIDriverInfo)',
    }),
    'http-endpoint': stringFlag({ help: 'Address of /healthz; not served by default', default: '' }),
    'health-port': intFlag({
      help: 'Port of /healthz; 0: none',
      default: 0,
      min: 0,
      max: 65_535,
      deprecated: 'use --http-endpoint',
    }),
    'enable-pprof': boolFlag({ help: 'Serve profiles at /debug/pprof/ of --http-endpoint' }),
    mode: stringFlag({
      help: `${PROBE_MODE}: do nothing and succeed`,
      default: '',
      deprecated: `probes of mode ${PROBE_MODE} are no longer needed`,
    }),
    'connection-timeout': durationFlag({
      help: 'Time-out of connecting',
      hidden: true,
      ignored: 'it waits for the driver without a limit',
    }),
    automaxprocs: boolFlag({ help: 'Threads', hidden: true, ignored: 'the work runs in one thread' }),
  },
  async run({ flags, signal, log }) {
    if (flags.mode === PROBE_MODE) return;
    if (flags.healthPort > 0 && flags.httpEndpoint !== '') {
      throw new UsageError('give only one of --health-port and --http-endpoint');
    }
    const address = flags.healthPort > 0 ? `:${flags.healthPort}` : flags.httpEndpoint;
    const connection = connectCsi({ address: flags.csiAddress, clock: realClock, log });
    const ended = new AbortController();
    try {
      await connection.waitForReady(signal);
      const { timeoutMs } = flags;
      const driverName = await getDriverName(connection, { timeoutMs, signal });
      const registrar = createNodeRegistrar({
        connection,
        driverName,
        registrationDirectory: flags.pluginRegistrationPath,
        kubeletRegistrationPath: flags.kubeletRegistrationPath,
        requiresPublishPod: flags.requiresPublishPod,
        timeoutMs,
        clock: realClock,
        log: log.with({ driver: driverName }),
      });
      if (address !== '') {
        await serveHttpEndpoint({
          address,
          checks: { registration: () => registrar.check() },
          ...(flags.enablePprof ? { profiles: createDebugProfiles(realClock) } : {}),
          log,
          signal: ended.signal,
        });
      }
      await registrar.run(signal);
    } finally {
      ended.abort();
      connection.close();
    }
  },
});
