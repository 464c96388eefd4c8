// Leaves out of a plan what its drivers cannot be asked for.

import type { DriverPlan, EventPlan, Lack, Step } from './plan.ts';

const STORAGE_FAULTS: ReadonlySet<string> = new Set(['storage-full', 'storage-lies', 'node-full']);

/** All of them for drivers that lack nothing. */
export function possibleSteps(steps: readonly Step[], drivers: readonly DriverPlan[]): Step[] {
  if (drivers.every((driver) => driver.lacks === undefined)) return [...steps];
  const lacks = lacking(drivers);
  return steps.flatMap((step) => {
    const { action } = step;
    if (action.do === 'create-pod' && action.existing && lacks('existing volumes')) return [];
    if (action.do !== 'create-claim') return [step];
    const { isBlock, ...filesystem } = action;
    const changed = isBlock && lacks('block volumes') ? filesystem : action;
    if (changed.mode !== 'ReadWriteMany' || !lacks('shared volumes')) return [{ ...step, action: changed }];
    return [{ ...step, action: { ...changed, mode: 'ReadWriteOnce' as const } }];
  });
}

export function possibleEvents(events: readonly EventPlan[], drivers: readonly DriverPlan[]): EventPlan[] {
  const lacks = lacking(drivers);
  return events.filter(({ fault }) => !(STORAGE_FAULTS.has(fault) && lacks('storage faults')));
}

function lacking(drivers: readonly DriverPlan[]): (what: Lack) => boolean {
  return (what) => drivers.some((driver) => driver.lacks?.includes(what));
}
