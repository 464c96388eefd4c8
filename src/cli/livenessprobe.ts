// `berth livenessprobe`: a drop-in for the official livenessprobe.

import { connectCsi } from '../csi/client/connect-csi.ts';
import { operationMetrics } from '../csi/client/operation-metrics.ts';
import { boolFlag, durationFlag, stringFlag } from '../runtime/flags/flag.ts';
import { createMetrics } from '../runtime/metrics/metrics.ts';
import { type HttpEndpointOptions, serveHttpEndpoint } from '../runtime/process/http-endpoint.ts';
import { endpointFlags } from '../runtime/process/process-flags.ts';
import { realClock } from '../runtime/time/clock.ts';
import { aborted } from '../runtime/time/until-aborted.ts';
import { csiAddressFlag } from '../sidecars/common/common-flags.ts';
import { driverHealth, learnDriverName } from '../sidecars/livenessprobe/driver-health.ts';
import { defineCommand, UsageError } from './command.ts';

export const command = defineCommand({
  summary: "Answers /healthz from a CSI driver's Probe",
  description:
    'Serves from the start, so that a driver that never starts is reported as unhealthy. Accepts the flags of the ' +
    'official livenessprobe.',
  flags: {
    'csi-address': csiAddressFlag,
    'probe-timeout': durationFlag({
      help: 'Time in which the driver must answer',
      default: 3_000,
      min: 1,
    }),
    'health-port': stringFlag({
      help: 'Port of /healthz, unless --http-endpoint is given',
      default: '9808',
      deprecated: 'use --http-endpoint',
    }),
    ...endpointFlags,
    automaxprocs: boolFlag({ help: 'Threads', hidden: true, ignored: 'the work runs in one thread' }),
  },
  async run({ flags, given, signal, log }) {
    const { httpEndpoint, metricsAddress, metricsPath } = flags;
    for (const other of ['health-port', 'metrics-address']) {
      if (httpEndpoint !== '' && given.has(other)) {
        throw new UsageError(`give only one of --${other} and --http-endpoint`);
      }
    }
    const metrics = createMetrics({ clock: realClock });
    const callMetrics = operationMetrics({ metrics, prefix: 'csi_sidecar' });
    const connection = connectCsi({ address: flags.csiAddress, clock: realClock, log, metrics: callMetrics });
    const options = { connection, timeoutMs: flags.probeTimeoutMs, clock: realClock, log };
    const ended = new AbortController();
    const serve = (more: Omit<HttpEndpointOptions, 'log' | 'signal'>) =>
      serveHttpEndpoint({ ...more, log, signal: ended.signal });
    try {
      const address = httpEndpoint || `0.0.0.0:${flags.healthPort}`;
      await serve({
        address,
        checks: { probe: driverHealth(options) },
        ...(httpEndpoint === '' ? {} : { metrics, metricsPath }),
      });
      if (metricsAddress !== '') await serve({ address: metricsAddress, metrics, metricsPath });
      const name = await learnDriverName(options, signal);
      if (name !== undefined) callMetrics.setDriverName(name);
      await aborted(signal);
    } finally {
      ended.abort();
      connection.close();
    }
  },
});
