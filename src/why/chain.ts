// The chain from a pod to its storage, link by link: what each is, its state and, if it is not well, what to do. Types only,
// also for code that runs in a browser.

/** `waits`: a component works on it, or will. `stuck`: nothing happens until a person acts. */
export type LinkState = 'ok' | 'waits' | 'stuck';

export interface Link {
  readonly subject: string;
  readonly state: LinkState;
  readonly says: string;
  /** What to do, most likely first. */
  readonly todo: readonly string[];
  /** Recent events, newest first. */
  readonly said: readonly string[];
}
