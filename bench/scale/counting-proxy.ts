// Counts what one client asks of an API server and what it gets: plain HTTP for the client, HTTPS with the admin's credentials behind. A
// client has a proxy of its own, so nothing has to be attributed.

import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { Agent, type AgentOptions, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { parse } from 'yaml';

/** Requests by verb and kind (`create pods`, `watch nodes`), and what watches and other answers brought. */
export interface Counts {
  requests: Map<string, number>;
  /** Lines of watches, bookmarks included, by kind. */
  watchEvents: Map<string, number>;
  watchBytes: Map<string, number>;
  /** Of all other answers. */
  answerBytes: number;
}

export interface CountingProxy {
  readonly url: string;
  /** Requests without their answer, watches aside. */
  readonly inFlight: number;
  /** Since the last call of `take`. */
  readonly watchBytes: number;
  /** What was counted since the last call. */
  take(): Counts;
  stop(): Promise<void>;
}

export interface Upstream {
  readonly url: string;
  readonly tls: AgentOptions;
  readonly headers: Readonly<Record<string, string>>;
}

/** The server and the credentials of a kubeconfig with everything inline. */
export async function upstreamOf(kubeconfig: string): Promise<Upstream> {
  const { clusters, users } = parse(await readFile(kubeconfig, 'utf8'));
  const { cluster } = clusters[0];
  const { user } = users[0];
  const bytes = (text: string | undefined) => (text === undefined ? undefined : Buffer.from(text, 'base64'));
  return {
    url: cluster.server,
    tls: {
      ca: bytes(cluster['certificate-authority-data']),
      cert: bytes(user['client-certificate-data']),
      key: bytes(user['client-key-data']),
      ...(cluster['insecure-skip-tls-verify'] && { rejectUnauthorized: false }),
    },
    headers: user.token === undefined ? {} : { authorization: `Bearer ${user.token}` },
  };
}

const VERBS: Readonly<Record<string, string>> = {
  GET: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** Discovery and reviews of access are `other`: they happen at a start, or seldom. */
export function operationOf(method: string, url: string): { verb: string; kind: string } {
  const { pathname, searchParams } = new URL(url, 'http://any');
  const path = /^\/(?:api\/v1|apis\/[^/]+\/[^/]+)\/(?:namespaces\/[^/]+\/)?([a-z]+)(\/[^/]+)?/.exec(pathname);
  const kind = path?.[1];
  if (kind === undefined || /reviews$/.test(kind)) return { verb: 'other', kind: 'other' };
  if (method === 'GET' && path?.[2] === undefined) {
    return { verb: searchParams.has('watch') ? 'watch' : 'list', kind };
  }
  return { verb: VERBS[method] ?? method, kind };
}

const noCounts = (): Counts => ({
  requests: new Map(),
  watchEvents: new Map(),
  watchBytes: new Map(),
  answerBytes: 0,
});
const add = (to: Map<string, number>, key: string, count = 1): void => {
  to.set(key, (to.get(key) ?? 0) + count);
};

export async function countingProxy(upstream: Upstream): Promise<CountingProxy> {
  const agent = new Agent({ keepAlive: true, ...upstream.tls });
  const { hostname, port } = new URL(upstream.url);
  let counts = noCounts();
  let inFlight = 0;
  const server = createServer((from, to) => {
    const { verb, kind } = operationOf(from.method ?? '', from.url ?? '');
    const isWatch = verb === 'watch';
    add(counts.requests, `${verb} ${kind}`);
    if (!isWatch) inFlight++;
    to.once('close', () => {
      if (!isWatch) inFlight--;
      onward.destroy();
    });
    const onward = request(
      {
        ...{ hostname, port, agent, method: from.method, path: from.url },
        headers: { ...from.headers, ...upstream.headers },
      },
      (answer: IncomingMessage) => {
        to.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.on('data', (piece: Buffer) => {
          if (isWatch) {
            add(counts.watchBytes, kind, piece.length);
            add(counts.watchEvents, kind, linesIn(piece));
          } else counts.answerBytes += piece.length;
          if (!to.write(piece)) {
            answer.pause();
            to.once('drain', () => answer.resume());
          }
        });
        answer.once('end', () => to.end());
        answer.once('error', () => to.destroy());
      },
    );
    onward.once('error', () => to.destroy());
    from.pipe(onward);
  });
  server.requestTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get inFlight() {
      return inFlight;
    },
    get watchBytes() {
      return sum(counts.watchBytes);
    },
    take() {
      const taken = counts;
      counts = noCounts();
      return taken;
    },
    async stop() {
      server.closeAllConnections();
      agent.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function linesIn(piece: Buffer): number {
  let count = 0;
  for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) count++;
  return count;
}

/** A kubeconfig for the proxy. */
export const kubeconfigText = (server: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'bench', cluster: { server } }],
    users: [{ name: 'bench', user: {} }],
    contexts: [{ name: 'bench', context: { cluster: 'bench', user: 'bench', namespace: 'default' } }],
    'current-context': 'bench',
  });

export const sum = (
  counts: ReadonlyMap<string, number>,
  only: (key: string) => boolean = () => true,
): number => [...counts].reduce((total, [key, count]) => total + (only(key) ? count : 0), 0);
