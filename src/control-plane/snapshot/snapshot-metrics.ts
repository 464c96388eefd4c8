// The snapshot controller's metrics, under the names of the official one: the time until a snapshot is created, ready
// or deleted, measured from when the controller first saw the request.

import type { DriverName } from '../../csi/names/driver-name.ts';
import type { Metrics } from '../../runtime/metrics/metrics.ts';
import type { Clock } from '../../runtime/ports.ts';

const BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 120, 300, 600];

type Noun = 'Snapshot' | 'GroupSnapshot';
export type SnapshotOperation = `Create${Noun}` | `Create${Noun}AndReady` | `Delete${Noun}`;
type Status = 'success' | 'cancel';

interface Begun {
  startMs: number;
  driver: DriverName | 'unknown';
  type: 'dynamic' | 'pre-provisioned';
}

export class SnapshotMetrics {
  readonly #clock: Clock;
  readonly #begun = new Map<string, Begun>();
  readonly #observe: (operation: SnapshotOperation, begun: Begun, status: Status) => void;

  constructor(metrics: Metrics | undefined, clock: Clock) {
    this.#clock = clock;
    const seconds = metrics?.histogram({
      name: 'snapshot_controller_operation_total_seconds',
      help: 'Total number of seconds spent by the controller on an operation',
      labelNames: ['driver_name', 'operation_name', 'snapshot_type', 'operation_status'],
      buckets: BUCKETS,
    });
    metrics?.gaugeFrom(
      { name: 'snapshot_controller_operations_in_flight', help: 'Total number of operations in flight' },
      {},
      () => this.#begun.size,
    );
    this.#observe = (operation, { driver, type, startMs }, status) =>
      seconds?.observe(
        { driver_name: driver, operation_name: operation, snapshot_type: type, operation_status: status },
        (clock.monotonicMs() - startMs) / 1000,
      );
  }

  /** Only the first call for a key starts the measurement. */
  begin(
    operation: SnapshotOperation,
    { uid, isDynamic, driver }: { uid: string; isDynamic: boolean; driver: DriverName | undefined },
  ): void {
    const key = keyFor(operation, uid);
    const known = this.#begun.get(key);
    if (known !== undefined) {
      if (driver !== undefined) known.driver = driver;
      return;
    }
    const type = isDynamic ? 'dynamic' : 'pre-provisioned';
    this.#begun.set(key, { startMs: this.#clock.monotonicMs(), driver: driver ?? 'unknown', type });
  }

  end(operation: SnapshotOperation, uid: string, status: Status = 'success'): void {
    const key = keyFor(operation, uid);
    const begun = this.#begun.get(key);
    if (begun === undefined) return;
    this.#begun.delete(key);
    this.#observe(operation, begun, status);
  }

  /** The object is gone: drops the operations that were started for it. */
  gone(noun: Noun, uid: string): void {
    this.end(`Delete${noun}`, uid);
    this.end(`Create${noun}`, uid, 'cancel');
    this.end(`Create${noun}AndReady`, uid, 'cancel');
  }
}

const keyFor = (operation: SnapshotOperation, uid: string): string => `${operation} ${uid}`;
