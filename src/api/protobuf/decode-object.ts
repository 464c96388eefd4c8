// Reads `application/vnd.kubernetes.protobuf`: a magic number, an envelope that names the kind, and the object. kubectl and
// most Go clients send the built-in kinds that way, and kube-apiserver answers that way when asked.

import { WireError, WireReader } from '../../wire/protobuf/wire-reader.ts';
import { WireType } from '../../wire/protobuf/wire-type.ts';
import { decodeMessage } from './decode-message.ts';
import { messageNameFor } from './message-table.ts';

export { WireError };

const MAGIC = Buffer.from('k8s\0', 'latin1');
/** The first two fields of the envelope and of its type, both with a length. */
const FIRST = 1 * 8 + WireType.LENGTH;
const SECOND = 2 * 8 + WireType.LENGTH;

/** The object as its JSON would have been. Throws a WireError. */
export function decodeObject(body: Uint8Array): Record<string, unknown> {
  if (!MAGIC.equals(body.subarray(0, MAGIC.length)))
    throw new WireError('the body does not start with "k8s\\0"');
  const envelope = new WireReader(body, MAGIC.length);
  let type = { apiVersion: '', kind: '' };
  let raw: Uint8Array = new Uint8Array();
  while (!envelope.isAtEnd) {
    const tag = envelope.tag();
    if (tag === FIRST) type = readType(envelope.bytes());
    else if (tag === SECOND) raw = envelope.bytes();
    else envelope.skip(tag);
  }
  const { apiVersion, kind } = type;
  const name = messageNameFor(apiVersion, kind);
  if (name === undefined) {
    throw new WireError(`${apiVersion} ${kind} is not read from protobuf; send it as JSON`);
  }
  const object = decodeMessage(name, raw) as Record<string, unknown>;
  return { apiVersion, kind, ...object };
}

function readType(bytes: Uint8Array): { apiVersion: string; kind: string } {
  const reader = new WireReader(bytes);
  const type = { apiVersion: '', kind: '' };
  while (!reader.isAtEnd) {
    const tag = reader.tag();
    if (tag === FIRST) type.apiVersion = reader.string();
    else if (tag === SECOND) type.kind = reader.string();
    else reader.skip(tag);
  }
  return type;
}
