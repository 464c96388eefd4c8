// Test support: a real HTTP server over a World that misbehaves as told. Each fault is used once, by the next request
// it fits; without one the server behaves.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type RawEvent, World } from './world.ts';

export type ListFault =
  | 'list-500'
  | 'list-html'
  | 'list-truncated'
  | 'list-drop'
  | 'list-410-midway'
  | 'list-mute';
export type WatchFault =
  | 'watch-drop'
  | 'watch-truncate'
  | 'watch-half-line-end'
  | 'watch-410'
  | 'watch-410-event'
  | 'watch-html'
  | 'watch-garbage'
  | 'watch-stall'
  | 'watch-mute'
  | 'watch-429'
  | 'watch-duplicate'
  | 'watch-reorder'
  | 'watch-byte-by-byte'
  | 'watch-end';
export type Fault = ListFault | WatchFault;

export const LIST_FAULTS: readonly ListFault[] = [
  'list-500',
  'list-html',
  'list-truncated',
  'list-drop',
  'list-410-midway',
  'list-mute',
];
export const WATCH_FAULTS: readonly WatchFault[] = [
  'watch-drop',
  'watch-truncate',
  'watch-half-line-end',
  'watch-410',
  'watch-410-event',
  'watch-html',
  'watch-garbage',
  'watch-stall',
  'watch-mute',
  'watch-429',
  'watch-duplicate',
  'watch-reorder',
  'watch-byte-by-byte',
  'watch-end',
];

const HTML = '<!DOCTYPE html><html><body>Bad gateway</body></html>';
const line = (value: unknown): string => `${JSON.stringify(value)}\n`;
const status = (code: number, reason: string) => ({
  kind: 'Status',
  status: 'Failure',
  code,
  reason,
  message: reason,
});

export interface ScriptedServer extends AsyncDisposable {
  readonly world: World;
  readonly url: string;
  /** Faults not yet used. */
  readonly faults: Fault[];
  /** Paths with query, in the order they came. */
  readonly requests: string[];
}

export async function startScriptedServer(options: {
  streams: boolean;
  pageSize?: number;
}): Promise<ScriptedServer> {
  const world = new World();
  const faults: Fault[] = [];
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? '');
    const query = new URL(request.url ?? '', 'http://server').searchParams;
    if (query.get('watch') === 'true') watch(request, response, query);
    else list(response, query);
  });

  function take<F extends Fault>(of: readonly F[]): F | undefined {
    const index = faults.findIndex((fault) => (of as readonly Fault[]).includes(fault));
    return index < 0 ? undefined : (faults.splice(index, 1)[0] as F);
  }

  function list(response: ServerResponse, query: URLSearchParams): void {
    const from = Number(query.get('continue') ?? 0);
    const fault = from > 0 || faults[0] !== 'list-410-midway' ? take(LIST_FAULTS) : undefined;
    const limit = Math.min(Number(query.get('limit') ?? Number.POSITIVE_INFINITY), options.pageSize ?? 3);
    const all = world.list();
    const size = query.has('limit') ? limit : all.length;
    const items = all.slice(from, from + size);
    const more = from + size < all.length ? { continue: String(from + size) } : {};
    const body = JSON.stringify({
      kind: 'NodeList',
      metadata: { resourceVersion: String(world.version), ...more },
      items,
    });
    switch (fault) {
      case 'list-500':
        answer(response, 500, JSON.stringify(status(500, 'InternalError')));
        return;
      case 'list-html':
        answer(response, 200, HTML, 'text/html');
        return;
      case 'list-truncated':
        answer(response, 200, body.slice(0, body.length / 2));
        return;
      case 'list-drop':
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
        response.write(body.slice(0, 10), () => response.destroy());
        return;
      case 'list-410-midway':
        answer(response, 410, JSON.stringify(status(410, 'Expired')));
        return;
      case 'list-mute':
        return;
      case undefined:
        answer(response, 200, body);
        return;
    }
  }

  function watch(request: IncomingMessage, response: ServerResponse, query: URLSearchParams): void {
    const streaming = query.get('sendInitialEvents') === 'true';
    if (streaming && !options.streams) {
      answer(response, 422, JSON.stringify(status(422, 'Invalid')));
      return;
    }
    const fault = take(WATCH_FAULTS);
    if (fault === 'watch-410') {
      answer(response, 410, JSON.stringify(status(410, 'Expired')));
      return;
    }
    if (fault === 'watch-html') {
      answer(response, 502, HTML, 'text/html');
      return;
    }
    if (fault === 'watch-mute') return;
    if (fault === 'watch-429') {
      response.setHeader('retry-after', '1');
      answer(response, 429, JSON.stringify(status(429, 'TooManyRequests')));
      return;
    }
    let version = Number(query.get('resourceVersion') ?? 0);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    if (streaming) {
      version = world.version;
      for (const object of world.list()) response.write(line({ type: 'ADDED', object }));
      const annotations = { 'k8s.io/initial-events-end': 'true' };
      const metadata = { resourceVersion: String(version), annotations };
      response.write(line({ type: 'BOOKMARK', object: { kind: 'Node', metadata } }));
    }
    if (fault === 'watch-stall') return;
    const flush = (): void => {
      const events = world.since(version);
      if (events === undefined || fault === 'watch-410-event') {
        stop();
        response.end(line({ type: 'ERROR', object: status(410, 'Expired') }));
        return;
      }
      if (events.length === 0) return;
      version = world.version;
      send(response, events, fault, stop);
    };
    const stopChanges = world.onChange(() => setImmediate(flush));
    const stop = (): void => {
      stopChanges();
    };
    request.on('close', stop);
    flush();
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    world,
    url: `http://127.0.0.1:${port}`,
    faults,
    requests,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function send(
  response: ServerResponse,
  events: RawEvent[],
  fault: WatchFault | undefined,
  stop: () => void,
): void {
  const lines = events.map(line);
  const first = lines[0] ?? '';
  switch (fault) {
    case 'watch-drop':
      stop();
      response.write(first, () => response.destroy());
      return;
    case 'watch-truncate':
      stop();
      response.write(first.slice(0, first.length / 2), () => response.destroy());
      return;
    case 'watch-half-line-end':
      stop();
      response.end(first.slice(0, first.length / 2));
      return;
    case 'watch-garbage':
      stop();
      response.end('{"type":"ADDED","obj\n');
      return;
    case 'watch-end':
      stop();
      response.end(first);
      return;
    case 'watch-duplicate':
      for (const text of lines) response.write(text + text);
      return;
    case 'watch-reorder':
      response.write([...lines].reverse().join(''));
      return;
    case 'watch-byte-by-byte':
      for (const byte of Buffer.from(lines.join(''))) response.write(Buffer.of(byte));
      return;
    default:
      response.write(lines.join(''));
  }
}

function answer(response: ServerResponse, code: number, body: string, type = 'application/json'): void {
  response.writeHead(code, { 'content-type': type });
  response.end(body);
}
