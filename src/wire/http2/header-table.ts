// The indexing tables of HPACK (RFC 7541): the static table of 61 fields, then the dynamic table of one direction of a
// connection, newest first, bounded in size.

/** A field that is sent often is made once: the encoder knows it by identity. */
export interface HeaderField {
  readonly name: string;
  readonly value: string;
}

/** Overhead of an entry, by the RFC's count. */
const ENTRY_BYTES = 32;

export const fieldBytes = (name: string, value: string): number => name.length + value.length + ENTRY_BYTES;

const statics: readonly HeaderField[] = [
  ':authority|:method=GET|:method=POST|:path=/|:path=/index.html|:scheme=http|:scheme=https|:status=200|:status=204',
  ':status=206|:status=304|:status=400|:status=404|:status=500|accept-charset|accept-encoding=gzip, deflate',
  'accept-language|accept-ranges|accept|access-control-allow-origin|age|allow|authorization|cache-control',
  'content-disposition|content-encoding|content-language|content-length|content-location|content-range|content-type',
  'cookie|date|etag|expect|expires|from|host|if-match|if-modified-since|if-none-match|if-range|if-unmodified-since',
  'last-modified|link|location|max-forwards|proxy-authenticate|proxy-authorization|range|referer|refresh|retry-after',
  'server|set-cookie|strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate',
]
  .flatMap((line) => line.split('|'))
  .map((entry) => {
    const [name = '', value = ''] = entry.split('=');
    return { name, value };
  });

/** The static index of a field, and of any field with its name; 0 if there is none. */
export function staticIndex({ name, value }: HeaderField): { whole: number; name: number } {
  return {
    whole: statics.findIndex((entry) => entry.name === name && entry.value === value) + 1,
    name: statics.findIndex((entry) => entry.name === name) + 1,
  };
}

export class HeaderTable {
  /** Oldest first. */
  readonly #entries: HeaderField[] = [];
  #bytes = 0;
  #maxBytes: number;
  #evicted = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  at(index: number): HeaderField | undefined {
    if (index <= statics.length) return statics[index - 1];
    return this.#entries[this.#entries.length - (index - statics.length)];
  }

  /** Its position, which does not change while it is in the table; -1 if it does not fit at all. */
  add(field: HeaderField): number {
    const bytes = fieldBytes(field.name, field.value);
    this.#shrinkTo(this.#maxBytes - bytes);
    if (bytes > this.#maxBytes) return -1;
    this.#bytes += bytes;
    return this.#evicted + this.#entries.push(field) - 1;
  }

  /** The index that a position has now; undefined once it was evicted. */
  indexOf(position: number): number | undefined {
    if (position < this.#evicted) return undefined;
    return statics.length + this.#entries.length - (position - this.#evicted);
  }

  resize(maxBytes: number): void {
    this.#maxBytes = maxBytes;
    this.#shrinkTo(maxBytes);
  }

  #shrinkTo(bytes: number): void {
    while (this.#bytes > bytes) {
      const oldest = this.#entries.shift();
      if (oldest === undefined) return;
      this.#bytes -= fieldBytes(oldest.name, oldest.value);
      this.#evicted++;
    }
  }
}
