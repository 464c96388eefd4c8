// Formats a trace: for each entry the time since the first, the author and what happened, in as many columns as there are. Pure.

import type { Piece, Tone } from '../runtime/log/styled-text.ts';
import type { ApiEntry, CsiEntry, EarlierObject, RetryEntry, TraceEntry, TraceLine } from './trace-entry.ts';

const BY_WIDTH = 14;
/** Before the text: the time, the author. */
const INDENT = 8 + 2 + BY_WIDTH + 1;
/** With less room for the text it is not wrapped. */
const LEAST_ROOM = 30;

export class Timeline {
  readonly #columns: number;
  #firstMs: number | undefined;

  /** `columns`: of the terminal; without it, a line for each entry. */
  constructor({ columns }: { columns?: number | undefined } = {}) {
    this.#columns = columns ?? Number.POSITIVE_INFINITY;
  }

  /** `nowMs`: for the duration of calls in progress, and for whether a retry is due. */
  lines(line: TraceLine, nowMs: number): Piece[][] {
    this.#firstMs ??= line.atMs;
    const seconds = this.#time(line.atMs).padStart(8);
    const head: Piece[] = [
      { text: `${seconds}  `, tone: 'faint' },
      { text: `${(line.kind === 'earlier' ? '' : line.by).padEnd(BY_WIDTH)} `, tone: 'plain' },
    ];
    const pieces =
      line.kind === 'earlier'
        ? earlierPieces(line)
        : line.kind === 'retry'
          ? this.#retryPieces(line, nowMs)
          : piecesOf(line, nowMs);
    const [first = [], ...rest] = wrapped(pieces, this.#columns - INDENT);
    const indent: Piece = { text: ' '.repeat(INDENT), tone: 'plain' };
    return [[...head, ...first], ...rest.map((each) => [indent, ...each])];
  }

  #time(atMs: number): string {
    return ((atMs - (this.#firstMs ?? atMs)) / 1000).toFixed(3);
  }

  #retryPieces(entry: RetryEntry, nowMs: number): Piece[] {
    const dueMs = entry.atMs + entry.retryInMs;
    const ahead = dueMs > nowMs ? `, in ${duration(dueMs - nowMs)}` : '';
    return retryPieces(entry, `next try at ${this.#time(dueMs)}${ahead}`);
  }
}

/** On one line, without the time and the author. */
export function textOf(entry: TraceEntry, nowMs: number): string {
  return piecesOf(entry, nowMs)
    .map(({ text }) => text)
    .join('');
}

function piecesOf(entry: TraceEntry, nowMs: number): Piece[] {
  switch (entry.kind) {
    case 'api':
      return apiPieces(entry);
    case 'csi':
      return csiPieces(entry, nowMs);
    case 'retry':
      return retryPieces(entry, `tries again in ${duration(entry.retryInMs)}`);
    default:
      return entry satisfies never;
  }
}

const plain = (text: string): Piece => ({ text, tone: 'plain' });

function apiPieces({ object, verb, changes }: ApiEntry): Piece[] {
  const told = changes.map((change) => short(folded(change))).join('; ');
  if (object.kind === 'Event') return [{ text: `event: ${told}`, tone: 'faint' }];
  return [
    { text: `${object.kind} ${short(nameOf(object))} `, tone: 'strong' },
    plain(`${verb}${told === '' ? '' : `: ${told}`}`),
  ];
}

const nameOf = ({ namespace, name }: ApiEntry['object']): string =>
  namespace === undefined ? name : `${namespace}/${name}`;

function csiPieces({ method, request, durationMs, code, error, atMs }: CsiEntry, nowMs: number): Piece[] {
  const about = Object.entries(request).map(([name, value]) => `${name}=${shortValue(value)} `);
  const call: Piece[] = [{ text: `${method} `, tone: 'strong' }, plain(`${about.join('')}→ `)];
  if (durationMs === undefined) {
    return [...call, { text: `no answer yet, for ${duration(nowMs - atMs)}`, tone: 'warn' }];
  }
  const tone: Tone = code === 'OK' ? 'good' : 'bad';
  return [
    ...call,
    { text: code ?? '', tone },
    plain(` in ${duration(durationMs)}`),
    ...(error === undefined ? [] : [{ text: `: ${short(folded(error))}`, tone }]),
  ];
}

function retryPieces({ loop, key, attempt, error }: RetryEntry, next: string): Piece[] {
  const nth = attempt > 1 ? ` (${attempt} in a row)` : '';
  return [
    { text: `${loop} ${short(key)} failed${nth}, ${next}`, tone: 'warn' },
    plain(`: ${short(folded(error))}`),
  ];
}

function earlierPieces({ object, entries }: EarlierObject): Piece[] {
  const left = entries === 0 ? '' : `; ${entries} entries about it are left out`;
  return [{ text: `an earlier ${object.kind} ${nameOf(object)} ended here${left}`, tone: 'warn' }];
}

export function duration(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** Drivers pass on what commands print: the first line, and how many more there are. */
function folded(text: string): string {
  const [first = '', ...more] = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  return more.length === 0 ? first : `${first} (and ${more.length} more lines)`;
}

/** The beginning of a UID or hash is enough to tell two apart. */
function short(text: string): string {
  return text
    .replaceAll(/\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '$1…')
    .replaceAll(/\b([0-9a-f]{8})[0-9a-f]{56}\b/g, '$1…');
}

/** Of a long path, its last two parts. */
function shortValue(value: string): string {
  const parts = value.split('/');
  return short(value.startsWith('/') && value.length > 40 ? `…/${parts.slice(-2).join('/')}` : value);
}

/** Broken between words into lines of at most `room` columns; a longer word has a line of its own. */
function wrapped(pieces: readonly Piece[], room: number): Piece[][] {
  if (room < LEAST_ROOM || room === Number.POSITIVE_INFINITY) return [[...pieces]];
  const lines: Piece[][] = [[]];
  let used = 0;
  for (const { text, tone } of pieces) {
    for (const word of text.match(/\S+\s*|\s+/g) ?? []) {
      if (used > 0 && used + word.trimEnd().length > room) {
        lines.push([]);
        used = 0;
      }
      lines.at(-1)?.push({ text: word, tone });
      used += word.length;
    }
  }
  return lines;
}
