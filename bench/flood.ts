// The load of fairness.bench.ts: a client that keeps an API server as busy as it can, in a separate thread. Messages:
// `go` starts, `stop` ends; it replies `busy` once requests have been answered, and `idle` when none is in flight.
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { type Access, HttpsCaller } from '../test/https-caller.ts';

export type FloodKind = 'gets' | 'lists' | 'watches' | 'writes';

export interface FloodOptions {
  readonly access: Access;
  readonly kind: FloodKind;
  readonly connections: number;
  /** The collection to list and watch, and to write to. */
  readonly path: string;
  /** The thread's niceness: how much it yields the processors to the server. */
  readonly nice: number;
}

const { access, kind, connections, path, nice } = workerData as FloodOptions;
// On Linux only this thread's.
setPriority(nice);
const BIG = 'x'.repeat(500_000);
/** Answers after which the server counts as busy. */
const BUSY_AFTER = 4;

const caller = new HttpsCaller(access);
let isOn = false;
let answered = 0;

async function watchOnce(): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    let heard = 0;
    const query =
      'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const following = caller.follow(`${path}?${query}`, {
      text(more) {
        heard += more.length;
        if (more.includes('k8s.io/initial-events-end') || heard > 50_000_000) {
          void following.then(({ close }) => close());
        }
      },
      ended: () => resolve(),
    });
    following.catch(reject);
  });
}

const requests: Readonly<Record<FloodKind, (worker: number) => Promise<unknown>>> = {
  gets: () => caller.call('GET', '/api/v1/namespaces/default'),
  lists: () => caller.call('GET', path),
  watches: watchOnce,
  writes: (worker) =>
    caller.call('PUT', `${path}/big-${worker}`, {
      metadata: { name: `big-${worker}`, annotations: { at: String(answered) } },
      data: { big: BIG },
    }),
};

async function flood(worker: number): Promise<void> {
  if (kind === 'writes') await caller.call('POST', path, { metadata: { name: `big-${worker}` } });
  while (isOn) {
    await requests[kind](worker);
    if (++answered === BUSY_AFTER) parentPort?.postMessage('busy');
  }
}

parentPort?.on('message', async (message: 'go' | 'stop') => {
  isOn = message === 'go';
  if (!isOn) return;
  answered = 0;
  await Promise.all(Array.from({ length: connections }, (_, worker) => flood(worker)));
  parentPort?.postMessage('idle');
});
