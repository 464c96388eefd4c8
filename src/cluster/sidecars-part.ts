// The sidecars of one driver: one connection to its controller service, and each sidecar under its own account, with its
// own informers. The same descriptions run as commands of their own, with the same flags. They start again when the
// driver's CSIDriver object begins or ceases to ask for published capacity.

import { csiDrivers } from '../api/kinds.ts';
import { serviceAccountUser } from '../apiserver/auth/users.ts';
import { connectCsi } from '../csi/client/connect-csi.ts';
import { countedConnection } from '../csi/client/counted-connection.ts';
import { operationMetrics } from '../csi/client/operation-metrics.ts';
import type { DriverName } from '../csi/names/driver-name.ts';
import { COMPONENT_ACCOUNTS, type RbacComponent } from '../manifests/published-rbac.ts';
import { parseFlags } from '../runtime/flags/parse-flags.ts';
import type { Metrics } from '../runtime/metrics/metrics.ts';
import { areRead } from '../runtime/metrics/unread-metrics.ts';
import type { Part } from '../runtime/process/supervise.ts';
import { together } from '../runtime/process/together.ts';
import { onAbort } from '../runtime/time/on-abort.ts';
import { type AnySidecarKind, flagsFor } from '../sidecars/all/shared-flags.ts';
import { commonFlags } from '../sidecars/common/common-flags.ts';
import { type Driver, identifyDriver } from '../sidecars/common/identify-driver.ts';
import { sameDriverTransport } from '../sidecars/common/same-driver-transport.ts';
import type { Sidecar } from '../sidecars/common/sidecar.ts';
import type { ClusterDriver } from './cluster-driver.ts';
import {
  asComponent,
  type Life,
  type PartContext,
  partPorts,
  runComponent,
  type ServingFiles,
} from './part-context.ts';

export interface ClusterSidecar {
  kind: AnySidecarKind & { name: RbacComponent };
  /** Whether it runs in this cluster; default always. */
  runs?(driver: DriverFacts): boolean;
  /** The flags as this driver needs them. */
  adapt?(flags: FlagRecord, driver: DriverFacts): FlagRecord;
}

type FlagRecord = Readonly<Record<string, unknown>>;

export interface DriverFacts {
  readonly abilities: Driver;
  /** Its CSIDriver object says that pods are scheduled by published capacity. */
  readonly storageCapacity: boolean;
  /** For sidecars that serve others. */
  readonly serving: ServingFiles | undefined;
}

/** What a command line says about the sidecars, each flag with the sidecar's name before it. */
export interface SidecarFlags {
  readonly values: FlagRecord;
  /** Names of the flags that were given. */
  readonly given: ReadonlySet<string>;
}

const NAMESPACE = 'kube-system';
const TIMEOUT_MS = 10_000;

export function sidecarsPart(
  context: PartContext,
  driver: ClusterDriver,
  { sidecars, flags }: { sidecars: readonly ClusterSidecar[]; flags: SidecarFlags },
): Part {
  const { clock, random, server } = context;
  return {
    name: `sidecars of ${driver.name}`,
    async run(signal, serving) {
      const stop = new AbortController();
      const either = AbortSignal.any([signal, stop.signal]);
      const log = context.log.with({ driver: driver.name });
      const address = driver.controllerSocket;
      const connection = context.connect?.(address) ?? connectCsi({ address, clock, log });
      try {
        const ask = { clock, log, timeoutMs: TIMEOUT_MS, signal: either };
        const identified = await identifyDriver(context.record?.(connection, 'sidecars') ?? connection, ask);
        const onChanged = (error: Error): void => stop.abort(error);
        const facts: DriverFacts = {
          abilities: identified,
          storageCapacity: storageCapacityOf(server, driver),
          serving: context.serving,
        };
        if (facts.storageCapacity && !identified.controller.has('GET_CAPACITY')) {
          log.warn(
            'The CSIDriver object has storageCapacity: true, but the driver lacks GET_CAPACITY: nothing is published, ' +
              'and pods whose claims wait for a node stay Pending. Set storageCapacity to false',
          );
        }
        onAbort(
          either,
          server.reader.subscribe(csiDrivers, () => {
            const now = storageCapacityOf(server, driver);
            if (now === facts.storageCapacity) return;
            onChanged(new Error(`CSIDriver ${driver.name} now has storageCapacity: ${now}`));
          }),
        );
        const synced: Promise<void>[] = [];
        const start = (sidecar: ClusterSidecar, { signal: living, clock, process }: Life): Sidecar => {
          const { kind } = sidecar;
          const component = { name: kind.name, driver: driver.name, process };
          const ports = partPorts(context, { ...component, user: userOf(sidecar), signal: living });
          const counted = areRead(ports.metrics)
            ? countedConnection(connection, ofDriver(ports.metrics, identified.name), clock)
            : connection;
          const csi = sameDriverTransport({
            ...ask,
            signal: living,
            connection: asComponent(context, counted, component),
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
              env: { NAMESPACE },
              identity,
              namespace: NAMESPACE,
              kubeWith: () => ports.kube,
            },
            flagsOf(sidecar, flags, facts),
          );
          informers.start(living);
          const following = informers.synced(living);
          following.catch(() => {});
          synced.push(following);
          return created;
        };
        const running = sidecars
          .filter(({ kind, runs }) => (kind.suits?.(identified) ?? true) && (runs?.(facts) ?? true))
          .map((sidecar) => ({
            run: (lasting: AbortSignal) =>
              runComponent(context, { name: sidecar.kind.name, driver: driver.name }, lasting, (life) =>
                start(sidecar, life).run(life.signal),
              ),
          }));
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

const ofDriver = (metrics: Metrics, driverName: DriverName) =>
  operationMetrics({ metrics, prefix: 'csi_sidecar', driverName });

const userOf = ({ kind }: ClusterSidecar) => serviceAccountUser(NAMESPACE, COMPONENT_ACCOUNTS[kind.name]);

const storageCapacityOf = ({ reader }: PartContext['server'], { name }: ClusterDriver): boolean =>
  reader.get(csiDrivers, { name })?.spec.storageCapacity === true;

/** As the sidecar's own command line would have given them, with what this driver needs. */
function flagsOf({ kind, adapt }: ClusterSidecar, { values, given }: SidecarFlags, facts: DriverFacts) {
  const common = parseFlags({ table: commonFlags, argv: [], env: {} }).values;
  const own = new Set([...given].filter((name) => name.startsWith(`${kind.name}-`)));
  const flags = flagsFor(kind, { ...values, ...common }, own);
  return (adapt?.(flags, facts) ?? flags) as never;
}
