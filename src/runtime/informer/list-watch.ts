// How an informer follows the API server, as a pure function: (state, input) → (state, effects). It owns every
// decision about listing, watching, waiting and giving up on a resource version; it never touches the cache, the
// network or the clock. Guarantee: whatever the inputs, the informer ends up listing or watching again, and what it
// watches from is never newer than what it has stored.

import type { KubeObject } from '../../api/object.ts';
import { isNewer } from '../../api/resource-version.ts';
import type { WatchEvent } from '../kube/kube.ts';
import { isExpired, KubeError } from '../kube/kube-error.ts';
import { failedAtStreaming, isRejection, refusesStreaming } from './list-watch-errors.ts';

/** The current operation: exactly one at any time. */
export type Phase =
  | { name: 'listing'; continue?: string; resourceVersion?: string; whole: boolean }
  | { name: 'streaming' }
  | { name: 'watching'; from: string }
  | { name: 'waiting'; then: 'list' | 'watch' };

export interface ListWatchState {
  readonly phase: Phase;
  /** The resourceVersion of the cache; '' before the first list. Never decreases, except by a new list. */
  readonly resourceVersion: string;
  /** Consecutive attempts without progress. */
  readonly failures: number;
  /** Consecutive streaming lists that did not finish. */
  readonly streamFailures: number;
  /** False once the server refused `sendInitialEvents`, or failed at it twice in a row. */
  readonly streams: boolean;
  /** Whether a missing kind is an empty kind. */
  readonly optional: boolean;
}

export type Input<T extends KubeObject = KubeObject> =
  | { kind: 'page'; items: readonly T[]; resourceVersion: string; continue?: string }
  | { kind: 'event'; event: WatchEvent<T> }
  /** `livedMs`: how long the watch lasted. */
  | { kind: 'ended'; livedMs: number }
  | { kind: 'failed'; error: unknown; livedMs: number }
  /** Somebody needs to know more than a watch promises. */
  | { kind: 'doubted' }
  /** `isEarly`: somebody waits for a list. */
  | { kind: 'waited'; isEarly: boolean };

/** Done in order, at once, before the phase that comes with them is begun. */
export type Effect<T extends KubeObject = KubeObject> =
  /** Forget what was staged: a new list begins. */
  | { kind: 'unstage' }
  | { kind: 'stage'; objects: readonly T[] }
  | { kind: 'unstageOne'; object: T }
  /** The staged objects become the cache, and the informer is synced. */
  | { kind: 'swap' }
  | { kind: 'apply'; type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: T }
  | { kind: 'report'; error: unknown; then: 'list' | 'watch' }
  /** The optional kind is not installed, or not for us to read. */
  | { kind: 'absent'; error: unknown }
  /**
   * Sleep before the phase `waiting` ends; the performer adds jitter, and may end it after `orderedMs`, which is what the
   * server asked for, when somebody waits for a list.
   */
  | { kind: 'wait'; delayMs: number; orderedMs: number };

export interface Transition<T extends KubeObject = KubeObject> {
  readonly state: ListWatchState;
  readonly effects: readonly Effect<T>[];
}

/** As client-go's reflector: 800 ms doubling to 30 s. */
const BACKOFF_START_MS = 800;
const BACKOFF_MAX_MS = 30_000;
/** A watch that ends sooner than this without an event counts as a failure. */
const SHORT_WATCH_MS = 1_000;
/** After this many consecutive unreadable events from one version: list again, since the version may be the cause. */
const BAD_ANSWERS_BEFORE_LIST = 3;
const STREAM_ATTEMPTS = 2;

export function initialState(options: { streams: boolean; optional: boolean }): ListWatchState {
  const state = { resourceVersion: '', failures: 0, streamFailures: 0, ...options };
  return { ...state, phase: listPhase(state) };
}

export function transition<T extends KubeObject>(state: ListWatchState, input: Input<T>): Transition<T> {
  switch (input.kind) {
    case 'page':
      return onPage(state, input);
    case 'event':
      return onEvent(state, input.event);
    case 'ended':
      return onEnded(state, input.livedMs);
    case 'failed':
      return onFailed(state, input.error, input.livedMs);
    case 'doubted':
      return onDoubted(state);
    case 'waited':
      return onWaited(state, input.isEarly);
  }
}

