// One watch over HTTP: JSON frames, one per line. Events that the client has not read wait in a bounded queue; a client
// that stays behind is disconnected. Ends at its time-out with a last bookmark.

import type { ServerResponse } from 'node:http';
import { apiVersionOf } from '../../api/object.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { Timer } from '../../runtime/ports.ts';
import type { Kind } from '../kind.ts';
import { toTable } from '../printing/table.ts';
import type { Version } from '../storage/version.ts';
import type { WatchStart } from '../verbs/read/watch.ts';
import { type QueuedEvent, WatchQueue } from '../verbs/read/watch-queue.ts';
import type { Machine } from '../verbs/request.ts';
import { internalError, statusOf } from '../verbs/status.ts';
import { partialMetadata } from './answer.ts';
import type { Steps } from './fair-queue.ts';
import type { MediaChoice } from './negotiation.ts';
import { writeNow } from './stream-body.ts';

/** As kube-apiserver: about once a minute. */
const BOOKMARK_PERIOD_MS = 60_000;
/** A client that reads nothing for this long while events wait is disconnected. */
const STALL_MS = 30_000;
/** The least time between two writes to one client: changes in between are sent together. */
const PACE_MS = 5;
/** Size of the batches. */
const CHUNK_LENGTH = 64 * 1024;

export interface WatchStreamOptions {
  machine: Machine;
  response: ServerResponse;
  kind: Kind;
  media: MediaChoice;
  includeObject: string;
  allowBookmarks: boolean;
  timeoutMs: number;
  /** A start, or an error: late errors are sent as an ERROR event. */
  start: () => WatchStart;
  /** Runs work in the client's turns. */
  takeTurns(work: () => Steps<void>): Promise<void>;
}

const DONE = Promise.resolve();

/** Resolves when the watch has ended, for whatever reason. */
export function streamWatch(options: WatchStreamOptions): Promise<void> {
  const { machine, response, kind } = options;
  // It left while it waited for its turn, and will not be heard to leave again.
  if (response.destroyed) return Promise.resolve();
  const { clock, store } = machine;
  let start: WatchStart;
  try {
    start = options.start();
  } catch (error) {
    if (!(error instanceof KubeError) || error.code !== 410) throw error;
    openStream(response);
    response.end(errorFrame(error));
    return Promise.resolve();
  }
  openStream(response);
  return new Promise((resolve) => {
    let blocked = false;
    let over = false;
    let firstTable = true;
    const timers: { bookmark?: Timer; stall?: Timer; end?: Timer; send?: Timer } = {};

    const finish = (how: () => void): void => {
      if (over) return;
      over = true;
      for (const timer of Object.values(timers)) timer.cancel();
      machine.stopping.removeEventListener('abort', stop);
      queue.close();
      how();
      resolve();
    };
    const stop = (): void => finish(() => response.end());
    let isWriting = false;
    let written = DONE;
    /** Writes the waiting events, in the client's turn. Resolves when none are left, or the client must read first. */
    const pump = (): Promise<void> => {
      if (over || blocked || isWriting) return written;
      isWriting = true;
      written = options.takeTurns(writeAll).catch((error: unknown) => {
        machine.log.error('a watch failed', error, { kind: kind.kind });
        finish(() => response.end(errorFrame(internalError('the watch failed'))));
      });
      return written;
    };
    const writeAll = function* (): Steps<void> {
      try {
        for (let chunk = yield* nextChunk(); chunk !== ''; chunk = yield* nextChunk()) {
          if (!writeNow(response, chunk)) {
            blocked = true;
            timers.stall = clock.setTimeout(() => finish(() => response.destroy()), STALL_MS);
            break;
          }
          yield;
        }
      } finally {
        isWriting = false;
      }
      // Closed without an event: the client resumes from the last version it has.
      if (queue.overflowed) finish(() => response.destroy());
    };
    const nextChunk = function* (): Steps<string> {
      let chunk = '';
      while (!over && chunk.length < CHUNK_LENGTH) {
        const event = queue.take();
        if (event === undefined) break;
        if (event === 'searching') yield;
        else chunk += encode(event);
      }
      return chunk;
    };
    const encode = (event: QueuedEvent): string => {
      if (options.media.as === 'Table') {
        const table = tableFrame(event, options, firstTable);
        firstTable = false;
        return table;
      }
      return frame(event, kind, options.media);
    };
    const armBookmark = (): void => {
      timers.bookmark = clock.setTimeout(() => {
        queue.bookmark(store.revision);
        void pump();
        armBookmark();
      }, BOOKMARK_PERIOD_MS);
    };

    let woken = false;
    let lastSentMs = Number.NEGATIVE_INFINITY;
    const send = (): void => {
      woken = false;
      lastSentMs = clock.monotonicMs();
      void pump();
    };
    // The changes of one commit arrive one by one at the same time and are written together. So are those of
    // consecutive commits, since the cost of a write hardly depends on its size.
    const wake = (): void => {
      if (woken || over) return;
      woken = true;
      const waitMs = lastSentMs + PACE_MS - clock.monotonicMs();
      if (waitMs > 0) timers.send = clock.setTimeout(send, waitMs);
      else queueMicrotask(send);
    };
    const queue = new WatchQueue(start, store.revision, wake);
    response.on('drain', () => {
      blocked = false;
      timers.stall?.cancel();
      void pump();
    });
    response.on('close', () => finish(() => {}));
    machine.stopping.addEventListener('abort', stop);
    timers.end = clock.setTimeout(() => {
      if (options.allowBookmarks) queue.bookmark(store.revision);
      void pump().then(stop);
    }, options.timeoutMs);
    if (options.allowBookmarks) armBookmark();
    void pump();
  });
}

