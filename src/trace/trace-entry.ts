// Trace entries: changes of API objects, CSI calls, and failures that are retried, each with author and time. Plain data, sent to
// `berth trace` as it is.

interface Common {
  /** Order of recording. */
  seq: number;
  /** Milliseconds since the epoch, with fractions; of a call, when it began. */
  atMs: number;
  /** `provisioner`, `attacher`, `node-1`; `a client` when it came from outside. */
  by: string;
}

/** What an entry is about, or refers to: `claim default/data`, `volume pvc-1`, `handle h1`, `pod default/web`, … */
export type Token = string;

export interface ApiEntry extends Common {
  kind: 'api';
  verb: 'created' | 'changed' | 'deleted';
  object: { kind: string; namespace?: string; name: string };
  /** What is different, each in a few words. */
  changes: string[];
  self: Token;
  links: Token[];
}

/** Field to text: names, handles and paths, never a secret. */
export type CallRequest = Readonly<Record<string, string>>;

export interface CsiEntry extends Common {
  kind: 'csi';
  method: string;
  /** What it was asked for. */
  request: CallRequest;
  /** Undefined while it is under way. */
  durationMs?: number;
  code?: string;
  error?: string;
  links: Token[];
  /** The pod whose directory a path of the request is in. */
  podUid?: string;
}

export interface RetryEntry extends Common {
  kind: 'retry';
  /** Of the loop. */
  loop: string;
  key: string;
  attempt: number;
  retryInMs: number;
  error: string;
  links: Token[];
}

export type TraceEntry = ApiEntry | CsiEntry | RetryEntry;

/** An entry before the book has numbered it. */
export type Unnumbered = Omit<ApiEntry, 'seq'> | Omit<CsiEntry, 'seq'> | Omit<RetryEntry, 'seq'>;

export const claimToken = (namespace: string, name: string): Token => `claim ${namespace}/${name}`;
export const podToken = (namespace: string, name: string): Token => `pod ${namespace}/${name}`;
export const podUidToken = (uid: string): Token => `pod-uid ${uid}`;
export const volumeToken = (name: string): Token => `volume ${name}`;
export const handleToken = (handle: string): Token => `handle ${handle}`;
export const attachmentToken = (name: string): Token => `attachment ${name}`;
