// Turns the bytes of a watch into events: JSON objects, one a line, cut anywhere by the network. Owns the buffer of
// one stream. Bytes are split at newlines before they are decoded, so that a character may be cut too.

import type { KubeObject } from '../../api/object.ts';
import { GrowingBuffer } from '../../wire/growing-buffer.ts';
import type { SimilarDocuments } from '../../wire/json/similar-documents.ts';
import { errorFromStatus, isStatus } from './answer-error.ts';
import type { WatchEvent } from './kube.ts';

const NEWLINE = 0x0a;
const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

/** Ten times the largest object that etcd takes. */
const MAX_LINE_BYTES = 32 << 20;

/** Splits chunks into lines. A line that is too long is handed on unfinished: it is no event. */
export class LineSplitter {
  readonly #partial = new GrowingBuffer();

  /** `take` gets each line that this chunk completes. */
  push(chunk: Buffer, take: (line: Buffer) => void): void {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end < 0) break;
      const rest = chunk.subarray(start, end);
      start = end + 1;
      if (this.#partial.length === 0) {
        if (rest.length > 0) take(rest);
        continue;
      }
      this.#partial.append(rest, 0, rest.length);
      take(this.#partial.take());
    }
    if (start === chunk.length) return;
    this.#partial.append(chunk, start, chunk.length);
    if (this.#partial.length > MAX_LINE_BYTES) take(this.#partial.take());
  }

  /** Bytes after the last newline. */
  get remainder(): Buffer {
    return this.#partial.view();
  }
}

export type ParsedLine<T extends KubeObject> =
  | { kind: 'event'; event: WatchEvent<T> }
  | { kind: 'error'; error: Error }
  | { kind: 'garbage' };

export interface LineOptions {
  /** Filled in where a server leaves them out. */
  type: { apiVersion: string; kind: string };
  /** Reads the lines, for a reader that needs no `managedFields` and changes nothing. */
  similar?: SimilarDocuments | undefined;
}

export function parseWatchLine<T extends KubeObject>(
  line: Buffer,
  { type, similar }: LineOptions,
): ParsedLine<T> {
  let raw: { type?: unknown; object?: unknown };
  try {
    raw = (similar === undefined ? JSON.parse(line.toString('utf8')) : similar.read(line)) as typeof raw;
  } catch {
    return { kind: 'garbage' };
  }
  if (typeof raw !== 'object' || raw === null) return { kind: 'garbage' };
  const { object } = raw;
  if (raw.type === 'ERROR') {
    return { kind: 'error', error: errorFromStatus(isStatus(object) ? object : {}) };
  }
  if (!isObject(object)) return { kind: 'garbage' };
  if (raw.type === 'BOOKMARK') {
    const { resourceVersion, annotations } = object.metadata;
    return {
      kind: 'event',
      event: {
        type: 'BOOKMARK',
        resourceVersion,
        initialEventsEnd: annotations?.[INITIAL_EVENTS_END] === 'true',
      },
    };
  }
  if (raw.type !== 'ADDED' && raw.type !== 'MODIFIED' && raw.type !== 'DELETED') return { kind: 'garbage' };
  object.apiVersion ??= type.apiVersion;
  object.kind ??= type.kind;
  return { kind: 'event', event: { type: raw.type, object: object as T } };
}

function isObject(value: unknown): value is KubeObject {
  if (typeof value !== 'object' || value === null) return false;
  const { metadata } = value as Partial<KubeObject>;
  return typeof metadata === 'object' && metadata !== null && typeof metadata.resourceVersion === 'string';
}
