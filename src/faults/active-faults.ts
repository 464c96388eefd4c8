// The faults that are set at one place, a cluster or a proxy, and how often each has struck. Decides for each call which fault
// strikes it, if any; disturb-call.ts does it.

import type { Random } from '../runtime/ports.ts';
import { type Fault, type FaultableCall, formatFault, isAimedAt } from './fault.ts';
import { FaultError, parseFault } from './parse-fault.ts';

export interface ActiveFault {
  /** `f1`, `f2`, … */
  readonly id: string;
  readonly fault: Fault;
  /** How many calls it has struck. */
  readonly struck: number;
}

/** As it is listed. */
export interface ShownFault {
  readonly id: string;
  readonly fault: string;
  /** Its name in the simulation. */
  readonly kind: string;
  readonly struck: number;
  /** It has struck as often as it was to. */
  readonly isSpent: boolean;
}

export interface ActiveFaultsOptions {
  random: Random;
  /** Throws a FaultError for a fault that cannot strike here. */
  check(fault: Fault): void;
  /** After each change of the list. */
  onChange?(): void;
  /** After each strike. */
  onStrike?(struck: ActiveFault, call: FaultableCall): void;
}

type Entry = { -readonly [K in keyof ActiveFault]: ActiveFault[K] };

export class ActiveFaults {
  readonly #options: ActiveFaultsOptions;
  #entries: Entry[] = [];
  /** Those that can still strike. Read by each call, so that none costs nothing. */
  #armed: Entry[] = [];
  #made = 0;

  constructor(options: ActiveFaultsOptions) {
    this.#options = options;
  }

  /** No call can be struck. */
  get isIdle(): boolean {
    return this.#armed.length === 0;
  }

  list(): ShownFault[] {
    return this.#entries.map(shown);
  }

  /** Throws a FaultError, and sets nothing, when the text is no fault or it cannot strike here. */
  add(text: string): ShownFault {
    const fault = parseFault(text);
    this.#options.check(fault);
    this.#made += 1;
    const entry: Entry = { id: `f${this.#made}`, fault, struck: 0 };
    this.#entries.push(entry);
    this.#changed();
    return shown(entry);
  }

  /** Throws a FaultError when there is none of this ID. */
  remove(id: string): ShownFault {
    const entry = this.#entries.find((each) => each.id === id);
    if (entry === undefined) {
      const ids = this.#entries.map((each) => each.id).join(', ');
      throw new FaultError(
        `there is no fault ${JSON.stringify(id)}${ids === '' ? '' : `; there are ${ids}`}`,
      );
    }
    this.#entries = this.#entries.filter((each) => each !== entry);
    this.#changed();
    return shown(entry);
  }

  removeAll(): ShownFault[] {
    const removed = this.list();
    this.#entries = [];
    this.#changed();
    return removed;
  }

  /** The first fault that strikes this call; counted. */
  strike(call: FaultableCall): ActiveFault | undefined {
    for (const entry of this.#armed) {
      const { fault } = entry;
      if (!isAimedAt(fault, call)) continue;
      if (fault.percent !== undefined && this.#options.random.next() * 100 >= fault.percent) continue;
      entry.struck += 1;
      if (isSpent(entry)) this.#changed();
      this.#options.onStrike?.(entry, call);
      return entry;
    }
    return undefined;
  }

  #changed(): void {
    this.#armed = this.#entries.filter((entry) => !isSpent(entry));
    this.#options.onChange?.();
  }
}

const isSpent = ({ fault, struck }: Entry): boolean => fault.times !== undefined && struck >= fault.times;

const shown = (entry: Entry): ShownFault => ({
  id: entry.id,
  fault: formatFault(entry.fault),
  kind: entry.fault.action.fault,
  struck: entry.struck,
  isSpent: isSpent(entry),
});
