// A DER encoder for the few forms that certificates need. Parsing is left to node:crypto.

export type Der = Uint8Array;

function tlv(tag: number, ...parts: readonly Uint8Array[]): Der {
  const content = Buffer.concat(parts);
  if (content.length < 0x80) return Buffer.concat([Uint8Array.of(tag, content.length), content]);
  const length: number[] = [];
  for (let rest = content.length; rest > 0; rest = Math.floor(rest / 256)) length.unshift(rest % 256);
  return Buffer.concat([Uint8Array.of(tag, 0x80 | length.length, ...length), content]);
}

export const sequence = (...parts: readonly Der[]): Der => tlv(0x30, ...parts);
export const set = (...parts: readonly Der[]): Der => tlv(0x31, ...parts);
export const octetString = (content: Uint8Array): Der => tlv(0x04, content);
export const utf8String = (text: string): Der => tlv(0x0c, Buffer.from(text, 'utf8'));
export const boolean = (value: boolean): Der => tlv(0x01, Uint8Array.of(value ? 0xff : 0));
/** `[number] EXPLICIT` around a value that is already encoded. */
export const explicit = (number: number, value: Der): Der => tlv(0xa0 | number, value);
/** `[number] IMPLICIT` of a primitive type: its content without its own tag. */
export const implicit = (number: number, content: Uint8Array): Der => tlv(0x80 | number, content);

/** A non-negative integer, big-endian: a leading zero keeps the sign bit clear. */
export function integer(bigEndian: Uint8Array): Der {
  let start = 0;
  while (start < bigEndian.length - 1 && bigEndian[start] === 0) start++;
  const bytes = bigEndian.subarray(start);
  return (bytes[0] ?? 0) & 0x80 ? tlv(0x02, Uint8Array.of(0), bytes) : tlv(0x02, bytes);
}

/** `unusedBits`: number of unused bits in the last byte. */
export const bitString = (content: Uint8Array, unusedBits = 0): Der =>
  tlv(0x03, Uint8Array.of(unusedBits), content);

export function objectIdentifier(dotted: string): Der {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes: number[] = [];
  for (const arc of [first * 40 + second, ...rest]) {
    const septets = [arc & 0x7f];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128)) {
      septets.unshift((left & 0x7f) | 0x80);
    }
    bytes.push(...septets);
  }
  return tlv(0x06, Uint8Array.from(bytes));
}

/** RFC 5280: two-digit years until 2049, four-digit ones from then on. */
export function time(epochMs: number): Der {
  const text = new Date(epochMs).toISOString().replace(/[-:T]|\.\d+/g, '');
  return text < '2050' ? tlv(0x17, Buffer.from(text.slice(2))) : tlv(0x18, Buffer.from(text));
}
