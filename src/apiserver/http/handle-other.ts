// Requests for non-resource paths: health, version, metrics, discovery, OpenAPI. Each is authorized by its path.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { PathHandler } from '../../runtime/process/path-handler.ts';
import { forbidden } from '../authorization/forbidden.ts';
import type { User } from '../pipeline.ts';
import type { Machine } from '../verbs/request.ts';
import { methodNotAllowed, noSuchPath } from '../verbs/status.ts';
import { answerJson } from './answer.ts';
import { findDocument } from './api-documents.ts';
import type { BodyReader } from './body-reader.ts';
import type { OpenDocuments } from './documents.ts';
import type { FairQueue } from './fair-queue.ts';
import type { RequestMetrics } from './metrics.ts';
import type { RequestInfo } from './request-info.ts';
import { answerBody } from './stream-body.ts';
import { versionInfo } from './version-info.ts';

export interface OtherExchange {
  machine: Machine;
  metrics: RequestMetrics;
  documents: OpenDocuments;
  message: IncomingMessage;
  response: ServerResponse;
  info: RequestInfo;
  user: User;
  client: string;
  fair: FairQueue;
  bodies: BodyReader;
  pretty: boolean;
  unready(): string | undefined;
  /** Paths beyond Kubernetes' own. */
  paths?: Readonly<Record<string, PathHandler>>;
}

export async function handleOther(exchange: OtherExchange): Promise<void> {
  const { machine, message, response, info, user, pretty, fair, client } = exchange;
  const { path } = info;
  const verb = (message.method ?? '').toLowerCase();
  const attributes = { user, verb, path };
  const { decision, reason } = machine.authorizer.authorize(attributes);
  if (decision !== 'allow') throw forbidden(attributes, reason);
  const { paths = {} } = exchange;
  const own = Object.hasOwn(paths, path) ? paths[path] : undefined;
  if (verb !== 'get' && verb !== 'head' && !own?.writes)
    throw methodNotAllowed(verb, { group: '', plural: path });

  const health = /^\/(healthz|livez|readyz)(?:\/([a-z-]+))?$/.exec(path);
  if (health) return answerHealth(exchange, health[1] as string, health[2]);
  if (path === '/metrics') return fair.once(client, () => answerMetrics(exchange));
  const json = { code: 200, pretty, warnings: [] };
  if (path === '/version' || path === '/version/') {
    return answerJson(response, JSON.stringify(versionInfo()), json);
  }
  if (path === '/') return answerJson(response, JSON.stringify({ paths: ROOT_PATHS }), json);
  if (own !== undefined) {
    const { method = '' } = message;
    return own({ method, query: info.query, response, gone: goneSignal(exchange) });
  }
  const document = await findDocument(exchange);
  if (document === undefined) throw noSuchPath();
  response.setHeader('Vary', 'Accept');
  response.setHeader('ETag', document.etag);
  if (message.headers['if-none-match'] === document.etag) {
    response.writeHead(304);
    response.end();
    return;
  }
  return answerBody(exchange, document.bytes, { ...json, contentType: document.contentType });
}

const ROOT_PATHS = [
  '/.well-known/openid-configuration',
  '/api',
  '/api/v1',
  '/apis',
  '/healthz',
  '/livez',
  '/metrics',
  '/openapi/v2',
  '/openapi/v3',
  '/openid/v1/jwks',
  '/readyz',
  '/version',
];

function goneSignal({ response, machine }: OtherExchange): AbortSignal {
  const left = new AbortController();
  response.once('close', () => left.abort(new Error('the client has left')));
  return AbortSignal.any([left.signal, machine.stopping]);
}

/** `only`: a single check by its name. */
function answerHealth({ response, info, unready }: OtherExchange, which: string, only?: string): void {
  const checks: { name: string; problem: string | undefined }[] = [{ name: 'ping', problem: undefined }];
  // A server whose disk failed is alive: an operator decides about a restart.
  if (which !== 'livez') checks.push({ name: 'storage', problem: unready() });
  const asked = checks.filter(({ name }) => only === undefined || name === only);
  if (asked.length === 0) throw noSuchPath();
  const problem = asked.find((check) => check.problem !== undefined)?.problem;
  const outcome = problem === undefined ? 'passed' : 'failed';
  const lines = asked.map(
    (check) => `[${check.problem ? '-' : '+'}]${check.name} ${check.problem ?? 'ok'}\n`,
  );
  const short = problem === undefined ? 'ok' : `${which} check failed: ${problem}`;
  response.writeHead(problem === undefined ? 200 : 500, {
    'Content-Type': 'text/plain; charset=utf-8',
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-cache, private',
  });
  response.end(info.query.has('verbose') ? `${lines.join('')}${which} check ${outcome}\n` : short);
}

function answerMetrics({ response, metrics, machine, bodies }: OtherExchange): void {
  const { store } = machine;
  const counts = new Map(store.types().map((type) => [type, store.count(type)]));
  response.writeHead(200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' });
  response.end(metrics.render({ storedObjects: counts, revision: store.revision, bodies: bodies.usage }));
}
