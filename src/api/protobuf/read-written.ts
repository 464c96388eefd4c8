// What a writer wants to know of an answer in protobuf: which version of which object the server made of what it was sent.
// Reads past everything else without looking at it.

import { WireError, WireReader } from './wire-reader.ts';

export interface Written {
  uid: string;
  resourceVersion: string;
  creationTimestamp: string;
}

const MAGIC_LENGTH = 4;
const RAW = 2;
const METADATA = 1;
const UID = 5;
const RESOURCE_VERSION = 6;
const CREATION_TIMESTAMP = 8;
const SECONDS = 1;

export function readWritten(body: Uint8Array): Written {
  const metadata = new WireReader(fieldOf(fieldOf(body.subarray(MAGIC_LENGTH), RAW), METADATA));
  const written: Written = { uid: '', resourceVersion: '', creationTimestamp: '' };
  while (!metadata.isAtEnd) {
    const { field, wireType } = metadata.tag();
    if (field === UID && wireType === 2) written.uid = metadata.string();
    else if (field === RESOURCE_VERSION && wireType === 2) written.resourceVersion = metadata.string();
    else if (field === CREATION_TIMESTAMP && wireType === 2)
      written.creationTimestamp = timeOf(metadata.bytes());
    else metadata.skip(wireType);
  }
  if (written.resourceVersion === '') throw new WireError('the object has no resourceVersion');
  return written;
}

function fieldOf(bytes: Uint8Array, wanted: number): Uint8Array {
  const reader = new WireReader(bytes);
  while (!reader.isAtEnd) {
    const { field, wireType } = reader.tag();
    if (field === wanted && wireType === 2) return reader.bytes();
    reader.skip(wireType);
  }
  throw new WireError(`field ${wanted} is missing`);
}

function timeOf(bytes: Uint8Array): string {
  const reader = new WireReader(bytes);
  while (!reader.isAtEnd) {
    const { field, wireType } = reader.tag();
    if (field === SECONDS && wireType === 0) {
      return `${new Date(Number(reader.varint()) * 1000).toISOString().slice(0, 19)}Z`;
    }
    reader.skip(wireType);
  }
  return '';
}
