// Decodes a request body: valid UTF-8, JSON, YAML or protobuf, bounded in depth. An invalid body is rejected before
// anything reads it.

import { isUtf8 } from 'node:buffer';
import { badRequest, tooLarge, unsupportedMediaType } from '../verbs/status.ts';
import { duplicateFields, type JsonShape, shapeOf } from './json-shape.ts';
import type { YamlConverter } from './yaml/yaml-converter.ts';
import { YamlError } from './yaml/yaml-error.ts';

/** kubectl and most Go clients send this for built-in kinds. */
export const PROTOBUF = 'application/vnd.kubernetes.protobuf';
/** Far beyond any real object; below the limit of recursive code. */
export const MAX_DEPTH = 200;

export interface ParsedBody {
  readonly value: unknown;
  /** One sentence per duplicate key. The last value counts. */
  readonly duplicates: readonly string[];
}

export interface ParseOptions {
  readonly contentType: string | undefined;
  readonly accepted: readonly string[];
  readonly yaml: YamlConverter;
  /** The client in whose turn YAML is converted. */
  readonly client: string;
  readonly maxBytes: number;
}

/** The asynchronous part; the returned function does the rest, in the client's turn. */
export async function bodyParser(bytes: Buffer, options: ParseOptions): Promise<() => ParsedBody> {
  const mediaType = mediaTypeOf(options.contentType);
  const { accepted } = options;
  if (!accepted.includes(mediaType)) {
    throw unsupportedMediaType(
      `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
    );
  }
  if (mediaType === PROTOBUF) return protobufParser(bytes);
  if (!isUtf8(bytes)) throw badRequest('the body of the request is not valid UTF-8');
  const text = bytes.toString('utf8');
  if (!mediaType.endsWith('yaml') || /^\s*[{[]/.test(text)) return () => parseJson(text);
  return yamlParser(text, options);
}

export function mediaTypeOf(contentType: string | undefined): string {
  return (contentType ?? 'application/json').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

function parseJson(text: string): ParsedBody {
  const shape = shapeOf(text);
  if (shape.depth > MAX_DEPTH) {
    throw badRequest(`the body of the request is nested deeper than ${MAX_DEPTH} levels`);
  }
  if (shape.hasProto) throw badRequest('unknown field "__proto__"');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw badRequest(`couldn't parse the body as JSON: ${(error as Error).message}`);
  }
  return { value, duplicates: shape.keys === keysIn(value) ? [] : duplicatesOf(text) };
}

function duplicatesOf(text: string): string[] {
  return duplicateFields(text).map((path) => `duplicate field "${path}"`);
}

/** Fewer keys than in the text: some are duplicates. */
function keysIn(value: unknown): JsonShape['keys'] {
  if (typeof value !== 'object' || value === null) return 0;
  let keys = 0;
  if (Array.isArray(value)) {
    for (const item of value) keys += keysIn(item);
    return keys;
  }
  for (const child of Object.values(value)) keys += 1 + keysIn(child);
  return keys;
}

async function protobufParser(bytes: Buffer): Promise<() => ParsedBody> {
  const { decodeObject, WireError } = await import('../../api/protobuf/decode-object.ts');
  return () => {
    try {
      return { value: decodeObject(bytes), duplicates: [] };
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      throw badRequest(`couldn't parse the body as protobuf: ${error.message}`);
    }
  };
}

async function yamlParser(text: string, { yaml, client, maxBytes }: ParseOptions): Promise<() => ParsedBody> {
  try {
    const { json, duplicates } = await yaml.toJson(text, client);
    // Aliases can expand a small text into a huge object.
    if (json.length > maxBytes) throw tooLarge(maxBytes);
    return () => ({ value: parseJson(json).value, duplicates });
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw badRequest(`couldn't parse the body as YAML: ${error.message}`);
  }
}
