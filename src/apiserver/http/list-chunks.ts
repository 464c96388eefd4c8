// A list as JSON, in chunks that are put together from the bytes of its items. A chunk is made when the client has read
// the one before it, so that a slow reader costs the memory of one chunk.

import { apiVersionOf } from '../../api/object.ts';
import type { Kind } from '../kind.ts';
import { toTable } from '../printing/table.ts';
import type { Version } from '../storage/version.ts';
import type { ListAnswer } from '../verbs/read/list.ts';
import { partialMetadata } from './answer.ts';
import type { MediaChoice } from './negotiation.ts';
import type { NextChunk } from './stream-body.ts';

export interface ListForm {
  readonly kind: Kind;
  readonly media: MediaChoice;
  readonly includeObject: string;
  readonly nowMs: number;
}

/** Items that are encoded in one step. */
const STEP = 16;
const COMMA = Buffer.from(',');
const END = Buffer.from(']}\n');

export function listChunks(list: ListAnswer, form: ListForm): NextChunk {
  const { head, encode } = encoding(list, form);
  let at = 0;
  return function* (length) {
    const parts: Buffer[] = at === 0 ? [Buffer.from(head)] : [];
    let size = 0;
    while (at < list.items.length && size < length) {
      const item = encode(list.items[at] as Version);
      if (at > 0) parts.push(COMMA);
      parts.push(item);
      size += item.length;
      if (++at % STEP === 0) yield;
    }
    const isLast = at === list.items.length;
    if (isLast) parts.push(END);
    return { bytes: Buffer.concat(parts), isLast };
  };
}

/** The text before the items, and the encoding of an item. */
function encoding(
  { metadata }: ListAnswer,
  { kind, media, includeObject, nowMs }: ListForm,
): { head: string; encode: (version: Version) => Buffer } {
  const { as, asVersion = 'v1' } = media;
  const apiVersion = `meta.k8s.io/${asVersion}`;
  if (as === 'Table') {
    const options = { includeObject, nowMs, listMetadata: metadata, version: asVersion };
    const { rows: _, ...table } = toTable(kind, [], options);
    return {
      head: openList(table, 'rows'),
      encode: ({ object }) => Buffer.from(JSON.stringify(toTable(kind, [object], options).rows[0])),
    };
  }
  if (as !== undefined) {
    return {
      head: openList({ kind: 'PartialObjectMetadataList', apiVersion, metadata }, 'items'),
      encode: (version) => Buffer.from(JSON.stringify(partialMetadata(version, asVersion))),
    };
  }
  const shown = kind.isCustom ? { continue: '', ...metadata } : metadata;
  return {
    head: openList({ kind: `${kind.kind}List`, apiVersion: apiVersionOf(kind), metadata: shown }, 'items'),
    encode: (version) => version.bytes,
  };
}

function openList(fields: object, items: string): string {
  return `${JSON.stringify(fields).slice(0, -1)},"${items}":[`;
}
