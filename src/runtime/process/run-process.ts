// How every process of Berth that talks to an API server starts and stops: client, metrics and health endpoint, event
// recorders, leader election, informers. What it does in between is the caller's `work`.
//
// Order: endpoint, then `work`; `lead` inside it waits for the Lease and starts informers. On the way out: the work ends,
// the Lease is released, events are flushed, and only then do the endpoint and the connections close, so that a probe
// during a slow stop still finds the port open.

import { createEventRecorder, type EventRecorder } from '../events/create-event-recorder.ts';
import { createInformers } from '../informer/create-informers.ts';
import type { Informers } from '../informer/informer.ts';
import { createHttpKubeClient, type HttpKubeClient } from '../kube/http-kube-client.ts';
import type { KubeConfig } from '../kube/kube-config.ts';
import { createLeaderHealth, type LeaderHealth } from '../leases/leader-health.ts';
import { runWithLease } from '../leases/run-with-lease.ts';
import { createMetrics, type Metrics } from '../metrics/metrics.ts';
import type { Clock, Log, Random } from '../ports.ts';
import type { Fence } from '../sharding/fenced-ports.ts';
import type { Membership } from '../sharding/membership.ts';
import { runSharded } from '../sharding/run-sharded.ts';
import type { Shares } from '../sharding/shares.ts';
import type { DebugProfiles } from './debug-profiles.ts';
import { serveHttpEndpoint } from './http-endpoint.ts';
import type { ElectionTimes, RequestLimits } from './process-flags.ts';
import type { Runnable } from './together.ts';

/** What the operating system's process gives. */
export interface ProcessContext {
  clock: Clock;
  random: Random;
  log: Log;
  env: Readonly<Record<string, string | undefined>>;
  hostname: string;
  /** Names this program to the API server, as in `berth-attacher/0.1.0`. */
  userAgent: string;
  signal: AbortSignal;
}

export interface ProcessOptions {
  config: KubeConfig;
  limits?: RequestLimits;
  /** Where metrics and health are served. Undefined: nowhere. */
  endpoint?: { address: string; metricsPath: string; profiles?: boolean } | undefined;
  /** Undefined: works without a Lease. */
  election?: ElectionTimes | undefined;
  /** Where Leases are. The kubeconfig's namespace unless given. */
  namespace?: string;
  /** Differs between replicas. The host's name and a random part unless given. */
  identity?: string;
}

export interface Leading {
  /** Not used without an election. */
  leaseName: string;
  log?: Log;
  /**
   * Called once the Lease is held; with sharding again whenever this replica has lost its share. Asks `informers` for what
   * it watches; they are started after it returns. `share`: with sharding.
   */
  create(informers: Informers, share?: Share): Runnable;
}

/** What a replica that works on its share needs beside the rest. */
export interface Share {
  readonly shares: Shares;
  /** To be checked right before each call that changes something. */
  readonly fence: Fence;
  /** Checks the fence right before each write. */
  readonly kube: HttpKubeClient;
}

export interface RunningProcess {
  readonly kube: HttpKubeClient;
  readonly metrics: Metrics;
  readonly identity: string;
  readonly namespace: string;
  /** Aborts when the process is told to stop, and when `fail` was called. */
  readonly signal: AbortSignal;
  /** Stops the process, which then ends with this error. */
  fail(error: Error): void;
  /** A second client with limits of its own, for work that must not slow down the rest. */
  kubeWith(limits: RequestLimits, beforeWrite?: () => void): HttpKubeClient;
  /** For Events of one component. Flushed at the end. */
  recorderFor(component: string, log?: Log): EventRecorder;
  /** Caches of this process' own, for the caller to start. */
  informers(log?: Log): Informers;
  /** Waits for the Lease if there is an election, then runs what `create` returns. */
  lead(leading: Leading): Promise<void>;
}

