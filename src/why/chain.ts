// The chain from an object to its storage, link by link: what each is, its state and, if it is not well, what to do. Types
// only, also for code that runs in a browser.

/** `waits`: it can end by itself. `stuck`: the same failure repeats, or nothing happens until a person acts. */
export type LinkState = 'ok' | 'waits' | 'stuck';

export interface Link {
  /** `PersistentVolumeClaim default/data`, `attachment to node-1`. */
  readonly subject: string;
  readonly state: LinkState;
  /** The cause as it was reported, if it was. */
  readonly says: string;
  /** What to do, most likely first. */
  readonly todo: readonly string[];
  /** Recent warning events, newest first. */
  readonly said: readonly string[];
  /** Equal for links that fail for one reason. Absent: subject and text. */
  readonly cause?: string;
}

/** A cause and everything that it keeps from being well. */
export interface Trouble {
  readonly state: 'waits' | 'stuck';
  readonly subject: string;
  readonly says: string;
  readonly todo: readonly string[];
  readonly said: readonly string[];
  /** `Pod default/web`, `PersistentVolumeClaim default/data`: pods first. */
  readonly affects: readonly string[];
}
