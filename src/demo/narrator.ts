// Prints the demo step by step: what was done, its effects (objects and CSI calls, from the trace), and how long it
// took. The demo ends at the first step that fails.

import type { Clock } from '../runtime/ports.ts';
import { duration, textOf } from '../trace/timeline.ts';
import type { TraceBook } from '../trace/trace-book.ts';
import type { TraceEntry } from '../trace/trace-entry.ts';

export interface Narrator {
  /** `act` throws when the step fails; its result is printed at the end of the step. */
  step(title: string, act: () => Promise<string | string[] | undefined>): Promise<void>;
}

const WIDTH = 84;

export function createNarrator(options: {
  book: TraceBook;
  clock: Clock;
  write(text: string): void;
}): Narrator {
  const { book, clock, write } = options;
  let number = 0;
  return {
    async step(title, act) {
      number += 1;
      const heading = `${String(number).padStart(2)}  ${title}`;
      const entries: TraceEntry[] = [];
      const unfollow = book.follow((entry) => entries.push(entry));
      const startedMs = clock.monotonicMs();
      try {
        const told = await act();
        const took = duration(clock.monotonicMs() - startedMs);
        write(`${heading.padEnd(WIDTH)}${took.padStart(8)}\n`);
        for (const line of causes(entries)) write(`      ${line}\n`);
        for (const line of [told ?? []].flat()) write(`    ✓ ${line}\n`);
      } catch (error) {
        write(`${heading}\n`);
        for (const line of causes(entries)) write(`      ${line}\n`);
        write(`    ✗ ${(error as Error).message}\n`);
        throw error;
      } finally {
        unfollow();
      }
    },
  };
}

/** The effects to print: calls, and objects that were created, deleted or changed their phase. */
function causes(entries: readonly TraceEntry[]): string[] {
  return entries
    .toSorted((a, b) => a.atMs - b.atMs)
    .flatMap((entry) => {
      if (entry.kind === 'retry') return [told(entry, textOf(entry, 0))];
      if (entry.kind === 'csi') {
        const { name, volumeId, nodeId, targetPath } = entry.request;
        const request = { ...(name && { name }), ...(volumeId && { volumeId }), ...(nodeId && { nodeId }) };
        return [
          told(entry, textOf({ ...entry, request: targetPath ? { volumeId: volumeId ?? '' } : request }, 0)),
        ];
      }
      if (entry.object.kind === 'Event') return [];
      const { verb, changes } = entry;
      const shown = changes.filter((change) => /^(phase|node|selected node|attached|volume): /.test(change));
      if (verb === 'changed' && shown.length === 0) return [];
      return [told(entry, textOf({ ...entry, changes: shown }, 0))];
    });
}

const told = ({ by }: TraceEntry, text: string): string => `${by.padEnd(14)} ${text}`;
