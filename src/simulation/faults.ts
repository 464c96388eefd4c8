// Which faults strike which calls, and how often. One random number decides each call, from a stream of its own for each
// process and port: leaving one kind of fault out does not move the others, which shrinking depends on.

import { CSI_FAULTS, type CsiFault } from '../faults/vocabulary.ts';
import type { Random } from '../runtime/ports.ts';
import type { SeededRandom } from '../runtime/random.ts';
import type { History } from './history.ts';

export const KUBE_FAULTS = [
  'kube-lost-before',
  'kube-lost-after',
  'kube-conflict',
  'kube-429',
  'kube-slow',
  'kube-crash-before',
  'kube-crash-after',
] as const;
export const WATCH_FAULTS = ['watch-dropped', 'watch-stalled', 'watch-expired', 'watch-late'] as const;
/** At the calls of a driver under test to its storage, mounts and files; see subjects/module-process.ts. */
export const DRIVER_FAULTS = [
  'storage-slow',
  'storage-fails',
  'storage-lost-after',
  'driver-crash-before',
  'driver-crash-after',
] as const;
/** Faults that happen at a planned time instead of at a call. */
export const EVENT_FAULTS = [
  'process-crash',
  'process-stop',
  'driver-down',
  'driver-restart',
  'storage-full',
  'storage-lies',
  'node-reboot',
  'node-lost',
  'node-silent',
  'node-full',
  'lease-stall',
  'clock-jump',
  'user-deletes',
  'process-pause',
  'lease-edit',
] as const;

export type KubeFault = (typeof KUBE_FAULTS)[number];
export type WatchFault = (typeof WATCH_FAULTS)[number];
export type DriverFault = (typeof DRIVER_FAULTS)[number];
export type EventFault = (typeof EVENT_FAULTS)[number];
export type Fault = KubeFault | WatchFault | CsiFault | DriverFault | EventFault;

export const ALL_FAULTS: readonly Fault[] = [
  ...KUBE_FAULTS,
  ...WATCH_FAULTS,
  ...CSI_FAULTS,
  ...DRIVER_FAULTS,
  ...EVENT_FAULTS,
];

/** Per thousand calls at intensity 1; for watches, per thousand that are opened. */
const RATES: Record<KubeFault | WatchFault | CsiFault | DriverFault, number> = {
  'kube-lost-before': 12,
  'kube-lost-after': 12,
  'kube-conflict': 12,
  'kube-429': 6,
  'kube-slow': 12,
  'kube-crash-before': 2,
  'kube-crash-after': 3,
  'watch-dropped': 120,
  'watch-stalled': 100,
  'watch-expired': 60,
  'watch-late': 200,
  'csi-lost-before': 30,
  'csi-lost-after': 40,
  'csi-duplicated': 20,
  'csi-refused': 40,
  'csi-slow': 60,
  'csi-past-deadline': 25,
  'csi-crash-before': 12,
  'csi-crash-after': 20,
  'storage-slow': 60,
  'storage-fails': 20,
  'storage-lost-after': 20,
  'driver-crash-before': 8,
  'driver-crash-after': 15,
};

/**
 * How often a watch that was silent finds its version expired when it is opened again. The cache then jumps over everything
 * that happened meanwhile, which is rare enough otherwise.
 */
const EXPIRED_AFTER_STALL = 1 / 3;

/** What the intensity is multiplied by, in a cluster with a focus. */
const FOCUS = { focused: 1.5, others: 0.3 };

type CallFault = keyof typeof RATES;

/** The kinds of faults of one port, one of which is drawn. */
class Dice<F extends CallFault> {
  readonly kinds: readonly F[];
  /** Of all kinds together. */
  readonly rate: number;
  /** At more intensity than this the last kinds would never be drawn. */
  readonly mostIntense: number;

  constructor(kinds: readonly F[]) {
    this.kinds = kinds;
    this.rate = kinds.reduce((sum, kind) => sum + RATES[kind], 0);
    this.mostIntense = 1000 / this.rate;
  }
}

/** The fault that strikes a call through one port, if any. */
export type Strikes<F extends CallFault> = (verb: string, plural?: string) => F | undefined;

const KUBE_DICE = new Dice(KUBE_FAULTS);
const WATCH_DICE = new Dice(WATCH_FAULTS);
const CSI_DICE = new Dice(CSI_FAULTS);
const DRIVER_DICE = new Dice(DRIVER_FAULTS);

/** One strike by script instead of by chance. */
export interface Strike {
  readonly fault: CallFault;
  readonly process: string;
  /** `create persistentvolumes`, `watch pods` or `CreateVolume`. */
  readonly call: string;
  /** Which of these calls by this process, from 1 on. */
  readonly nth: number;
  /** Of a watch that stalls or is dropped: how long after it was opened; drawn unless given. */
  readonly afterMs?: number;
  /** Of a watch that stalls: for how long. Of one that is late: by how much. Drawn unless given. */
  readonly forMs?: number;
}

