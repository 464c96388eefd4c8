// HTTPS requests with given certificates, for tests and benchmarks that examine raw responses.
import { constants } from 'node:buffer';
import type { TlsMaterial } from '../src/runtime/kube/credentials.ts';
import {
  createHttpTransport,
  type HttpRequest,
  type HttpTransport,
} from '../src/runtime/kube/http-transport.ts';

export interface Access {
  readonly url: string;
  readonly tls: TlsMaterial & { readonly insecureSkipVerify?: boolean };
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>>;
}

export class HttpsCaller {
  readonly #access: Access;
  readonly #transport: HttpTransport;

  constructor(access: Access) {
    this.#access = access;
    const { insecureSkipVerify = false } = access.tls;
    this.#transport = createHttpTransport({
      origin: new URL(access.url).origin,
      tls: { insecureSkipVerify },
    });
  }

  async call(
    method: HttpRequest['method'],
    path: string,
    body?: object,
  ): Promise<{ code: number; body: string }> {
    const { tls, headers } = this.#access;
    const answer = await this.#transport.request({
      method,
      path,
      tls,
      headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
      // Benchmarks list whole clusters.
      maxBodyBytes: constants.MAX_STRING_LENGTH,
      ...(body && { body: JSON.stringify(body) }),
    });
    return { code: answer.status, body: answer.body.toString() };
  }

  /** Opens a stream; its data is appended to `heard`. */
  async follow(
    path: string,
    heard: { text(more: string): void; ended(error?: Error): void },
  ): Promise<{ code: number; close: () => void }> {
    const { tls, headers = {} } = this.#access;
    return new Promise((resolve, reject) => {
      const failed = (error: Error): void => {
        reject(error);
        heard.ended(error);
      };
      const breakOff = this.#transport.stream(
        { method: 'GET', path, tls, headers },
        {
          started: ({ status }) => resolve({ code: status, close: () => breakOff(new Error('closed')) }),
          chunk: (bytes) => heard.text(bytes.toString()),
          ended: () => heard.ended(),
          failed,
        },
      );
    });
  }

  close(): Promise<void> {
    return this.#transport.close();
  }
}
