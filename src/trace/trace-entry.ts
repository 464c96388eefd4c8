// Trace entries: changes of API objects, CSI calls, and failures that are retried, each with author and time. Plain data, sent to
// `berth trace` and kept over restarts as it is.

import type { SnapshotHandle, VolumeHandle } from '../csi/names/driver-name.ts';

interface Common {
  /** Order of recording. */
  seq: number;
  /** Milliseconds since the epoch, with fractions; of a call, when it began. */
  atMs: number;
  /** `provisioner`, `attacher`, `node-1`; `a client` when it came from outside. */
  by: string;
}

type TokenKind =
  | 'claim'
  | 'pod'
  | 'pod-uid'
  | 'volume'
  | 'handle'
  | 'attachment'
  | 'snapshot'
  | 'content'
  | 'group'
  | 'event';
/** What an entry is about, or refers to: `claim default/data`, `volume pvc-1`, `handle h1`, `pod default/web`, … */
export type Token = `${TokenKind} ${string}`;

export interface TracedObject {
  kind: string;
  namespace?: string;
  name: string;
}

export interface ApiEntry extends Common {
  kind: 'api';
  verb: 'created' | 'changed' | 'deleted';
  object: TracedObject;
  /** Tells objects of one name apart. */
  uid: string;
  /** The one object that it belongs to: a volume to its claim, an event to what it is about. */
  of?: { token: Token; uid: string };
  /** What is different, each in a few words. */
  changes: string[];
  /** Afterwards, of claims, volumes and pods; of an attachment `true` or `false`. */
  phase?: string;
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

/** Stands where an earlier object of the subject's name ended, whose entries are left out. */
export interface EarlierObject {
  kind: 'earlier';
  atMs: number;
  object: TracedObject;
  /** How many entries are left out. */
  entries: number;
}

/** What a trace consists of. */
export type TraceLine = TraceEntry | EarlierObject;

/** An entry before the book has numbered it. */
export type Unnumbered = Omit<ApiEntry, 'seq'> | Omit<CsiEntry, 'seq'> | Omit<RetryEntry, 'seq'>;

export const claimToken = (namespace: string, name: string): Token => `claim ${namespace}/${name}`;
export const podToken = (namespace: string, name: string): Token => `pod ${namespace}/${name}`;
export const podUidToken = (uid: string): Token => `pod-uid ${uid}`;
export const volumeToken = (name: string): Token => `volume ${name}`;
export const handleToken = (handle: VolumeHandle | SnapshotHandle): Token => `handle ${handle}`;
export const attachmentToken = (name: string): Token => `attachment ${name}`;
export const snapshotToken = (namespace: string, name: string): Token => `snapshot ${namespace}/${name}`;
export const contentToken = (name: string): Token => `content ${name}`;
export const groupToken = (namespace: string, name: string): Token => `group ${namespace}/${name}`;
