// All sidecars of a driver in one process: one connection to the driver, one set of informers, one lease. Each sidecar
// behaves as when it runs alone. When one of them fails, all stop, and the process is restarted.

import type { EventRecorder } from '../../runtime/events/create-event-recorder.ts';
import { FlagError } from '../../runtime/flags/parse-flags.ts';
import { limitsOf } from '../../runtime/process/process-flags.ts';
import { together } from '../../runtime/process/together.ts';
import { runWhole } from '../../runtime/sharding/run-whole.ts';
import type { CommonFlagValues } from '../common/common-flags.ts';
import type { SidecarProgram } from '../common/run-sidecar.ts';
import type { Sidecar, SidecarFlags } from '../common/sidecar.ts';
import { type AnySidecarKind, flagsFor, hasOwnPace } from './shared-flags.ts';

type MemberFlags = SidecarFlags<Record<never, never>> & { timeoutMs?: number; maxGrpcLogLength?: number };

export interface AllSidecarsOptions {
  kinds: readonly AnySidecarKind[];
  values: Readonly<Record<string, unknown>>;
  given: ReadonlySet<string>;
}

export function allSidecars({ kinds, values, given }: AllSidecarsOptions): SidecarProgram {
  const members = kinds.map((kind) => ({
    kind,
    // Built from the same tables as the kind's own command line.
    flags: flagsFor(kind, values, given) as unknown as MemberFlags,
  }));
  const { leaderElection, sharding } = values as unknown as CommonFlagValues;
  const removes = members.find(({ flags }) => (flags as { removeOnExit?: boolean }).removeOnExit);
  if (sharding && removes) {
    throw new FlagError(
      '--remove-on-exit cannot be used with --sharding: the other replicas still need the object',
    );
  }
  const logLengths = members
    .map(({ flags }) => flags.maxGrpcLogLength)
    .filter((length) => length !== undefined);
  return {
    ...(logLengths[0] === undefined ? {} : { maxGrpcLogLength: logLengths[0] }),
    timeoutMs: Math.max(1000, ...members.map(({ flags }) => flags.timeoutMs ?? 0)),
    needsLease:
      (leaderElection || sharding) && needLease(members.filter(({ kind }) => !kind.servesInEveryReplica)),
    leaseName: (driver) => `external-sidecars-leader-${driver.name}`,
    create: (ports, recorderFor) =>
      createChosen(ports, recorderFor, ({ kind }) => !kind.servesInEveryReplica),
    createInEveryReplica: (ports, recorderFor) =>
      createChosen(ports, recorderFor, ({ kind }) => kind.servesInEveryReplica === true),
  };

  function createChosen(
    ports: Parameters<SidecarProgram['create']>[0],
    recorderFor: Parameters<SidecarProgram['create']>[1],
    isWanted: (member: (typeof members)[number]) => boolean,
  ): Sidecar {
    // A sidecar that was asked for by name rejects an unsuitable driver itself, with an error that says why.
    const wanted = members.filter(isWanted);
    const chosen = wanted.filter(
      ({ kind }) => given.has('controllers') || (kind.suits?.(ports.driver) ?? true),
    );
    const leftOut = wanted.filter((member) => !chosen.includes(member)).map(({ kind }) => kind.name);
    if (leftOut.length > 0) {
      ports.log.info('Sidecars left out: the driver lacks their capabilities', { sidecars: leftOut });
    }
    const sidecars = chosen.map(({ kind, flags }) => {
      const recorder: EventRecorder = recorderFor(kind.eventSource(ports.driver.name, ports.identity));
      const kube = hasOwnPace(kind, given) ? ports.kubeWith(limitsOf(flags)) : ports.kube;
      const log = ports.log.with({ sidecar: kind.name });
      const sidecar = kind.create({ ...ports, kube, recorder, log }, flags);
      if (kind.shards || kind.servesInEveryReplica) return sidecar;
      const { shares, clock } = ports;
      const run = (signal: AbortSignal): Promise<void> =>
        runWhole({ shares, name: kind.name, clock }, (ours) => sidecar.run(ours), signal);
      return { run };
    });
    return together(sidecars);
  }
}

/** Whether the sidecars need leader election. Per-node sidecars and leader-elected ones cannot share a process. */
function needLease(members: readonly { kind: AnySidecarKind; flags: MemberFlags }[]): boolean {
  const [free, bound] = [false, true].map((wanted) =>
    members
      .filter(({ kind, flags }) => (kind.needsLease?.(flags) ?? true) === wanted)
      .map(({ kind }) => kind.name),
  );
  if (free?.length && bound?.length) {
    throw new Error(
      `${free.join(' and ')} run in every replica, ${bound.join(' and ')} in the leader only; ` +
        'run them in different processes, with --controllers',
    );
  }
  return bound?.length !== 0;
}
