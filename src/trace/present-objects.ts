// Separates entries of the present objects from those of earlier ones of the same name, by UID. Retries carry only a name: they
// belong to the present object unless they are older than it. Pure.

import type { Token, TraceEntry } from './trace-entry.ts';

interface Present {
  readonly uid: string;
  readonly sinceMs: number;
}

export class PresentObjects {
  readonly #present = new Map<Token, Present>();

  /** Learns from the entry. */
  note(entry: TraceEntry): void {
    if (entry.kind !== 'api' || entry.object.kind === 'Event') return;
    const known = this.#present.get(entry.self);
    if (known?.uid === entry.uid) return;
    this.#present.set(entry.self, { uid: entry.uid, sinceMs: entry.atMs });
  }

  uidOf(token: Token): string | undefined {
    return this.#present.get(token)?.uid;
  }

  /** About an object that another one of its name has replaced. */
  isPast(entry: TraceEntry): boolean {
    switch (entry.kind) {
      case 'api':
        return (
          this.#isReplaced(entry.self, entry.uid) ||
          (entry.of && this.#isReplaced(entry.of.token, entry.of.uid)) === true
        );
      case 'retry': {
        const known = entry.links.flatMap((token) => this.#present.get(token) ?? []);
        return known.length > 0 && known.every(({ sinceMs }) => sinceMs > entry.atMs);
      }
      case 'csi':
        return false;
      default:
        return entry satisfies never;
    }
  }

  #isReplaced(token: Token, uid: string): boolean {
    const present = this.uidOf(token);
    return present !== undefined && present !== uid;
  }
}
