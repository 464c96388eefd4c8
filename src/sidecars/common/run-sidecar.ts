// A sidecar as a process: connects to the driver and to the API server, serves metrics and health, waits for the lease,
// and runs until it is told to stop. Everything that every sidecar's start and end have in common is here.

import { type CsiConnection, connectCsi } from '../../csi/client/connect-csi.ts';
import { operationMetrics } from '../../csi/client/operation-metrics.ts';
import { createEventRecorder, type EventRecorder } from '../../runtime/events/create-event-recorder.ts';
import type { FlagTable } from '../../runtime/flags/flag.ts';
import { createInformers } from '../../runtime/informer/create-informers.ts';
import { createHttpKubeClient } from '../../runtime/kube/http-kube-client.ts';
import type { KubeConfig } from '../../runtime/kube/kube-config.ts';
import { loadKubeConfig } from '../../runtime/kube/load-kube-config.ts';
import { createLeaderHealth } from '../../runtime/leases/leader-health.ts';
import { leaseNameFor } from '../../runtime/leases/lease-record.ts';
import { runWithLease } from '../../runtime/leases/run-with-lease.ts';
import { createMetrics } from '../../runtime/metrics/metrics.ts';
import type { Clock, Log, Random } from '../../runtime/ports.ts';
import type { DebugProfiles } from '../../runtime/process/debug-profiles.ts';
import { serveHttpEndpoint } from '../../runtime/process/http-endpoint.ts';
import { type CommonFlagValues, endpointAddress } from './common-flags.ts';
import { type Driver, identifyDriver } from './identify-driver.ts';
import { sameDriverTransport } from './same-driver-transport.ts';
import type { ProcessPorts, Sidecar, SidecarFlags, SidecarKind, SidecarPorts } from './sidecar.ts';

/** What the process gives. */
export interface RunSidecarContext {
  clock: Clock;
  random: Random;
  log: Log;
  env: Readonly<Record<string, string | undefined>>;
  hostname: string;
  /** Says that this program is the one asking, as in `berth-attacher/0.1.0`. */
  userAgent: string;
  signal: AbortSignal;
}

/** What differs between one sidecar and several in one process. */
export interface SidecarProgram {
  /** `--timeout` of the first questions to the driver. */
  timeoutMs: number;
  maxGrpcLogLength?: number;
  needsLease: boolean;
  leaseName(driver: Driver): string;
  /** `recorderFor` gives the recorder for Events of one component. */
  create(
    ports: Omit<SidecarPorts, 'recorder'> & ProcessPorts,
    recorderFor: (component: string) => EventRecorder,
  ): Sidecar;
}

/** Resolves when told to stop; rejects when it cannot go on, with a message that says why. */
export async function runSidecar<T extends FlagTable>(
  kind: SidecarKind<T>,
  flags: SidecarFlags<T> & { timeoutMs: number; maxGrpcLogLength?: number },
  context: RunSidecarContext,
): Promise<void> {
  await runProgram(
    {
      timeoutMs: flags.timeoutMs,
      ...(flags.maxGrpcLogLength === undefined ? {} : { maxGrpcLogLength: flags.maxGrpcLogLength }),
      needsLease: flags.leaderElection && (kind.needsLease?.(flags) ?? true),
      leaseName: (driver) => kind.leaseName(driver.name),
      create: (ports, recorderFor) => {
        const recorder = recorderFor(kind.eventSource(ports.driver.name, ports.identity));
        return kind.create({ ...ports, recorder }, flags);
      },
    },
    flags,
    context,
  );
}

