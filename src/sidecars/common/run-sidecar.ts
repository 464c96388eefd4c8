// A sidecar as a process: identifies its driver, then runs while it holds the Lease. The process runner
// (runtime/process) does the rest.

import { connectCsi } from '../../csi/client/connect-csi.ts';
import { operationMetrics } from '../../csi/client/operation-metrics.ts';
import type { EventRecorder } from '../../runtime/events/create-event-recorder.ts';
import type { FlagTable } from '../../runtime/flags/flag.ts';
import { FlagError } from '../../runtime/flags/parse-flags.ts';
import type { Informers } from '../../runtime/informer/informer.ts';
import { leaseNameFor } from '../../runtime/leases/lease-record.ts';
import {
  type ElectionTimes,
  electionTimes,
  endpointOf,
  kubeConfigOf,
  limitsOf,
  type RequestLimits,
  shardingOf,
} from '../../runtime/process/process-flags.ts';
import {
  type ProcessContext,
  type RunningProcess,
  runProcess,
  type Share,
} from '../../runtime/process/run-process.ts';
import type { CommonFlagValues } from './common-flags.ts';
import { fencedCsi } from './fenced-csi.ts';
import { type Driver, identifyDriver } from './identify-driver.ts';
import { sameDriverTransport } from './same-driver-transport.ts';
import type { ProcessPorts, Sidecar, SidecarFlags, SidecarKind, SidecarPorts } from './sidecar.ts';

/** What differs between one sidecar and several in one process. */
export interface SidecarProgram {
  /** `--timeout` of the first calls to the driver. */
  timeoutMs: number;
  maxGrpcLogLength?: number;
  needsLease: boolean;
  /** Why it cannot work in shares, where that is so. */
  cannotShard?: string | undefined;
  leaseName(driver: Driver): string;
  /** `recorderFor` returns the recorder for Events of one component. */
  create(
    ports: Omit<SidecarPorts, 'recorder'> & ProcessPorts,
    recorderFor: (component: string) => EventRecorder,
  ): Sidecar;
  /** Those that run without the lease, beside the ones of `create`. */
  createInEveryReplica?: SidecarProgram['create'];
}

/** Resolves when stopped by a signal; rejects with the reason when it cannot continue. */
export async function runSidecar<T extends FlagTable>(
  kind: SidecarKind<T>,
  flags: SidecarFlags<T> & { timeoutMs: number; maxGrpcLogLength?: number },
  context: ProcessContext,
): Promise<void> {
  await runProgram(
    {
      timeoutMs: flags.timeoutMs,
      ...(flags.maxGrpcLogLength === undefined ? {} : { maxGrpcLogLength: flags.maxGrpcLogLength }),
      needsLease:
        (flags.leaderElection || flags.sharding) &&
        !kind.servesInEveryReplica &&
        (kind.needsLease?.(flags) ?? true),
      ...(!kind.shards && { cannotShard: `the ${kind.name} works as a whole, in one replica` }),
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
  context: ProcessContext,
): Promise<void> {
  if (flags.sharding && (program.cannotShard !== undefined || !program.needsLease)) {
    const why = program.cannotShard ?? 'each replica has its own part already';
    throw new FlagError(`--sharding cannot be used here: ${why}`);
  }
  const endpoint = endpointOf(flags);
  const options = {
    config: await kubeConfigOf(flags, context.env),
    limits: limitsOf(flags),
    endpoint,
    namespace: flags.leaderElectionNamespace,
    election: program.needsLease ? electionOf(flags) : undefined,
  };
  await runProcess(options, context, (process) =>
    besideDriver(process, { program, context, address: flags.csiAddress }),
  );
}

async function besideDriver(
  process: RunningProcess,
  beside: { program: SidecarProgram; context: ProcessContext; address: string },
): Promise<void> {
  const { kube, metrics, identity, namespace, signal, kubeWith } = process;
  const { program, context, address } = beside;
  const { clock, random, env } = context;
  const { timeoutMs, maxGrpcLogLength: maxLogLength } = program;
  const callMetrics = operationMetrics({ metrics, prefix: 'csi_sidecar' });
  const connection = connectCsi({
    address,
    log: context.log,
    clock,
    metrics: callMetrics,
    ...(maxLogLength !== undefined && { maxLogLength }),
  });
  try {
    const driver = await identifyDriver(connection, { clock, log: context.log, timeoutMs, signal });
    callMetrics.setDriverName(driver.name);
    const log = context.log.with({ driver: driver.name });
    log.info('Connected to the driver', { capabilities: [...driver.controller] });
    const onChanged = process.fail;
    const csi = sameDriverTransport({ connection, driver, log, timeoutMs, signal, onChanged });
    const created = (create: SidecarProgram['create'], informers: Informers, share?: Share): Sidecar => {
      const common = { informers, driver, clock, random, log, metrics, env, identity, namespace };
      const ports = share
        ? {
            kube: share.kube,
            csi: fencedCsi(csi, share.fence),
            kubeWith: (limits: RequestLimits) => kubeWith(limits, () => share.fence.check()),
            shares: share.shares,
          }
        : { kube, csi, kubeWith };
      return create({ ...common, ...ports }, (component) => process.recorderFor(component, log));
    };
    const serve = async (create: SidecarProgram['create']): Promise<void> => {
      const informers = process.informers(log);
      const sidecar = created(create, informers);
      informers.start(signal);
      await sidecar.run(signal).catch(process.fail);
    };
    await Promise.all([
      process.lead({
        leaseName: leaseNameFor(program.leaseName(driver)),
        log,
        create: (informers, share) => created(program.create, informers, share),
      }),
      program.createInEveryReplica && serve(program.createInEveryReplica),
    ]);
  } finally {
    connection.close();
  }
}

const electionOf = (flags: CommonFlagValues): ElectionTimes => ({
  ...electionTimes(flags),
  labels: { ...flags.leaderElectionLabels },
  releaseOnExit: flags.featureGates.ReleaseLeaderElectionOnExit,
  sharding: shardingOf(flags),
});
