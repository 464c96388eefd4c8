// The sidecars of one driver: one connection to its controller service, and each sidecar under its own account, with its
// own informers. The same descriptions run as commands of their own, with the same flags.

import { serviceAccountUser } from '../apiserver/auth/users.ts';
import { connectCsi } from '../csi/client/connect-csi.ts';
import { countedConnection } from '../csi/client/counted-connection.ts';
import { operationMetrics } from '../csi/client/operation-metrics.ts';
import { COMPONENT_ACCOUNTS, type RbacComponent } from '../manifests/published-rbac.ts';
import type { FlagTable } from '../runtime/flags/flag.ts';
import { parseFlags } from '../runtime/flags/parse-flags.ts';
import type { Metrics } from '../runtime/metrics/metrics.ts';
import { areRead } from '../runtime/metrics/unread-metrics.ts';
import type { Part } from '../runtime/process/supervise.ts';
import { together } from '../runtime/process/together.ts';
import type { AnySidecarKind } from '../sidecars/all/shared-flags.ts';
import { commonFlags } from '../sidecars/common/common-flags.ts';
import { identifyDriver } from '../sidecars/common/identify-driver.ts';
import { sameDriverTransport } from '../sidecars/common/same-driver-transport.ts';
import type { Sidecar } from '../sidecars/common/sidecar.ts';
import { tracedConnection } from '../trace/traced-connection.ts';
import type { ClusterDriver } from './cluster-driver.ts';
import { type PartContext, partPorts } from './part-context.ts';

export interface ClusterSidecar {
  kind: AnySidecarKind & { name: RbacComponent };
  /** Flags that differ from their defaults. */
  argv?: readonly string[];
}

const NAMESPACE = 'kube-system';
const TIMEOUT_MS = 10_000;

export function sidecarsPart(
  context: PartContext,
  driver: ClusterDriver,
  sidecars: readonly ClusterSidecar[],
): Part {
  const { clock, random, book } = context;
  return {
    name: `sidecars of ${driver.name}`,
    async run(signal, serving) {
      const stop = new AbortController();
      const either = AbortSignal.any([signal, stop.signal]);
      const log = context.log.with({ driver: driver.name });
      const connection = connectCsi({ address: driver.controllerSocket, clock, log });
      try {
        const ask = { clock, log, timeoutMs: TIMEOUT_MS, signal: either };
        const identified = await identifyDriver(connection, ask);
        const onChanged = (error: Error): void => stop.abort(error);
        const synced: Promise<void>[] = [];
        const running: Sidecar[] = sidecars
          .filter(({ kind }) => kind.suits?.(identified) ?? true)
          .map((sidecar) => {
            const { kind } = sidecar;
            const ports = partPorts(context, { name: kind.name, user: userOf(sidecar), signal: either });
            const csi = sameDriverTransport({
              ...ask,
              connection: tracedConnection(
                areRead(ports.metrics)
                  ? countedConnection(connection, ofDriver(ports.metrics, identified.name), clock)
                  : connection,
                kind.name,
                book,
              ),
              driver: identified,
              onChanged,
            });
            const { informers } = ports;
            const identity = `berth-up-${kind.name}`;
            const created = kind.create(
              {
                ...ports,
                clock,
                random,
                csi,
                driver: identified,
                recorder: ports.recorderFor(kind.eventSource(identified.name, identity)),
                env: {},
                identity,
                namespace: NAMESPACE,
                kubeWith: () => ports.kube,
              },
              flagsOf(sidecar),
            );
            informers.start(either);
            synced.push(informers.synced(either));
            return created;
          });
        const work = together(running).run(either);
        Promise.all(synced).then(serving, () => {});
        await work;
      } catch (error) {
        signal.throwIfAborted();
        throw stop.signal.aborted ? stop.signal.reason : error;
      } finally {
        stop.abort(new Error('the sidecars have ended'));
        connection.close();
      }
    },
  };
}

const ofDriver = (metrics: Metrics, driverName: string) =>
  operationMetrics({ metrics, prefix: 'csi_sidecar', driverName });

const userOf = ({ kind }: ClusterSidecar) => serviceAccountUser(NAMESPACE, COMPONENT_ACCOUNTS[kind.name]);

/** As the sidecar's own command line would have given them. */
function flagsOf({ kind, argv = [] }: ClusterSidecar) {
  const table = { ...commonFlags, ...(kind.flags as FlagTable) };
  return parseFlags({ table, argv, env: {} }).values as never;
}