/** What strikes a watch, with the times that a script gives. */
export type WatchStrike = Pick<Strike, 'afterMs' | 'forMs'> & { readonly fault: WatchFault };

export interface FaultOptions {
  random: SeededRandom;
  history: History;
  enabled: ReadonlySet<Fault>;
  /** Multiplies every rate. */
  intensity: number;
  /** Processes whose names start so are struck more often, and the others less. */
  focus: string | undefined;
  /** Single strikes that are left out, by the name the history gives them. */
  skipped: ReadonlySet<string>;
  script: readonly Strike[];
}

/** Decides which calls are struck. */
export class Faults {
  readonly #options: FaultOptions;
  readonly #streams = new Map<string, Random>();
  readonly #counts = new Map<string, number>();
  /** Process and kind of watches that stalled and were not opened again since. */
  readonly #stalled = new Set<string>();
  /** False ends all faults. */
  active = true;

  constructor(options: FaultOptions) {
    this.#options = options;
  }

  /** For all requests of one process. */
  kube(process: string): Strikes<KubeFault> {
    return this.#strikes(KUBE_DICE, process, `kube/${process}`, process);
  }

  /** For one watch of a process over one kind. */
  watch(process: string, plural: string): WatchStrike | undefined {
    if (!this.active) return undefined;
    const planned = this.#scripted(this.#scriptOf(process), `watch ${plural}`);
    if (planned) return planned as WatchStrike;
    const where = `${process} ${plural}`;
    const stream = this.stream(`watch/${process}/${plural}`);
    const expires = this.#stalled.delete(where) && stream.next() < EXPIRED_AFTER_STALL;
    const fault = expires
      ? this.#strike('watch-expired', where)
      : this.#draw(WATCH_DICE, stream, { where, intensity: this.#intensityOf(process) });
    if (fault === 'watch-stalled') this.#stalled.add(where);
    return fault && { fault };
  }

  /** For all calls of one process. */
  csi(process: string): Strikes<CsiFault> {
    return this.#strikes(CSI_DICE, process, `csi/${process}`, process);
  }

  /** For what one process of a driver under test asks of its storage and its machine. */
  driver(process: string): Strikes<DriverFault> {
    return this.#strikes(DRIVER_DICE, process, `driver/${process}`, process);
  }

  /** Whether an event that was planned takes place. */
  event(fault: EventFault, name: string): boolean {
    return this.active && this.#options.enabled.has(fault) && !this.#options.skipped.has(name);
  }

  /** For the details of a fault: its duration, its code. */
  stream(name: string): Random {
    let stream = this.#streams.get(name);
    if (stream === undefined) {
      stream = this.#options.random.fork(name);
      this.#streams.set(name, stream);
    }
    return stream;
  }

  #strikes<F extends CallFault>(
    dice: Dice<F>,
    process: string,
    streamName: string,
    where: string,
  ): Strikes<F> {
    const stream = this.stream(streamName);
    const script = this.#scriptOf(process);
    const intensity = this.#intensityOf(process);
    return (verb, plural) => {
      if (!this.active) return undefined;
      const planned = script.length > 0 && this.#scripted(script, plural ? `${verb} ${plural}` : verb);
      return planned ? (planned.fault as F) : this.#draw(dice, stream, { where, intensity });
    };
  }

  #scriptOf(process: string): readonly Strike[] {
    return this.#options.script.filter((strike) => strike.process === process);
  }

  #scripted(script: readonly Strike[], call: string): Strike | undefined {
    const process = script[0]?.process;
    const key = `script ${process} ${call}`;
    const nth = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, nth);
    const strike = script.find((each) => each.call === call && each.nth === nth);
    if (strike === undefined) return undefined;
    const where = `${strike.fault} ${process} ${call} #${nth}`;
    this.#options.history.add({ kind: 'fault', fault: strike.fault, where });
    return strike;
  }

  #intensityOf(process: string): number {
    const { intensity, focus } = this.#options;
    if (focus === undefined) return intensity;
    return intensity * (process.startsWith(focus) ? FOCUS.focused : FOCUS.others);
  }

  #draw<F extends CallFault>(
    dice: Dice<F>,
    stream: Random,
    { where, intensity }: { where: string; intensity: number },
  ): F | undefined {
    let left = (stream.next() * 1000) / Math.min(intensity, dice.mostIntense);
    if (left >= dice.rate) return undefined;
    for (const kind of dice.kinds) {
      left -= RATES[kind];
      if (left < 0) return this.#strike(kind, where);
    }
    return undefined;
  }

  /** Undefined where this kind, or this single fault, is left out. */
  #strike<F extends CallFault>(kind: F, where: string): F | undefined {
    const { enabled, skipped, history } = this.#options;
    if (!enabled.has(kind)) return undefined;
    const what = `${kind} ${where}`;
    const count = (this.#counts.get(what) ?? 0) + 1;
    this.#counts.set(what, count);
    const name = `${what} #${count}`;
    if (skipped.has(name)) return undefined;
    history.add({ kind: 'fault', fault: kind, where: name });
    return kind;
  }
}
