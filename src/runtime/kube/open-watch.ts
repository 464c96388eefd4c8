// One watch over HTTP as an async iteration. Ends when the server closes it properly; throws a KubeError when the
// connection breaks, falls silent, carries garbage or an ERROR event. Guarantee: leaving the iteration, or an abort,
// closes the connection.

import type { KubeObject } from '../../api/object.ts';
import type { Clock } from '../ports.ts';
import type { Attempt } from './answer-error.ts';
import type { WatchEvent } from './kube.ts';
import { KubeError } from './kube-error.ts';
import type { KubeRequest, Requester } from './requester.ts';
import { WatchInbox } from './watch-inbox.ts';
import { type LineOptions, LineSplitter, type ParsedLine, parseWatchLine } from './watch-stream.ts';

/** A server ends a watch at its time-out; one that is silent this much longer has lost the connection. */
const GRACE_MS = 30_000;

export interface OpenWatchOptions extends LineOptions {
  requester: Requester;
  clock: Clock;
  request: KubeRequest;
  timeoutSeconds: number;
}

/** The connection is opened when the iteration begins. */
export function openWatch<T extends KubeObject>(options: OpenWatchOptions): AsyncIterable<WatchEvent<T>> {
  return { [Symbol.asyncIterator]: () => new WatchIterator<T>(options) };
}

// By hand rather than as a generator: a generator that delegates costs several turns of the microtask queue an event,
// here an event of a chunk that has arrived costs one.
class WatchIterator<T extends KubeObject> implements AsyncIterator<WatchEvent<T>> {
  readonly #options: OpenWatchOptions;
  readonly #attempt: Attempt;
  readonly #lines = new LineSplitter();
  #events: WatchEvent<T>[] = [];
  #next = 0;
  #inbox: WatchInbox | undefined;
  #close: () => void = () => {};
  #end: { error?: unknown } | undefined;

  constructor(options: OpenWatchOptions) {
    this.#options = options;
    this.#attempt = options.requester.attempt(options.request);
  }

  next(): Promise<IteratorResult<WatchEvent<T>>> {
    const { signal } = this.#options.request;
    const event = this.#events[this.#next];
    if (event === undefined || signal?.aborted) return this.#fill();
    this.#next++;
    return Promise.resolve({ done: false, value: event });
  }

  async return(): Promise<IteratorResult<WatchEvent<T>>> {
    this.#end ??= {};
    this.#events = [];
    this.#close();
    return { done: true, value: undefined };
  }

  async #fill(): Promise<IteratorResult<WatchEvent<T>>> {
    const { request, requester } = this.#options;
    try {
      request.signal?.throwIfAborted();
      const inbox = this.#inbox ?? (await this.#open());
      this.#events = [];
      this.#next = 0;
      while (this.#events.length === 0 && this.#end === undefined) {
        const chunk = await inbox.next();
        if (chunk === undefined) this.#finish();
        else this.#lines.push(chunk, this.#takeLine);
      }
      const event = this.#events[this.#next++];
      if (event !== undefined) return { done: false, value: event };
      if (this.#end !== undefined && 'error' in this.#end) throw this.#end.error;
    } catch (error) {
      this.#end ??= {};
      this.#events = [];
      this.#close();
      if (error instanceof KubeError && error.code === 401) requester.credentialsRefused();
      throw error;
    }
    this.#close();
    return { done: true, value: undefined };
  }

  async #open(): Promise<WatchInbox> {
    const { clock, request, requester, timeoutSeconds } = this.#options;
    const { signal } = request;
    const inbox = new WatchInbox(this.#attempt, clock, timeoutSeconds * 1000 + GRACE_MS);
    this.#inbox = inbox;
    this.#close = () => inbox.close();
    const breakOff = await requester.open(request, inbox);
    const onAbort = (): void => inbox.abort(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) onAbort();
    this.#close = () => {
      signal?.removeEventListener('abort', onAbort);
      inbox.close();
      breakOff(new Error('the watch is no longer read'));
    };
    if (this.#end !== undefined) this.#close();
    return inbox;
  }

  readonly #takeLine = (line: Buffer): void => {
    // What follows a line that ends the watch is not looked at.
    if (this.#end === undefined) this.#take(parseWatchLine<T>(line, this.#options), line);
  };

  #take(parsed: ParsedLine<T>, line: Buffer): void {
    if (parsed.kind === 'event') this.#events.push(parsed.event);
    else if (parsed.kind === 'error') this.#end = { error: parsed.error };
    else this.#end = { error: garbage(this.#attempt, line.length) };
  }

  #finish(): void {
    const rest = this.#lines.remainder;
    if (rest.length > 0) {
      // A last line without its newline is whole when it parses; otherwise the connection broke within it.
      const last = parseWatchLine<T>(rest, this.#options);
      if (last.kind === 'garbage') this.#end = { error: cutOff(this.#attempt) };
      else this.#take(last, rest);
    }
    this.#end ??= {};
  }
}

function garbage(attempt: Attempt, bytes: number): KubeError {
  return new KubeError({
    reason: 'BadAnswer',
    code: 200,
    message: `${attempt.what}: ${attempt.host} sent a line of ${bytes} bytes that is not a watch event`,
  });
}

function cutOff(attempt: Attempt): KubeError {
  return new KubeError({
    reason: 'Unreachable',
    code: 0,
    message: `${attempt.what}: the connection to ${attempt.host} ended in the middle of a watch event`,
  });
}