/** Resolves when told to stop; rejects when it cannot go on, with a message that says why. */
export async function runProcess(
  options: ProcessOptions,
  context: ProcessContext,
  work: (process: RunningProcess) => Promise<void>,
): Promise<void> {
  const { clock, log, signal: asked } = context;
  const stop = new AbortController();
  const onAsked = (): void => stop.abort(asked.reason);
  if (asked.aborted) onAsked();
  else asked.addEventListener('abort', onAsked, { once: true });
  const endpoint = new AbortController();
  const health = createLeaderHealth({ clock });
  const parts = openParts({ options, context, health, stop });
  try {
    if (options.endpoint !== undefined) {
      const { address, metricsPath, profiles } = options.endpoint;
      await serveHttpEndpoint({
        address,
        metrics: parts.process.metrics,
        metricsPath,
        ...(profiles && { profiles: await debugProfiles(clock) }),
        checks: options.election ? { 'leader-election': () => health.check() } : {},
        log,
        signal: endpoint.signal,
      });
    }
    try {
      await work(parts.process);
    } finally {
      // After the Lease was released: events still to be sent must not hold up the next leader.
      await parts.flush();
    }
    stop.signal.throwIfAborted();
  } catch (error) {
    // Once the process was told to stop, any failure is part of stopping.
    if (!asked.aborted) throw stop.signal.aborted ? stop.signal.reason : error;
  } finally {
    asked.removeEventListener('abort', onAsked);
    stop.abort(new Error('the process has ended'));
    endpoint.abort();
    await parts.close();
  }
}

interface Parts {
  process: RunningProcess;
  flush(): Promise<unknown>;
  close(): Promise<unknown>;
}

function openParts(given: {
  options: ProcessOptions;
  context: ProcessContext;
  health: LeaderHealth;
  stop: AbortController;
}): Parts {
  const { options, context, health, stop } = given;
  const { config, election } = options;
  const { clock, random, userAgent } = context;
  const { signal } = stop;
  const metrics = createMetrics({ clock });
  const portsWith = (log = context.log) => ({ clock, random, log, metrics });
  // Two replicas on one machine share its name; the random part makes them differ, also after a restart.
  const identity = options.identity ?? `${context.hostname}_${random.uuid()}`;
  const namespace = options.namespace || config.namespace || 'default';
  const clients: HttpKubeClient[] = [];
  const recorders: EventRecorder[] = [];
  const kubeWith = (limits: RequestLimits, beforeWrite?: () => void): HttpKubeClient => {
    const write = beforeWrite && { beforeWrite };
    const client = createHttpKubeClient({ ...portsWith(), config, userAgent, ...limits, ...write });
    clients.push(client);
    return client;
  };
  const kube = kubeWith(options.limits ?? {});
  const informers = (log?: Log): Informers => createInformers({ ...portsWith(log), kube, ownsObjects: true });
  const process: RunningProcess = {
    kube,
    metrics,
    identity,
    namespace,
    signal,
    fail: (error) => stop.abort(error),
    kubeWith,
    recorderFor(component, log) {
      const recorder = createEventRecorder({ ...portsWith(log), kube, component, instance: identity });
      recorders.push(recorder);
      return recorder;
    },
    informers,
    async lead({ leaseName, log, create }) {
      const work = async (leading: AbortSignal): Promise<void> => {
        const watched = informers(log);
        const part = create(watched);
        watched.start(leading);
        await part.run(leading);
      };
      if (election === undefined) return work(signal);
      if (election.sharding) {
        const { memberDurationMs } = election.sharding;
        const lease = { ...election, namespace, name: leaseName, identity, health, memberDurationMs };
        let membership: Membership | undefined;
        const fenced = kubeWith(options.limits ?? {}, () => membership?.check());
        return runSharded(
          // A client of its own: renewals must not queue behind other requests.
          { ...portsWith(log), kube: kubeWith({}), ...lease },
          async (joined, leading) => {
            membership = joined;
            const watched = informers(log);
            const part = create(watched, { shares: joined, fence: joined, kube: fenced });
            watched.start(leading);
            const ready = watched.synced(leading).then(() => joined.start());
            await Promise.all([part.run(leading), ready]);
          },
          signal,
        );
      }
      const lease = { ...election, namespace, name: leaseName, identity, health };
      await runWithLease({ ...portsWith(log), kube, ...lease }, work, signal);
    },
  };
  return {
    process,
    flush: () => Promise.all(recorders.map((recorder) => recorder.flush())),
    close: () => Promise.all(clients.map((client) => client.close())),
  };
}

/** Imported only when asked for: it loads Node's inspector. */
async function debugProfiles(clock: Clock): Promise<DebugProfiles> {
  const { createDebugProfiles } = await import('./debug-profiles.ts');
  return createDebugProfiles(clock);
}
