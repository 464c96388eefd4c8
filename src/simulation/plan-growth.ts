// The resizes of one simulated cluster. Claims of drivers that can expand grow: some while they are used, some again
// before the first expansion is finished, some to more than the storage has and then back to less.

import type { SeededRandom } from '../runtime/random.ts';
import type { Plan, Step } from './plan.ts';
import { MOST_GIB } from './storage-backend.ts';

const TOO_MUCH_GIB = 2 * MOST_GIB;

export function planGrowth(
  { drivers, classes, faultsMs }: Pick<Plan, 'drivers' | 'classes' | 'faultsMs'>,
  steps: readonly Step[],
  random: SeededRandom,
): Step[] {
  const growing = new Set(drivers.filter(({ expands }) => expands).map(({ name }) => name));
  const growingClasses = new Set(classes.filter(({ driver }) => growing.has(driver)).map(({ name }) => name));
  const more: Step[] = [];
  for (const { atMs, action } of steps) {
    if (action.do !== 'create-claim' || !growingClasses.has(action.className)) continue;
    let whenMs = atMs;
    let gib = 1;
    const times = 1 + random.int(3);
    for (let time = 0; time < times; time++) {
      whenMs += random.next() < 0.3 ? random.int(3_000) : 2_000 + random.int(30_000);
      gib += 1 + random.int(2);
      const isTooMuch = random.next() < 0.2;
      const actions = isTooMuch ? [TOO_MUCH_GIB, gib] : [gib];
      for (const size of actions) {
        const step = Math.min(Math.round(whenMs), faultsMs - 1);
        more.push({ atMs: step, action: { do: 'resize-claim', name: action.name, gib: size } });
        whenMs += random.int(20_000);
      }
    }
  }
  return more;
}
