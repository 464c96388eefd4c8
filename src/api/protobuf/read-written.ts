// Reads uid, resourceVersion or metadata from a protobuf answer and skips every other field without decoding it.

import { WireError, WireReader } from '../../wire/protobuf/wire-reader.ts';
import { WireType } from '../../wire/protobuf/wire-type.ts';
import { decodeFields } from './decode-message.ts';
import { type Message, messageOf } from './message-table.ts';

export interface Written {
  uid: string;
  resourceVersion: string;
}

const MAGIC_LENGTH = 4;
/** All of them have a length. */
const tagOf = (field: number): number => field * 8 + WireType.LENGTH;
const RAW = tagOf(2);
const METADATA = tagOf(1);
const UID = tagOf(5);
const RESOURCE_VERSION = tagOf(6);

export function readWritten(body: Buffer): Written {
  const reader = metadataOf(body);
  let uid: string | undefined;
  let resourceVersion = '';
  while (!reader.isAtEnd && (uid === undefined || resourceVersion === '')) {
    const tag = reader.tag();
    if (tag === UID) uid = reader.string();
    else if (tag === RESOURCE_VERSION) resourceVersion = reader.string();
    else reader.skip(tag);
  }
  if (uid === undefined) throw new WireError('the object has no uid');
  if (resourceVersion === '') throw new WireError('the object has no resourceVersion');
  return { uid, resourceVersion };
}

/** The object's metadata without managedFields. */
export function readMetadata(body: Buffer): Record<string, unknown> {
  briefMetadata ??= withoutManagedFields(messageOf(OBJECT_META));
  return decodeFields(OBJECT_META, briefMetadata, metadataOf(body)) as Record<string, unknown>;
}

const OBJECT_META = 'meta/v1.ObjectMeta';
let briefMetadata: Message | undefined;

function withoutManagedFields({ fields, ...rest }: Message): Message {
  return { ...rest, fields: new Map([...fields].filter(([, { json }]) => json !== 'managedFields')) };
}

/** A reader that has entered the object's metadata. */
function metadataOf(body: Buffer): WireReader {
  const reader = new WireReader(body, MAGIC_LENGTH);
  enterField(reader, RAW);
  enterField(reader, METADATA);
  return reader;
}

function enterField(reader: WireReader, wanted: number): void {
  while (!reader.isAtEnd) {
    const tag = reader.tag();
    if (tag === wanted) {
      reader.enter();
      return;
    }
    reader.skip(tag);
  }
  throw new WireError(`field ${Math.floor(wanted / 8)} is missing`);
}