/** The delay after the n-th failure in a row (n from 1), before jitter. */
export function backoffMs(failures: number): number {
  return Math.min(BACKOFF_MAX_MS, BACKOFF_START_MS * 2 ** Math.min(failures - 1, 16));
}

function listPhase(state: { streams: boolean }): Phase {
  return state.streams ? { name: 'streaming' } : { name: 'listing', whole: false };
}

function onPage<T extends KubeObject>(
  state: ListWatchState,
  page: { items: readonly T[]; resourceVersion: string; continue?: string },
): Transition<T> {
  const { phase } = state;
  if (phase.name !== 'listing') return { state, effects: [] };
  // All pages show the version of the first; watching from the first is right even where a server breaks that.
  const resourceVersion = phase.resourceVersion ?? page.resourceVersion;
  const stage: Effect<T> = { kind: 'stage', objects: page.items };
  if (page.continue) {
    return {
      state: { ...state, phase: { ...phase, continue: page.continue, resourceVersion } },
      effects: [stage],
    };
  }
  return {
    state: { ...state, phase: { name: 'watching', from: resourceVersion }, resourceVersion },
    effects: [stage, { kind: 'swap' }],
  };
}

function onEvent<T extends KubeObject>(state: ListWatchState, event: WatchEvent<T>): Transition<T> {
  if (state.phase.name === 'streaming') return onInitialEvent(state, event);
  if (state.phase.name !== 'watching') return { state, effects: [] };
  const seen = event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion;
  const resourceVersion = isNewer(seen, state.resourceVersion) ? seen : state.resourceVersion;
  return {
    state: { ...state, resourceVersion, failures: 0 },
    effects: event.type === 'BOOKMARK' ? [] : [{ kind: 'apply', type: event.type, object: event.object }],
  };
}

function onInitialEvent<T extends KubeObject>(state: ListWatchState, event: WatchEvent<T>): Transition<T> {
  if (event.type === 'BOOKMARK') {
    if (!event.initialEventsEnd) return { state, effects: [] };
    const { resourceVersion } = event;
    // The same stream continues as the watch: the phase tells the performer not to open another.
    return {
      state: {
        ...state,
        phase: { name: 'watching', from: resourceVersion },
        resourceVersion,
        streamFailures: 0,
      },
      effects: [{ kind: 'swap' }],
    };
  }
  if (event.type === 'DELETED') return { state, effects: [{ kind: 'unstageOne', object: event.object }] };
  return { state, effects: [{ kind: 'stage', objects: [event.object] }] };
}

function onEnded<T extends KubeObject>(state: ListWatchState, livedMs: number): Transition<T> {
  if (state.phase.name === 'watching' && (livedMs >= SHORT_WATCH_MS || progressed(state))) {
    return {
      state: { ...state, failures: 0, phase: { name: 'watching', from: state.resourceVersion } },
      effects: [],
    };
  }
  const error = new KubeError({
    reason: 'Unreachable',
    code: 0,
    message:
      state.phase.name === 'streaming'
        ? 'the server ended the streaming list before its end'
        : 'the server ended the watch at once, without an event',
  });
  return onFailed(state, error, livedMs);
}

function progressed({ phase, resourceVersion }: ListWatchState): boolean {
  return phase.name === 'watching' && phase.from !== resourceVersion;
}

function onFailed<T extends KubeObject>(
  state: ListWatchState,
  error: unknown,
  livedMs: number,
): Transition<T> {
  switch (state.phase.name) {
    case 'streaming':
      return onStreamFailed(state, error);
    case 'listing':
      return onListFailed(state, state.phase, error);
    case 'watching':
      return onWatchFailed(state, error, livedMs);
    case 'waiting':
      return { state, effects: [] };
  }
}

function onStreamFailed<T extends KubeObject>(state: ListWatchState, error: unknown): Transition<T> {
  if (isAbsent(state, error)) return absent(state, error);
  if (refusesStreaming(error)) {
    const next = { ...state, streams: false };
    return { state: { ...next, phase: listPhase(next) }, effects: [{ kind: 'unstage' }] };
  }
  if (failedAtStreaming(error)) {
    return { state: { ...state, phase: { name: 'listing', whole: false } }, effects: [{ kind: 'unstage' }] };
  }
  const streamFailures = state.streamFailures + 1;
  const streams = streamFailures < STREAM_ATTEMPTS;
  return retry({ ...state, streamFailures, streams }, error, 'list', [{ kind: 'unstage' }]);
}

