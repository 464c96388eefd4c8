// Reads `application/vnd.kubernetes.protobuf`: a magic number, an envelope that names the kind, and the object. kubectl and
// most Go clients send the built-in kinds so, and kube-apiserver answers so whom it suits.

import { WireError, WireReader } from '../../wire/protobuf/wire-reader.ts';
import { decodeMessage } from './decode-message.ts';
import { messageNameFor } from './message-table.ts';

export { WireError };

const MAGIC = Buffer.from('k8s\0', 'latin1');

/** The object as its JSON would have been. Throws a WireError. */
export function decodeObject(body: Uint8Array): Record<string, unknown> {
  if (!MAGIC.equals(body.subarray(0, MAGIC.length)))
    throw new WireError('the body does not start with "k8s\\0"');
  const envelope = new WireReader(body.subarray(MAGIC.length));
  let type = { apiVersion: '', kind: '' };
  let raw: Uint8Array = new Uint8Array();
  while (!envelope.isAtEnd) {
    const { field, wireType } = envelope.tag();
    if (field === 1 && wireType === 2) type = readType(envelope.bytes());
    else if (field === 2 && wireType === 2) raw = envelope.bytes();
    else envelope.skip(wireType);
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
    const { field, wireType } = reader.tag();
    if (field === 1 && wireType === 2) type.apiVersion = reader.string();
    else if (field === 2 && wireType === 2) type.kind = reader.string();
    else reader.skip(wireType);
  }
  return type;
}
