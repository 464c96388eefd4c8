// What the parts of a cluster share: the server, clock and random numbers, and the trace. Gives each part a client under its own
// identity, a log and a driver connection, all recorded in the trace.

import type { ApiServer, User } from '../apiserver/index.ts';
import type { ControlPlaneGates } from '../control-plane/controller.ts';
import { type CsiConnection, connectCsi } from '../csi/client/connect-csi.ts';
import { operationMetrics } from '../csi/client/operation-metrics.ts';
import { createEventRecorder, type EventRecorder } from '../runtime/events/create-event-recorder.ts';
import type { Informers } from '../runtime/informer/informer.ts';
import type { SharedCaches } from '../runtime/informer/shared-caches.ts';
import type { Discovery, KubeClient } from '../runtime/kube/kube.ts';
import type { Metrics } from '../runtime/metrics/metrics.ts';
import { areRead, unreadMetrics } from '../runtime/metrics/unread-metrics.ts';
import type { Clock, Log, Random } from '../runtime/ports.ts';
import type { MortalProcess } from '../runtime/process/mortal-process.ts';
import { onAbort } from '../runtime/time/on-abort.ts';
import type { TraceBook } from '../trace/trace-book.ts';
import { tracedConnection } from '../trace/traced-connection.ts';
import { tracedLog } from '../trace/traced-log.ts';
import type { WritesUnderWay } from '../trace/writes-under-way.ts';
import type { ClusterFaults } from './cluster-faults.ts';
import type { Component } from './component-lives.ts';
import { mortalConnection } from './mortal-connection.ts';
import type { PartMetrics } from './part-metrics.ts';

/** Size of an event recorder's cache: a local cluster has a dozen recorders and few objects. */
const REMEMBERED = 256;

/** Files of a certificate for this machine, and the host that it is for. */
export interface ServingFiles {
  certificate: string;
  key: string;
  ca: string;
  host: string;
}

export interface PartContext {
  server: ApiServer;
  book: TraceBook;
  writes: WritesUnderWay;
  caches: SharedCaches;
  /** Absent: no metrics, at no cost. */
  metrics?: PartMetrics | undefined;
  /** Of the control plane. */
  gates?: ControlPlaneGates;
  clock: Clock;
  random: Random;
  log: Log;
  /** For parts that serve others over TLS; without it they do not run. */
  serving?: ServingFiles | undefined;
  /** To what listens at this path; default over a unix socket. */
  connect?: (address: string) => CsiConnection;
  /** Absent: no fault can be set and no component crashed. */
  faults?: ClusterFaults;
  /** Records the calls over a connection of the part with this name; absent: nothing is recorded. */
  record?: ((connection: CsiConnection, by: string) => CsiConnection) | undefined;
}

/** One life of a component, from its start to its end or crash. */
export interface Life {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Absent where nothing can be crashed. */
  readonly process?: MortalProcess;
}

/** Runs a component until it ends; again, from nothing, whenever it was crashed on purpose. */
export function runComponent(
  { faults, clock }: PartContext,
  component: Component,
  signal: AbortSignal,
  live: (life: Life) => Promise<void>,
): Promise<void> {
  if (faults === undefined) return live({ signal, clock });
  return faults.lives.run(component, signal, (process) =>
    live({ signal: process.signal, clock: process.clock, process }),
  );
}

export interface PartPorts {
  kube: KubeClient & Discovery;
  log: Log;
  metrics: Metrics;
  /** To be started by the part. */
  informers: Informers;
  recorderFor(component: string): EventRecorder;
  connect(address: string): CsiConnection;
}

/** Ports of one part: `name` is how the trace calls it. Nothing is written through them once `signal` has aborted. */
export function partPorts(
  context: PartContext,
  part: { name: string; user: User; signal: AbortSignal; process?: MortalProcess | undefined },
): PartPorts {
  const { server, book, writes, caches, random } = context;
  const { name, user, signal, process } = part;
  const clock = process?.clock ?? context.clock;
  const log = tracedLog(context.log.with({ part: name }), name, book);
  const client = writes.clientOf(name, server.client(user));
  const kube = process?.cutRequests(client) ?? client;
  const metrics = context.metrics?.of(name) ?? unreadMetrics;
  return {
    kube,
    log,
    metrics,
    informers: caches.informersFor({ kube, log, clock, random }),
    recorderFor: (component) =>
      createEventRecorder({ kube, clock, random, log, metrics, component, signal, remembered: REMEMBERED }),
    connect(address) {
      // By its socket: the node asks for the name over this very connection.
      const counted = areRead(metrics) && operationMetrics({ metrics, prefix: 'csi', driverName: address });
      const connection =
        context.connect?.(address) ??
        connectCsi({ address, clock: context.clock, log, ...(counted && { metrics: counted }) });
      // A crashed component cannot close it, and the end of a process would.
      if (process) onAbort(process.signal, () => process.alive || connection.close());
      return asComponent(context, connection, { name, process });
    },
  };
}

/** The driver's connection as one component has it: in the trace under its name, struck by faults, ended by its crash. */
export function asComponent(
  { faults, record, book }: Pick<PartContext, 'faults' | 'record' | 'book'>,
  connection: CsiConnection,
  component: Component & { process?: MortalProcess | undefined },
): CsiConnection {
  const { name, process } = component;
  // A recording has what the component was told, faults included.
  const observed = (inner: CsiConnection): CsiConnection =>
    tracedConnection(record?.(inner, name) ?? inner, name, book);
  if (faults === undefined || process === undefined) return observed(connection);
  return mortalConnection(observed(faults.connectionOf(connection, { ...component, process })), process);
}