function onListFailed<T extends KubeObject>(
  state: ListWatchState,
  phase: Extract<Phase, { name: 'listing' }>,
  error: unknown,
): Transition<T> {
  if (isAbsent(state, error)) return absent(state, error);
  if (isExpired(error) && phase.continue !== undefined) {
    // The pages took longer than the server keeps history: ask for everything at once, which cannot expire.
    return {
      state: { ...state, phase: { name: 'listing', whole: true } },
      effects: [{ kind: 'unstage' }],
    };
  }
  return retry(state, error, 'list', [{ kind: 'unstage' }]);
}

function onWatchFailed<T extends KubeObject>(
  state: ListWatchState,
  error: unknown,
  livedMs: number,
): Transition<T> {
  if (isExpired(error)) {
    if (state.failures > 0) return retry(state, error, 'list', []);
    return { state: { ...state, failures: 1, phase: listPhase(state) }, effects: [{ kind: 'unstage' }] };
  }
  if (isRejection(error)) return retry(state, error, 'list', []);
  const badAnswer = error instanceof KubeError && error.reason === 'BadAnswer';
  if (badAnswer && state.failures + 1 >= BAD_ANSWERS_BEFORE_LIST) return retry(state, error, 'list', []);
  if (!badAnswer && (progressed(state) || livedMs >= SHORT_WATCH_MS)) {
    return {
      state: { ...state, failures: 0, phase: { name: 'watching', from: state.resourceVersion } },
      effects: [{ kind: 'report', error, then: 'watch' }],
    };
  }
  return retry(state, error, 'watch', []);
}

function onDoubted<T extends KubeObject>(state: ListWatchState): Transition<T> {
  if (state.phase.name !== 'watching') return { state, effects: [] };
  return { state: { ...state, phase: listPhase(state) }, effects: [{ kind: 'unstage' }] };
}

function onWaited<T extends KubeObject>(before: ListWatchState, isEarly: boolean): Transition<T> {
  if (before.phase.name !== 'waiting') return { state: before, effects: [] };
  // Who waits for a list must not wait half a minute for the second attempt. A kind that is absent was answered.
  const state = isEarly && before.resourceVersion !== '' ? { ...before, failures: 0 } : before;
  if (before.phase.then === 'watch') {
    return { state: { ...state, phase: { name: 'watching', from: state.resourceVersion } }, effects: [] };
  }
  return { state: { ...state, phase: listPhase(state) }, effects: [{ kind: 'unstage' }] };
}

function retry<T extends KubeObject>(
  state: ListWatchState,
  error: unknown,
  then: 'list' | 'watch',
  before: readonly Effect<T>[],
): Transition<T> {
  const failures = state.failures + 1;
  const retryAfterMs = (error instanceof KubeError ? (error.details.retryAfterSeconds ?? 0) : 0) * 1000;
  return {
    state: { ...state, failures, phase: { name: 'waiting', then } },
    effects: [
      ...before,
      { kind: 'report', error, then },
      { kind: 'wait', delayMs: Math.max(backoffMs(failures), retryAfterMs), orderedMs: retryAfterMs },
    ],
  };
}

/**
 * A 403 before the first list means that the kind is not readable. A right that is lost later is different: the cache is
 * kept, and the right may come back.
 */
function isAbsent(state: ListWatchState, error: unknown): boolean {
  if (!state.optional || !(error instanceof KubeError)) return false;
  return error.code === 404 || (error.code === 403 && state.resourceVersion === '');
}

function absent<T extends KubeObject>(state: ListWatchState, error: unknown): Transition<T> {
  const failures = state.failures + 1;
  return {
    state: { ...state, failures, resourceVersion: '', phase: { name: 'waiting', then: 'list' } },
    effects: [
      { kind: 'unstage' },
      { kind: 'swap' },
      { kind: 'absent', error },
      { kind: 'wait', delayMs: backoffMs(failures), orderedMs: 0 },
    ],
  };
}
