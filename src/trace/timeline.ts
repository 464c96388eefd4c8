// Formats a trace: one line per entry, with the time since the first, the author and what happened. Pure.

import type { ApiEntry, CsiEntry, RetryEntry, TraceEntry } from './trace-entry.ts';

const BY_WIDTH = 14;

export class Timeline {
  #firstMs: number | undefined;

  /** `nowMs`: of calls under way it is told how long they have been. */
  line(entry: TraceEntry, nowMs: number): string {
    this.#firstMs ??= entry.atMs;
    const seconds = ((entry.atMs - this.#firstMs) / 1000).toFixed(3).padStart(8);
    return `${seconds}  ${entry.by.padEnd(BY_WIDTH)} ${textOf(entry, nowMs)}`;
  }
}

export function textOf(entry: TraceEntry, nowMs: number): string {
  switch (entry.kind) {
    case 'api':
      return apiText(entry);
    case 'csi':
      return csiText(entry, nowMs);
    case 'retry':
      return retryText(entry);
    default:
      return entry satisfies never;
  }
}

function apiText({ object, verb, changes }: ApiEntry): string {
  if (object.kind === 'Event') return `event: ${changes.join('; ')}`;
  const name = object.namespace === undefined ? short(object.name) : `${object.namespace}/${object.name}`;
  const told = changes.length === 0 ? '' : `: ${changes.join('; ')}`;
  return `${object.kind} ${name} ${verb}${told}`;
}

function csiText({ method, request, durationMs, code, error, atMs }: CsiEntry, nowMs: number): string {
  const about = Object.entries(request).map(([name, value]) => `${name}=${value}`);
  const call = [method, ...about].join(' ');
  if (durationMs === undefined) return `${call} → no answer yet, for ${duration(nowMs - atMs)}`;
  return `${call} → ${code} in ${duration(durationMs)}${error === undefined ? '' : `: ${error}`}`;
}

function retryText({ loop, key, attempt, retryInMs, error }: RetryEntry): string {
  const nth = attempt > 1 ? ` (${attempt} in a row)` : '';
  return `${loop} ${short(key)} failed${nth}, tries again in ${duration(retryInMs)}: ${error}`;
}

export function duration(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** Shortens the hash in an attachment's name; its beginning is enough to tell two apart. */
function short(name: string): string {
  return name.replace(/^((?:pv|csi|inline)-[0-9a-f]{8})[0-9a-f]{56}$/, '$1…');
}
