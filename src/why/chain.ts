// The chain from a pod to its storage, link by link: what each is, how it is, and, where it is not well, what somebody can
// do. Types only, also for code that runs in a browser.

/** `waits`: somebody works on it, or will. `stuck`: nothing happens until a person does something. */
export type LinkState = 'ok' | 'waits' | 'stuck';

export interface Link {
  readonly subject: string;
  readonly state: LinkState;
  readonly says: string;
  /** What to do, most likely first. */
  readonly todo: readonly string[];
  /** What components said of it lately, newest first. */
  readonly said: readonly string[];
}
