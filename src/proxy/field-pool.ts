// Header fields as one connection received them, for sending them on another. Those that most calls have are made once, so
// that the encoder knows them and sends an index.

import type { HeaderField } from '../wire/http2/header-table.ts';

/** Fields whose values repeat from call to call. */
const REPEATED: ReadonlySet<string> = new Set([
  ':method',
  ':scheme',
  ':path',
  ':authority',
  ':status',
  'content-type',
  'te',
  'user-agent',
  'grpc-accept-encoding',
  'grpc-encoding',
  'grpc-status',
]);
/** CSI has about fifty methods. A caller that invents paths does not get more room than this. */
const MAX_FIELDS = 256;

export class FieldPool {
  readonly #fields = new Map<string, HeaderField>();

  /** `fields` are name, value, name, value. */
  headers(fields: readonly string[]): { known: readonly HeaderField[]; once: readonly HeaderField[] } {
    const known: HeaderField[] = [];
    const once: HeaderField[] = [];
    for (let at = 0; at < fields.length; at += 2) {
      const name = fields[at] as string;
      const value = fields[at + 1] as string;
      const repeated = REPEATED.has(name) ? this.#pooled(name, value) : undefined;
      if (repeated) known.push(repeated);
      else once.push({ name, value });
    }
    // Pseudo-headers come before all others, also when there was no room for them.
    return once.some(({ name }) => name.startsWith(':'))
      ? { known: [], once: plain(fields) }
      : { known, once };
  }

  #pooled(name: string, value: string): HeaderField | undefined {
    const key = `${name}\0${value}`;
    const found = this.#fields.get(key);
    if (found || this.#fields.size >= MAX_FIELDS) return found;
    const made = { name, value };
    this.#fields.set(key, made);
    return made;
  }
}

function plain(fields: readonly string[]): HeaderField[] {
  const all: HeaderField[] = [];
  for (let at = 0; at < fields.length; at += 2) {
    all.push({ name: fields[at] as string, value: fields[at + 1] as string });
  }
  return all;
}
