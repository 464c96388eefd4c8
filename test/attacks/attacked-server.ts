// An API server with its HTTPS door open, and clients of every kind of trust, for tests that attack it. By Node's own
// HTTPS client and bare TLS sockets: attacks send what ours would not.
import { request } from 'node:https';
import type { TestContext } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import type { ApiServer, ApiServerOptions } from '../../src/apiserver/api-server.ts';
import type { User } from '../../src/apiserver/pipeline.ts';
import { testServer } from '../../src/apiserver/testing/test-server.ts';

export interface HttpAnswer {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export interface CallOptions {
  /** Bearer token; anonymous without one. */
  readonly token?: string;
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ParsedAnswer {
  readonly code: number;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server answers, a test looks into it.
  readonly body: any;
  /** The message of a Status. */
  readonly message: string;
}

export interface AttackedServer {
  readonly server: ApiServer;
  call(method: string, path: string, options?: CallOptions): Promise<HttpAnswer>;
  /** With all rights. A body that is text is sent as it is. */
  asAdmin(
    method: string,
    path: string,
    body?: unknown,
    mediaType?: string,
    headers?: Readonly<Record<string, string>>,
  ): Promise<ParsedAnswer>;
  /** A TLS connection on which nothing has been sent. */
  connect(): Promise<TLSSocket>;
}

export const JSON_PATCH = 'application/json-patch+json';
export const MERGE_PATCH = 'application/merge-patch+json';
export const STRATEGIC_PATCH = 'application/strategic-merge-patch+json';
export const APPLY_PATCH = 'application/apply-patch+yaml';
export const MAPS = '/api/v1/namespaces/default/configmaps';
/** May do everything. */
export const ADMIN_TOKEN = 'admin-token';

export async function attackedServer(
  t: Pick<TestContext, 'after'>,
  options: Partial<ApiServerOptions> & { users?: Readonly<Record<string, User>> } = {},
): Promise<AttackedServer> {
  const { users = {}, ...rest } = options;
  const server = await testServer(t, {
    listen: true,
    staticTokens: new Map<string, User>([
      [ADMIN_TOKEN, { name: 'admin', groups: ['system:masters'] }],
      ...Object.entries(users),
    ]),
    ...rest,
  });
  const url = new URL(server.url as string);
  const ca = server.pki.caPem;
  const call: AttackedServer['call'] = (method, path, { token, body, headers = {} } = {}) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const credentials = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return new Promise((resolve, reject) => {
      const sent = request(
        new URL(path, url),
        { method, ca, agent: false, headers: { ...length, ...credentials, ...headers } },
        async (answer) => {
          try {
            const text = Buffer.concat(await answer.toArray()).toString();
            resolve({ code: answer.statusCode ?? 0, headers: answer.headers, text });
          } catch (error) {
            reject(error);
          }
        },
      );
      sent.on('error', reject).end(body);
    });
  };
  return {
    server,
    call,
    async asAdmin(method, path, body, mediaType = 'application/json', headers = {}) {
      const { code, text } = await call(method, path, {
        token: ADMIN_TOKEN,
        headers: { ...headers, ...(body !== undefined && { 'content-type': mediaType }) },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const parsed = text.startsWith('{') ? JSON.parse(text) : text;
      return { code, body: parsed, message: parsed.message ?? '' };
    },
    connect() {
      return new Promise((resolve, reject) => {
        const socket = connect({ host: url.hostname, port: Number(url.port), ca, servername: 'localhost' });
        t.after(() => socket.destroy());
        socket.once('error', reject).once('secureConnect', () => {
          socket.off('error', reject).on('error', () => {});
          resolve(socket);
        });
      });
    },
  };
}

/** Sends the head of a request and as much of its body as is given; resolves to the status code of the answer. */
export function sendPart(
  socket: TLSSocket,
  { method, path, headers, part }: { method: string; path: string; headers: readonly string[]; part: Buffer },
): Promise<number> {
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: localhost', ...headers];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  if (part.length > 0) socket.write(part);
  return new Promise((resolve, reject) => {
    let head = '';
    socket.on('data', (chunk: Buffer) => {
      head += chunk.toString('latin1');
      const code = /^HTTP\/1\.1 (\d+)/.exec(head)?.[1];
      if (code !== undefined) resolve(Number(code));
    });
    socket.on('close', () => reject(new Error('closed without an answer')));
  });
}

export function configMap(name: string, data: Record<string, string> = {}): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data };
}
