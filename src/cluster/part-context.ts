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
import type { TraceBook } from '../trace/trace-book.ts';
import { tracedConnection } from '../trace/traced-connection.ts';
import { tracedLog } from '../trace/traced-log.ts';
import type { WritesUnderWay } from '../trace/writes-under-way.ts';
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
  /** Records the calls over a connection of the part with this name; absent: nothing is recorded. */
  record?: ((connection: CsiConnection, by: string) => CsiConnection) | undefined;
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
  part: { name: string; user: User; signal: AbortSignal },
): PartPorts {
  const { server, book, writes, caches, clock, random } = context;
  const { name, user, signal } = part;
  const log = tracedLog(context.log.with({ part: name }), name, book);
  const kube = writes.clientOf(name, server.client(user));
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
        connectCsi({ address, clock, log, ...(counted && { metrics: counted }) });
      return tracedConnection(context.record?.(connection, name) ?? connection, name, book);
    },
  };
}