export async function runProgram(
  program: SidecarProgram,
  flags: CommonFlagValues,
  context: RunSidecarContext,
): Promise<void> {
  const { clock, random, hostname } = context;
  // Two replicas on one machine share its name; the rest makes them differ, also after a restart.
  const identity = `${hostname}_${random.uuid()}`;
  const metrics = createMetrics({ clock });
  const stop = new AbortController();
  const onStop = (): void => stop.abort(context.signal.reason);
  if (context.signal.aborted) onStop();
  else context.signal.addEventListener('abort', onStop, { once: true });
  // The endpoint outlives the work: a probe during a slow stop must not find the port closed.
  const endpoint = new AbortController();
  const clients: { close(): Promise<void> }[] = [];
  const health = createLeaderHealth({ clock });
  let connection: CsiConnection | undefined;
  try {
    const address = endpointAddress(flags);
    const config = await loadKubeConfig({
      env: context.env,
      ...(flags.kubeconfig === '' ? {} : { path: flags.kubeconfig }),
    });
    const kubeWith = (limits: { qps?: number; burst?: number }) => {
      const client = createHttpKubeClient({
        config,
        clock,
        random,
        log: context.log,
        metrics,
        userAgent: context.userAgent,
        ...limits,
      });
      clients.push(client);
      return client;
    };
    const kube = kubeWith(pace(flags));
    if (address !== undefined) {
      await serveHttpEndpoint({
        address,
        metrics,
        metricsPath: flags.metricsPath,
        ...(flags.enablePprof ? { profiles: await debugProfiles(clock) } : {}),
        checks: program.needsLease ? { 'leader-election': () => health.check() } : {},
        log: context.log,
        signal: endpoint.signal,
      });
    }
    const callMetrics = operationMetrics({ metrics, prefix: 'csi_sidecar' });
    connection = connectCsi({
      address: flags.csiAddress,
      log: context.log,
      clock,
      metrics: callMetrics,
      ...(program.maxGrpcLogLength === undefined ? {} : { maxLogLength: program.maxGrpcLogLength }),
    });
    const { timeoutMs } = program;
    const driver = await identifyDriver(connection, {
      clock,
      log: context.log,
      timeoutMs,
      signal: stop.signal,
    });
    callMetrics.setDriverName(driver.name);
    const log = context.log.with({ driver: driver.name });
    log.info('Connected to the driver', { capabilities: [...driver.controller] });
    const csi = sameDriverTransport({
      connection,
      driver,
      log,
      timeoutMs,
      signal: stop.signal,
      onChanged: (error) => stop.abort(error),
    });
    const recorders: EventRecorder[] = [];
    const recorderFor = (component: string): EventRecorder => {
      const recorder = createEventRecorder({
        kube,
        clock,
        random,
        log,
        metrics,
        component,
        instance: identity,
      });
      recorders.push(recorder);
      return recorder;
    };
    const lead = async (signal: AbortSignal): Promise<void> => {
      const informers = createInformers({ kube, clock, random, log, metrics, ownsObjects: true });
      const ports = { kube, informers, csi, driver, clock, random, log, metrics };
      const namespace = leaseNamespace(flags, config);
      const sidecar = program.create(
        { ...ports, env: context.env, identity, namespace, kubeWith },
        recorderFor,
      );
      informers.start(signal);
      await sidecar.run(signal);
    };
    try {
      if (program.needsLease) {
        const lease = leaseOptions(flags, config, leaseNameFor(program.leaseName(driver)));
        await runWithLease(
          { kube, clock, random, log, metrics, health, identity, ...lease },
          lead,
          stop.signal,
        );
      } else await lead(stop.signal);
    } finally {
      // After the lease was given back: what is left to say must not hold up the next leader.
      await Promise.all(recorders.map((recorder) => recorder.flush()));
    }
    throwUnlessAsked(stop.signal, context.signal);
  } catch (error) {
    throwUnlessAsked(stop.signal, context.signal);
    if (!stop.signal.aborted) throw error;
  } finally {
    context.signal.removeEventListener('abort', onStop);
    stop.abort(new Error('the sidecar has ended'));
    endpoint.abort();
    connection?.close();
    await Promise.all(clients.map((client) => client.close()));
  }
}

/** Loaded only where it is asked for: it brings in Node's inspector. */
async function debugProfiles(clock: Clock): Promise<DebugProfiles> {
  const { createDebugProfiles } = await import('../../runtime/process/debug-profiles.ts');
  return createDebugProfiles(clock);
}

/** Stopped, but not because anybody outside asked: the reason is the error. */
function throwUnlessAsked(stop: AbortSignal, asked: AbortSignal): void {
  if (stop.aborted && !asked.aborted) throw stop.reason;
}

function pace(flags: CommonFlagValues): { qps?: number; burst?: number } {
  const { kubeApiQps, kubeApiBurst } = flags;
  return {
    ...(kubeApiQps === undefined ? {} : { qps: kubeApiQps }),
    ...(kubeApiBurst === undefined ? {} : { burst: kubeApiBurst }),
  };
}

function leaseNamespace(flags: CommonFlagValues, config: KubeConfig): string {
  return flags.leaderElectionNamespace || config.namespace || 'default';
}

function leaseOptions(flags: CommonFlagValues, config: KubeConfig, name: string) {
  return {
    name,
    namespace: leaseNamespace(flags, config),
    labels: { ...flags.leaderElectionLabels },
    leaseDurationMs: flags.leaderElectionLeaseDurationMs,
    renewDeadlineMs: flags.leaderElectionRenewDeadlineMs,
    retryPeriodMs: flags.leaderElectionRetryPeriodMs,
    releaseOnExit: flags.featureGates.ReleaseLeaderElectionOnExit,
  };
}
