// A hedged request: when the first gets no answer for a while, a second one is sent beside it. A slow server may still answer
// the first; a dead connection never will. The first answer counts.

import type { Clock } from '../ports.ts';
import { onAbort } from '../time/on-abort.ts';

export interface AskTwiceInit {
  clock: Pick<Clock, 'setTimeout'>;
  /** Delay of the second request, also when the first has failed by then. */
  secondAfterMs: number;
  parent: AbortSignal;
}

/** Rejects with the first error when both have failed, or when `parent` aborts. */
export function askTwice<T>(init: AskTwiceInit, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { clock, secondAfterMs, parent } = init;
  parent.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const ended = new AbortController();
  const errors: unknown[] = [];
  let underWay = 0;

  const end = (): void => {
    timer.cancel();
    stopListening();
    if (underWay > 0)
      ended.abort(parent.aborted ? parent.reason : new Error('the other request was answered'));
  };
  const attempt = (): void => {
    underWay++;
    ask(ended.signal).then(
      (answer) => {
        underWay--;
        end();
        resolve(answer);
      },
      (error: unknown) => {
        underWay--;
        errors.push(error);
        if (errors.length < 2) return;
        end();
        reject(errors[0]);
      },
    );
  };
  const timer = clock.setTimeout(attempt, secondAfterMs);
  const stopListening = onAbort(parent, () => {
    end();
    reject(errors[0] ?? parent.reason);
  });
  attempt();
  return promise;
}
