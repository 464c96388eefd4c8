// Requests as data, so that a difference can be printed and sent again, and how one is sent to a server. What only that
// server knows (uids, resource versions, the object as it stands) is filled in from its last answer about the object.

import { Agent, request as send } from 'node:https';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** Sets the value at a path such as `spec/containers/0/name`; without a value, removes it. */
export interface Edit {
  readonly path: string;
  readonly value?: Json;
}

export type Body =
  | { readonly json: Json }
  | { readonly text: string }
  /** The object as this server returned it last, with these edits. */
  | { readonly current: readonly Edit[] };

export interface Step {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With the query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Body;
}

export interface Answer {
  readonly code: number;
  readonly type: string;
  readonly warnings: readonly string[];
  /** JSON where it can be parsed, a list of events for a watch, otherwise text. */
  readonly body: Json;
}

export interface Server {
  readonly url: string;
  readonly token: string;
  readonly agent: Agent;
}

export function serverAt(url: string, token: string): Server {
  return { url, token, agent: new Agent({ keepAlive: true, maxSockets: 16, rejectUnauthorized: false }) };
}

/** One server's side of a case. */
export class Side {
  readonly #server: Server;
  #last: JsonObject | undefined;

  constructor(server: Server) {
    this.#server = server;
  }

  async take(step: Step): Promise<Answer> {
    const body = step.body === undefined ? undefined : this.#bodyOf(step.body);
    const answer = await exchange(this.#server, { ...step, path: this.#filledIn(step.path) }, body).catch(
      noAnswer,
    );
    if (answer.code < 300 && isObject(answer.body) && isObject(answer.body.metadata)) {
      if (answer.body.metadata.uid !== undefined) this.#last = answer.body;
    }
    return answer;
  }

  #bodyOf(body: Body): string {
    if ('text' in body) return this.#filledIn(body.text);
    if ('json' in body) return this.#filledIn(JSON.stringify(body.json));
    return this.#filledIn(JSON.stringify(edited(this.#last ?? {}, body.current)));
  }

  #filledIn(text: string): string {
    if (!text.includes('$OWN_')) return text;
    const metadata = isObject(this.#last?.metadata) ? this.#last.metadata : {};
    return text
      .replaceAll('$OWN_UID', String(metadata.uid ?? 'none'))
      .replaceAll('$OWN_VERSION', String(metadata.resourceVersion ?? '1'));
  }
}

/** Watches that were asked for end after one second. */
const SILENCE_MS = 20_000;

/** Code 0: there was no answer. */
const noAnswer = ({ message }: Error): Answer => ({ code: 0, type: '', warnings: [], body: { message } });

function exchange(server: Server, step: Step, body: string | undefined): Promise<Answer> {
  const target = new URL(step.path, server.url);
  const headers = {
    authorization: `Bearer ${server.token}`,
    'user-agent': 'differ',
    ...(body === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
    ...step.headers,
  };
  return new Promise((resolve) => {
    const outgoing = send(target, { agent: server.agent, method: step.method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', (error) => resolve(noAnswer(error)));
      response.on('end', () => {
        const warnings = response.headersDistinct.warning ?? [];
        resolve({
          code: response.statusCode ?? 0,
          type: String(response.headers['content-type'] ?? '').split(';', 1)[0] as string,
          warnings,
          body: parsed(Buffer.concat(chunks).toString('utf8')),
        });
      });
    });
    outgoing.on('error', (error) => resolve(noAnswer(error)));
    outgoing.setTimeout(SILENCE_MS, () =>
      outgoing.destroy(new Error(`silent for ${SILENCE_MS / 1000} seconds`)),
    );
    outgoing.end(body);
  });
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    const lines = text.trim().split('\n');
    try {
      return lines.map((line) => JSON.parse(line) as Json);
    } catch {
      return text;
    }
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function edited(object: JsonObject, edits: readonly Edit[]): JsonObject {
  const copy = structuredClone(object);
  for (const edit of edits) applyEdit(copy, edit);
  return copy;
}

function applyEdit(object: JsonObject, { path, value }: Edit): void {
  const keys = keysOf(path);
  const last = keys.pop() as string;
  let holder: JsonObject | Json[] = object;
  for (const key of keys) {
    const below: Json | undefined = Array.isArray(holder) ? holder[Number(key)] : holder[key];
    if (typeof below === 'object' && below !== null) holder = below;
    else {
      const made: JsonObject = {};
      if (Array.isArray(holder)) holder[Number(key)] = made;
      else holder[key] = made;
      holder = made;
    }
  }
  if (Array.isArray(holder)) {
    if (value === undefined) holder.splice(Number(last), 1);
    else holder[Number(last)] = structuredClone(value);
  } else if (value === undefined) delete holder[last];
  else holder[last] = structuredClone(value);
}

export const keysOf = (path: string): string[] => path.split('/').map((key) => key.replaceAll('~1', '/'));