function openStream(response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-cache, private' });
  response.flushHeaders();
}

function errorFrame(error: KubeError): string {
  return `${JSON.stringify({ type: 'ERROR', object: statusOf(error) })}\n`;
}

function frame(event: QueuedEvent, kind: Kind, media: MediaChoice): string {
  if (event.kind === 'bookmark') {
    return `${JSON.stringify({ type: 'BOOKMARK', object: bookmarkObject(event, kind, media) })}\n`;
  }
  const { type, version, change } = event;
  if (media.as !== undefined) {
    return `${JSON.stringify({ type, object: partialMetadata(version, media.asVersion ?? 'v1') })}\n`;
  }
  if (change === undefined || change.last.isSettled) return objectFrame(type, version);
  // Encoded once for all watchers of this API version.
  const cacheKey = `${type} ${apiVersionOf(kind)}`;
  change.encoded ??= new Map();
  let text = change.encoded.get(cacheKey);
  if (text === undefined) {
    text = objectFrame(type, version);
    change.encoded.set(cacheKey, text);
  }
  return text;
}

function objectFrame(type: string, version: Version): string {
  return `{"type":"${type}","object":${version.text}}\n`;
}

function bookmarkObject(event: QueuedEvent & { kind: 'bookmark' }, kind: Kind, media: MediaChoice): object {
  const type =
    media.as === undefined
      ? { kind: kind.kind, apiVersion: apiVersionOf(kind) }
      : { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${media.asVersion ?? 'v1'}` };
  const annotations = event.initialEventsEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {};
  return {
    ...type,
    metadata: { resourceVersion: String(event.revision), creationTimestamp: null, ...annotations },
  };
}

/** kubectl expects the column definitions once, with the first event. */
function tableFrame(event: QueuedEvent, options: WatchStreamOptions, first: boolean): string {
  const { kind, machine, includeObject, media } = options;
  const nowMs = machine.clock.now();
  const revision = event.kind === 'object' ? event.version.revision : event.revision;
  const table = toTable(kind, event.kind === 'object' ? [event.version.object] : [], {
    includeObject,
    nowMs,
    listMetadata: { resourceVersion: String(revision) },
  });
  const shown = {
    ...table,
    apiVersion: `meta.k8s.io/${media.asVersion ?? 'v1'}`,
    ...(first ? {} : { columnDefinitions: null }),
  };
  const type = event.kind === 'object' ? event.type : 'BOOKMARK';
  return `${JSON.stringify({ type, object: shown })}\n`;
}
