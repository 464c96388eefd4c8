// Work that cannot be divided by object (publishing capacity, sweeps, parts that know nothing of shares): it runs in one
// replica at a time, the one that owns its name, and moves as objects do.

import type { Clock } from '../ports.ts';
import { childSignal } from '../time/child-signal.ts';
import type { Shares } from './shares.ts';

/** How soon a replica notices that the work is no longer its, or has become its. */
const LOOK_MS = 250;

export interface WholeWork {
  /** Undefined: there is only this replica. */
  shares: Shares | undefined;
  /** Distinct among the work of a group. */
  name: string;
  clock: Clock;
}

/** Runs `work` whenever it is this replica's, until `signal` aborts. It may be ended and begun again. */
export async function runWhole(
  { shares, name, clock }: WholeWork,
  work: (signal: AbortSignal) => Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  if (shares === undefined) {
    await work(signal);
    return;
  }
  const key = `whole/${name}`;
  while (!signal.aborted) {
    const turn = shares.enter(key);
    if (turn !== undefined) {
      const ours = childSignal(signal);
      const look = async (): Promise<void> => {
        while (!ours.signal.aborted) {
          await clock.sleep(LOOK_MS, ours.signal).catch(() => {});
          if (!ours.signal.aborted && !shares.owns(key))
            ours.abort(new Error(`${name} is another replica's now`));
        }
      };
      const looking = look();
      try {
        await work(ours.signal);
      } catch (error) {
        if (!ours.signal.aborted) throw error;
      } finally {
        const isOver = !ours.signal.aborted;
        ours.abort(new Error(`${name} has ended`));
        ours.detach();
        await looking;
        turn.leave();
        if (isOver) await clock.sleep(LOOK_MS, signal).catch(() => {});
      }
    } else await clock.sleep(LOOK_MS, signal).catch(() => {});
  }
}
