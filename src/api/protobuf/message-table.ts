// The table of messages, each parsed on first use.

import { WireError } from '../../wire/protobuf/wire-reader.ts';
import { messages } from './wire-numbers.ts';

export interface Field {
  number: number;
  json: string;
  type: string;
  shape: 'one' | 'list' | 'map';
  isInline: boolean;
  /** An empty value is meaningful and kept. Others are on the wire even when nobody set them. */
  keepsEmpty: boolean;
}

export interface Message {
  fields: ReadonlyMap<number, Field>;
  /** The message is a list in JSON. */
  isList: boolean;
  /** The message is one of several types in JSON, such as a schema or a boolean: its field of the highest number that is set. */
  isChoice: boolean;
}

const parsed = new Map<string, Message>();

export function messageOf(name: string): Message {
  const known = parsed.get(name);
  if (known) return known;
  const text = Object.hasOwn(messages, name) ? messages[name] : undefined;
  if (text === undefined) throw new WireError(`${name} is not in the table of messages`);
  const isList = text.startsWith('[]');
  const fields = new Map<number, Field>();
  const isChoice = text.startsWith('?');
  for (const each of text.replace(/^(\[\]|\?)/, '').split('|')) {
    const [number, json = '', written = ''] = each.split(' ');
    const [, shape, flag, type = ''] = /^([*%]?)([<!]?)(.*)$/.exec(written) ?? [];
    if (!number) continue;
    fields.set(Number(number), {
      number: Number(number),
      json,
      type,
      shape: shape === '*' ? 'list' : shape === '%' ? 'map' : 'one',
      isInline: flag === '<',
      keepsEmpty: flag === '!',
    });
  }
  const message = { fields, isList, isChoice };
  parsed.set(name, message);
  return message;
}

/** `storage.k8s.io/v1` and `StorageClass` are message `storage/v1.StorageClass`; undefined for what has no such form. */
export function messageNameFor(apiVersion: string, kind: string): string | undefined {
  // Clients give the first the version of whatever they delete; the second belongs to no group.
  if (kind === 'DeleteOptions' || kind === 'Status') return `meta/v1.${kind}`;
  const slash = apiVersion.indexOf('/');
  const [group, version] =
    slash < 0 ? ['core', apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)];
  const name = `${group.split('.', 1)[0]}/${version}.${kind}`;
  return Object.hasOwn(messages, name) ? name : undefined;
}
