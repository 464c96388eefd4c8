// What a writer wants to know of an answer in protobuf: which version of which object the server made of what it was sent.
// Reads past everything else without looking at it, and makes nothing on its way.

import { WireError } from '../../wire/protobuf/wire-reader.ts';
import { decodeFields } from './decode-message.ts';
import { type Message, messageOf } from './message-table.ts';

export interface Written {
  uid: string;
  resourceVersion: string;
}

const MAGIC_LENGTH = 4;
const RAW = 2;
const METADATA = 1;
const UID = 5;
const RESOURCE_VERSION = 6;

/** Of fields with a length, the only ones that are looked for. */
const withLength = (field: number): number => field * 8 + 2;

export function readWritten(body: Buffer): Written {
  const metadata = findMetadata(body);
  const uid = find(body, metadata.start, metadata.end, UID);
  const version = find(body, metadata.start, metadata.end, RESOURCE_VERSION);
  if (version.start === version.end) throw new WireError('the object has no resourceVersion');
  return {
    uid: body.toString('latin1', uid.start, uid.end),
    resourceVersion: body.toString('latin1', version.start, version.end),
  };
}

/** All of the object's metadata but for who owns which field. */
export function readMetadata(body: Buffer): Record<string, unknown> {
  const { start, end } = findMetadata(body);
  briefMetadata ??= withoutManagedFields(messageOf(OBJECT_META));
  return decodeFields(OBJECT_META, briefMetadata, body.subarray(start, end)) as Record<string, unknown>;
}

const OBJECT_META = 'meta/v1.ObjectMeta';
let briefMetadata: Message | undefined;

function withoutManagedFields({ fields, isList }: Message): Message {
  return { fields: new Map([...fields].filter(([, { json }]) => json !== 'managedFields')), isList };
}

function findMetadata(body: Buffer): { start: number; end: number } {
  const raw = find(body, MAGIC_LENGTH, body.length, RAW);
  return find(body, raw.start, raw.end, METADATA);
}

/** Where the value of a field is, among the fields between `start` and `end`. */
function find(body: Buffer, start: number, end: number, field: number): { start: number; end: number } {
  const wanted = withLength(field);
  let at = start;
  while (at < end) {
    const tag = count();
    const length = (tag & 7) === 2 ? count() : lengthOfPlain(tag & 7);
    if (at + length > end) throw new WireError('a field is cut short');
    if (tag === wanted) return { start: at, end: at + length };
    at += length;
  }
  throw new WireError(`field ${field} is missing`);

  function count(): number {
    let value = 0;
    for (let factor = 1; factor <= 2 ** 42; factor *= 128) {
      const byte = at < end ? (body[at++] as number) : undefined;
      if (byte === undefined) throw new WireError('a number is cut short');
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    throw new WireError('a number is too long');
  }

  function lengthOfPlain(wireType: number): number {
    if (wireType === 1) return 8;
    if (wireType === 5) return 4;
    if (wireType !== 0) throw new WireError(`wire type ${wireType} is not in use`);
    let length = 1;
    while (at + length <= end && (body[at + length - 1] as number) > 0x7f) length++;
    return length;
  }
}
