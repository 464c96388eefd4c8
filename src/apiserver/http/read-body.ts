// Takes a request's body in: bounded in size and depth, valid UTF-8, JSON, YAML or protobuf. Whatever is wrong with it becomes
// a clear refusal before any of it is looked at.

import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { badRequest, tooLarge, unsupportedMediaType } from '../verbs/status.ts';

/** What kubectl and most Go clients send for built-in kinds. */
export const PROTOBUF = 'application/vnd.kubernetes.protobuf';
/** As kube-apiserver. */
export const MAX_BODY_BYTES = 3 * 1024 * 1024;
/** Far beyond any real object; below what recursive code can walk. */
const MAX_DEPTH = 200;

/** Undefined when there is none. */
export async function readBody(message: IncomingMessage): Promise<Buffer | undefined> {
  const encoding = message.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw unsupportedMediaType(`request bodies encoded as ${encoding} are not supported`);
  }
  if (Number(message.headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw tooLarge(MAX_BODY_BYTES);
  const chunks: Buffer[] = [];
  let size = 0;
  return new Promise((resolve, reject) => {
    message.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_BODY_BYTES) {
        message.removeAllListeners('data');
        reject(tooLarge(MAX_BODY_BYTES));
        return;
      }
      chunks.push(chunk);
    });
    message.on('end', () => {
      resolve(chunks.length === 0 ? undefined : chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
    });
    message.on('error', reject);
    message.on('close', () => {
      if (!message.complete) reject(badRequest('the client went away before the body was complete'));
    });
  });
}

export async function parseBody(
  bytes: Buffer,
  contentType: string | undefined,
  accepted: readonly string[],
): Promise<unknown> {
  const mediaType = (contentType ?? 'application/json').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (!accepted.includes(mediaType)) {
    throw unsupportedMediaType(
      `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
    );
  }
  if (mediaType === PROTOBUF) return parseProtobuf(bytes);
  if (!isUtf8(bytes)) throw badRequest('the body of the request is not valid UTF-8');
  const text = bytes.toString('utf8');
  const isYaml = mediaType.endsWith('yaml') && !/^\s*[{[]/.test(text);
  const value = isYaml ? await parseYaml(text) : parseJson(text, bytes);
  return value;
}

function parseJson(text: string, bytes: Buffer): unknown {
  checkDepth(bytes);
  refuseProto(text);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badRequest(`couldn't parse the body as JSON: ${(error as Error).message}`);
  }
}

async function parseProtobuf(bytes: Buffer): Promise<unknown> {
  const { decodeObject, WireError } = await import('../../api/protobuf/decode-object.ts');
  try {
    return decodeObject(bytes);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw badRequest(`couldn't parse the body as protobuf: ${error.message}`);
  }
}

async function parseYaml(text: string): Promise<unknown> {
  const { parse } = await import('yaml');
  let json: string;
  try {
    // Aliases can unfold a small text into a huge object.
    json = JSON.stringify(parse(text, { maxAliasCount: 100, uniqueKeys: true }));
  } catch (error) {
    throw badRequest(`couldn't parse the body as YAML: ${(error as Error).message}`);
  }
  if (json === undefined || json.length > MAX_BODY_BYTES) throw tooLarge(MAX_BODY_BYTES);
  return parseJson(json, Buffer.from(json));
}

function checkDepth(bytes: Buffer): void {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (inString) {
      if (byte === 0x5c) at++;
      else if (byte === 0x22) inString = false;
    } else if (byte === 0x22) inString = true;
    else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > MAX_DEPTH)
        throw badRequest(`the body of the request is nested deeper than ${MAX_DEPTH} levels`);
    } else if (byte === 0x7d || byte === 0x5d) depth--;
  }
}

/** No Kubernetes field or legal key is called so, and code that copies properties must never meet it. */
function refuseProto(text: string): void {
  if (!text.includes('__proto__') && !/\\u005f/i.test(text)) return;
  let found = false;
  try {
    JSON.parse(text, (key, value) => {
      found ||= key === '__proto__';
      return value;
    });
  } catch {
    return;
  }
  if (found) throw badRequest('unknown field "__proto__"');
}
