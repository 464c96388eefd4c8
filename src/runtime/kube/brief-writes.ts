// Brief writes: the caller needs only the version, or only the metadata, of the answer. A server that answers them in protobuf
// is also sent whole objects in protobuf, which saves kube-apiserver a quarter of a write's cost. The first answer shows
// whether the server does; otherwise everything stays JSON.

import { type Attempt, badAnswer } from './answer-error.ts';
import type { HttpAnswer } from './http-transport.ts';

type Codec = typeof import('./brief-codec.ts');
type Json = Readonly<Record<string, unknown>>;

export interface ObjectType {
  readonly apiVersion: string;
  readonly kind: string;
}

export type Brief =
  /** The body is a whole object of this type: it may be sent in protobuf, and is what the server stores. */
  | { readonly sent: ObjectType }
  /** The body changes an object; this is what it is apart from its metadata, as far as the caller cares. */
  | { readonly known: object };

export const PROTOBUF = 'application/vnd.kubernetes.protobuf';

export class BriefWrites {
  /** Accepted media types: protobuf, then JSON. */
  static readonly accept = `${PROTOBUF},application/json`;
  /** Loaded with the first answer in protobuf: until then nobody needs it. */
  #codec: Codec | undefined;
  #refused = false;

  /** The object as a binary string; undefined when it is to be sent as JSON. */
  encode(brief: Brief, body: unknown): string | undefined {
    if (this.#refused || !('sent' in brief)) return undefined;
    return this.#codec?.encodeObject(brief.sent, body as Json);
  }

  /** The server rejected protobuf: never send it again. False when none was sent. */
  refused(): boolean {
    const was = this.#codec !== undefined && !this.#refused;
    this.#refused = true;
    return was;
  }

  /** The object as it is now, as far as it was to be known. */
  async written(
    { brief, body }: { brief?: Brief | undefined; body?: unknown },
    answer: HttpAnswer & { body: Buffer },
    attempt: Attempt,
  ): Promise<unknown> {
    const { readMetadata, readWritten } = await this.#load();
    try {
      if (brief !== undefined && 'known' in brief) {
        return { ...brief.known, metadata: readMetadata(answer.body) };
      }
      const object = body as Json & { metadata?: Json };
      return { ...object, metadata: { ...object.metadata, ...readWritten(answer.body) } };
    } catch {
      throw badAnswer(answer, attempt);
    }
  }

  /** A Status in protobuf as the one in JSON would be. */
  async asJson<A extends HttpAnswer & { body: Buffer }>(answer: A, attempt: Attempt): Promise<A> {
    const { decodeObject } = await this.#load();
    try {
      return { ...answer, body: Buffer.from(JSON.stringify(decodeObject(answer.body))) };
    } catch {
      throw badAnswer(answer, attempt);
    }
  }

  async #load(): Promise<Codec> {
    this.#codec ??= await import('./brief-codec.ts');
    return this.#codec;
  }
}

export function isProtobuf({ headers }: HttpAnswer): boolean {
  return String(headers['content-type'] ?? '').startsWith(PROTOBUF);
}
