// The pool on real sockets, against servers that do everything a server can do wrong.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { createSecureContext } from 'node:tls';
import { testClock } from '../testing/test-clock.ts';
import type { ConnectionTimeouts, Exchange, Flow } from './connection.ts';
import { ConnectionPool } from './connection-pool.ts';
import type { SocketTarget } from './open-socket.ts';
import { requestText } from './request-text.ts';

interface RawServer extends AsyncDisposable {
  readonly port: number;
  /** `POST /a on 1`: method, path and the number of the connection. */
  readonly asked: string[];
  readonly sockets: Socket[];
}

type Script = (asked: { path: string; socket: Socket; count: number }) => void;

/** Calls the script for each head; bodies are not read. */
async function startServer(script: Script): Promise<RawServer> {
  const asked: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    const number = sockets.push(socket);
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      const [, method, path = ''] = /^([A-Z]+) (\S+) HTTP\/1\.1\r\n/.exec(bytes.toString('latin1')) ?? [];
      if (method === undefined) return;
      script({ path, socket, count: asked.push(`${method} ${path} on ${number}`) });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const answer = (body: string, headers = ''): string =>
  `HTTP/1.1 200 OK\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`;

function poolFor(
  port: number,
  {
    maxConnections = 10,
    timeouts = {},
    tls,
  }: { maxConnections?: number; timeouts?: Partial<ConnectionTimeouts>; tls?: SocketTarget['tls'] } = {},
): ConnectionPool & AsyncDisposable {
  const pool = new ConnectionPool({
    clock: testClock,
    target: { host: '127.0.0.1', port, ...(tls && { tls }) },
    session: {},
    readBuffer: Buffer.alloc(1024),
    timeouts: { connectMs: 30_000, answerMs: 30_000, silenceMs: 30_000, idleMs: 30_000, ...timeouts },
    maxConnections,
  });
  return Object.assign(pool, { [Symbol.asyncDispose]: () => pool.destroy() });
}

class Asking implements Exchange {
  readonly method: string;
  readonly text: string;
  readonly streaming: boolean;
  readonly maxBodyBytes: number;
  readonly end: Promise<string>;
  flow: Flow | undefined;
  body = '';
  onData = (bytes: Buffer): void => {
    this.body += bytes.toString();
  };
  onEnd: () => void = () => {};
  onFailure: (error: Error) => void = () => {};
  readonly started: Promise<void>;
  #start: () => void = () => {};

  constructor(
    path: string,
    {
      method = 'GET',
      body,
      streaming = false,
      maxBodyBytes = Number.POSITIVE_INFINITY,
    }: { method?: string; body?: string; streaming?: boolean; maxBodyBytes?: number } = {},
  ) {
    this.method = method;
    this.streaming = streaming;
    this.maxBodyBytes = maxBodyBytes;
    this.text = requestText({ method, path, host: 'test', headers: {}, body });
    this.started = new Promise((resolve) => {
      this.#start = resolve;
    });
    this.end = new Promise((resolve, reject) => {
      let over = false;
      const once = (tell: () => void): void => {
        assert.ok(!over, 'told twice how it ended');
        over = true;
        tell();
      };
      this.onEnd = () => once(() => resolve(this.body));
      this.onFailure = (error) => once(() => reject(error));
    });
    // Whoever asks looks at it later.
    this.end.catch(() => {});
  }

  onHead(_: unknown, flow: Flow): void {
    this.flow = flow;
    this.#start();
  }
}

function ask(
  pool: ConnectionPool,
  path: string,
  options: ConstructorParameters<typeof Asking>[1] = {},
): Asking {
  const exchange = new Asking(path, options);
  pool.send(exchange);
  return exchange;
}

async function closing(socket: Socket | undefined): Promise<void> {
  if (socket === undefined || socket.closed) return;
  // Not `once` of node:events, which an error before it would reject.
  await new Promise((resolve) => socket.on('close', resolve));
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a connection is kept for the next request, one exchange at a time', async () => {
  await using server = await startServer(({ path, socket }) => socket.write(answer(path)));
  await using pool = poolFor(server.port);
  for (const path of ['/a', '/b', '/c']) assert.equal(await ask(pool, path).end, path);
  assert.deepEqual(server.asked, ['GET /a on 1', 'GET /b on 1', 'GET /c on 1']);
  const both = [ask(pool, '/d'), ask(pool, '/e')];
  assert.deepEqual(await Promise.all(both.map(({ end }) => end)), ['/d', '/e']);
  assert.equal(server.sockets.length, 2);
});

test('beyond the limit requests queue in order, whether earlier ones succeed or fail', async () => {
  const held: (() => void)[] = [];
  await using server = await startServer(({ path, socket }) => {
    held.push(() => (path === '/broken' ? socket.destroy() : socket.write(answer(path))));
  });
  await using pool = poolFor(server.port, { maxConnections: 2 });
  const all = ['/broken', '/b', '/c', '/given-up', '/d', '/e'].map((path) => ask(pool, path));
  const reason = new Error('no longer wanted');
  pool.cancel(all[3] as Asking, reason);
  while (held.length < 2) await nextTurn();
  for (let done = 0; done < 5; ) {
    const next = held.shift();
    if (next === undefined) await nextTurn();
    else {
      next();
      done++;
    }
  }
  const ends = await Promise.allSettled(all.map(({ end }) => end));
  assert.deepEqual(
    ends.map((end) => (end.status === 'fulfilled' ? end.value : (end.reason.code ?? end.reason))),
    ['HTTP_CLOSED', '/b', '/c', reason, '/d', '/e'],
  );
  assert.deepEqual(server.asked.map((line) => line.split(' ')[1]).sort(), [
    '/b',
    '/broken',
    '/c',
    '/d',
    '/e',
  ]);
});

const failures: { name: string; script: Script; code: string; timeouts?: Partial<ConnectionTimeouts> }[] = [
  { name: 'closes without an answer', script: ({ socket }) => socket.end(), code: 'HTTP_CLOSED' },
  { name: 'resets the connection', script: ({ socket }) => socket.resetAndDestroy(), code: 'ECONNRESET' },
  {
    name: 'closes in the head',
    script: ({ socket }) => socket.end('HTTP/1.1 200 OK\r\n'),
    code: 'HTTP_CLOSED',
  },
  {
    name: 'closes in the body',
    script: ({ socket }) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf'),
    code: 'HTTP_CLOSED',
  },
  {
    name: 'closes between two chunks',
    script: ({ socket }) => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n'),
    code: 'HTTP_CLOSED',
  },
  {
    name: 'speaks something else',
    script: ({ socket }) => socket.write('+OK ready\r\n'),
    code: 'HTTP_MALFORMED',
  },
  {
    name: 'says more than it announced',
    script: ({ socket }) => socket.write(`${answer('a')}b`),
    code: 'HTTP_MALFORMED',
  },
  { name: 'never answers', script: () => {}, code: 'HTTP_ANSWER_TIMEOUT', timeouts: { answerMs: 50 } },
  {
    name: 'never comes to the end of its head',
    script: ({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const more = setInterval(() => socket.write('a: b\r\n'), 10);
      socket.on('close', () => clearInterval(more));
    },
    code: 'HTTP_ANSWER_TIMEOUT',
    timeouts: { answerMs: 100 },
  },
  {
    name: 'falls silent in the body',
    script: ({ socket }) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf'),
    code: 'HTTP_SILENT',
    timeouts: { silenceMs: 50 },
  },
];

for (const { name, script, code, timeouts = {} } of failures) {
  test(`a server that ${name}: ${code}, once, and the connection is not used again`, async () => {
    await using server = await startServer((asked) =>
      asked.path === '/fine' ? asked.socket.write(answer('fine')) : script(asked),
    );
    await using pool = poolFor(server.port, { timeouts });
    await assert.rejects(ask(pool, '/bad').end, { code });
    assert.equal(await ask(pool, '/fine').end, 'fine');
    assert.deepEqual(server.asked, ['GET /bad on 1', 'GET /fine on 2']);
  });
}

test('an answer that comes byte by byte is an answer, and silence is counted from its last byte', async () => {
  await using server = await startServer(async ({ socket }) => {
    for (const byte of answer('slowly')) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      socket.write(byte);
    }
  });
  await using pool = poolFor(server.port);
  assert.equal(await ask(pool, '/').end, 'slowly');
});

test('a body that ends with the connection is whole, and a stream may be silent', async () => {
  let finish: (() => void) | undefined;
  await using server = await startServer(({ socket }) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\nfirst ');
    finish = () => socket.end('last');
  });
  await using pool = poolFor(server.port, { timeouts: { silenceMs: 1, answerMs: 1000 } });
  const stream = ask(pool, '/', { streaming: true });
  await stream.started;
  await new Promise((resolve) => setTimeout(resolve, 50));
  finish?.();
  assert.equal(await stream.end, 'first last');
});

test('an answer before the request is read counts, and the connection is not used again', async () => {
  await using server = await startServer(({ path, socket, count }) => {
    if (count === 1) socket.pause();
    socket.write(answer(path, count === 1 ? 'x: early\r\n' : ''));
  });
  await using pool = poolFor(server.port);
  const large = ask(pool, '/large', { method: 'POST', body: 'x'.repeat(64 << 20) });
  assert.equal(await large.end, '/large');
  assert.equal(await ask(pool, '/next').end, '/next');
  assert.deepEqual(server.asked, ['POST /large on 1', 'GET /next on 2']);
});

for (const method of ['GET', 'POST']) {
  test(`kept connections that the server closes when they are used again: ${method}`, async () => {
    // The first three answer once, and break off at their second request.
    const used = new Set<Socket>();
    await using server = await startServer(({ path, socket }) => {
      if (used.has(socket)) return socket.destroy();
      used.add(socket);
      return socket.write(answer(path));
    });
    await using pool = poolFor(server.port);
    await Promise.all(['/1', '/2', '/3'].map((path) => ask(pool, path).end));
    const again = ask(pool, '/again', { method });
    if (method === 'GET') assert.equal(await again.end, '/again');
    else
      await assert.rejects(again.end, (error: { code?: string }) =>
        /HTTP_CLOSED|ECONNRESET/.test(error.code ?? ''),
      );
    const times = server.asked.filter((line) => line.includes('/again')).length;
    // A GET is repeated over a new connection; anything else may have been done.
    assert.equal(times, method === 'GET' ? 2 : 1);
  });
}

test('a kept connection that the server closes or writes to is left', async () => {
  await using server = await startServer(({ path, socket }) => socket.write(answer(path)));
  await using pool = poolFor(server.port);
  await ask(pool, '/a').end;
  server.sockets[0]?.write('HTTP/1.1 408 Request Timeout\r\n\r\n');
  await closing(server.sockets[0]);
  await ask(pool, '/b').end;
  server.sockets[1]?.end();
  await closing(server.sockets[1]);
  await ask(pool, '/c', { method: 'POST' }).end;
  assert.deepEqual(server.asked, ['GET /a on 1', 'GET /b on 2', 'POST /c on 3']);
});

const partings = [
  { name: 'connection: close', headers: 'connection: close\r\n', idleMs: 30_000 },
  {
    name: 'a server that keeps connections for a second at most',
    headers: 'keep-alive: timeout=1\r\n',
    idleMs: 30_000,
  },
  { name: 'an idle time that has passed', headers: '', idleMs: 1 },
];
for (const { name, headers, idleMs } of partings) {
  test(`${name}: the connection is closed from this side`, async () => {
    await using server = await startServer(({ path, socket }) => socket.write(answer(path, headers)));
    await using pool = poolFor(server.port, { timeouts: { idleMs } });
    await ask(pool, '/a').end;
    await closing(server.sockets[0]);
    await ask(pool, '/b').end;
    assert.deepEqual(server.asked, ['GET /a on 1', 'GET /b on 2']);
  });
}

test('an abort at any moment closes the connection, and no callback follows', async () => {
  const moments: { name: string; sends: string; until: (exchange: Asking) => Promise<void> }[] = [
    { name: 'before it is connected', sends: '', until: async () => {} },
    { name: 'before the answer', sends: '', until: async () => {} },
    { name: 'in the head', sends: 'HTTP/1.1 200 OK\r\n', until: async () => {} },
    {
      name: 'in the body',
      sends: 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf',
      until: ({ started }) => started,
    },
  ];
  for (const { name, sends, until } of moments) {
    await using server = await startServer(({ socket }) => socket.write(sends));
    await using pool = poolFor(server.port);
    const exchange = ask(pool, '/');
    if (name !== 'before it is connected') while (server.asked.length === 0) await nextTurn();
    await until(exchange);
    const reason = new Error(name);
    pool.cancel(exchange, reason);
    pool.cancel(exchange, reason);
    await assert.rejects(exchange.end, reason);
    await closing(server.sockets[0]);
    exchange.onData = () => assert.fail('told after it was broken off');
  }
});

test('breaking off from within a piece of the answer ends it there', async () => {
  await using server = await startServer(({ socket }) =>
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n'),
  );
  await using pool = poolFor(server.port);
  const exchange = new Asking('/', { streaming: true });
  const seen: string[] = [];
  const reason = new Error('enough');
  exchange.onData = (bytes) => {
    seen.push(bytes.toString());
    pool.cancel(exchange, reason);
  };
  pool.send(exchange);
  await assert.rejects(exchange.end, reason);
  assert.deepEqual(seen, ['a']);
});

test('a paused stream applies backpressure and loses nothing', async () => {
  const total = 20 << 20;
  await using server = await startServer(({ socket }) =>
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${total}\r\n\r\n${'x'.repeat(total)}`),
  );
  await using pool = poolFor(server.port);
  const stream = new Asking('/', { streaming: true });
  let seen = 0;
  stream.onData = ({ length }) => {
    if (seen === 0) stream.flow?.pause();
    seen += length;
  };
  pool.send(stream);
  await stream.started;
  for (let turn = 0; turn < 500; turn++) await nextTurn();
  assert.ok(seen < total / 2, `${seen} bytes came although it was paused`);
  stream.flow?.resume();
  await stream.end;
  assert.equal(seen, total);
});

test('an endless body fails at the limit of its caller, whatever its form', async () => {
  const forms: Record<string, { head: string; piece: string }> = {
    '/sized': { head: 'content-length: 100000000\r\n', piece: 'x'.repeat(1000) },
    '/chunked': { head: 'transfer-encoding: chunked\r\n', piece: '1;ext=yes\r\nx\r\n'.repeat(100) },
    '/until-close': { head: '', piece: 'x'.repeat(1000) },
  };
  await using server = await startServer(({ path, socket }) => {
    const { head, piece } = forms[path] as { head: string; piece: string };
    socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n`);
    const pour = (): void => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on('drain', pour);
    pour();
  });
  await using pool = poolFor(server.port);
  for (const path of Object.keys(forms)) {
    const asking = ask(pool, path, { maxBodyBytes: 50_000 });
    await assert.rejects(asking.end, { code: 'HTTP_TOO_LARGE', message: /longer than 50000 bytes/ });
    assert.ok(asking.body.length <= 50_000);
  }
});

test('a failed connect rejects each waiting request once, and the next attempt may succeed', async () => {
  const { port } = await startServer(() => {}).then(async (server) => {
    await server[Symbol.asyncDispose]();
    return server;
  });
  await using pool = poolFor(port, { maxConnections: 1 });
  const ends = await Promise.allSettled([ask(pool, '/a').end, ask(pool, '/b').end, ask(pool, '/c').end]);
  assert.deepEqual(
    ends.map((end) => end.status === 'rejected' && end.reason.code),
    ['ECONNREFUSED', 'ECONNREFUSED', 'ECONNREFUSED'],
  );
});

test('a target that Node refuses before it tries', async () => {
  await using pool = poolFor(65_536);
  await assert.rejects(ask(pool, '/a').end, { code: 'ERR_SOCKET_BAD_PORT' });
  await assert.rejects(ask(pool, '/b').end, { code: 'ERR_SOCKET_BAD_PORT' });
});

test('a server that accepts and never shakes hands', async () => {
  await using server = await startServer(() => {});
  await using pool = poolFor(server.port, {
    tls: { context: createSecureContext() },
    timeouts: { connectMs: 50 },
  });
  await assert.rejects(ask(pool, '/').end, { code: 'HTTP_CONNECT_TIMEOUT' });
});

test('retired: what is under way ends, nothing is kept; destroyed: everything is broken off', async () => {
  let finish = (): void => {};
  await using server = await startServer(({ path, socket }) => {
    if (path === '/held') finish = () => socket.write(answer(path));
    else if (path !== '/lost') socket.write(answer(path));
  });
  await using pool = poolFor(server.port);
  await Promise.all([ask(pool, '/a').end, ask(pool, '/b').end]);
  const held = ask(pool, '/held');
  while (server.asked.length < 3) await nextTurn();
  const retired = pool.retire();
  finish();
  assert.equal(await held.end, '/held');
  await retired;
  assert.ok(server.sockets.length > 0);
  await using other = poolFor(server.port, { maxConnections: 1 });
  const lost = [ask(other, '/lost'), ask(other, '/waiting')];
  while (!server.asked.some((line) => line.includes('/lost'))) await nextTurn();
  await other.destroy();
  lost.push(ask(other, '/late'));
  for (const { end } of lost) await assert.rejects(end, { code: 'HTTP_CLOSED' });
});

test('a kept connection does not keep the process', async () => {
  await using server = await startServer(({ path, socket }) => socket.write(answer(path)));
  const script = `
    const { ConnectionPool } = await import(${JSON.stringify(new URL('./connection-pool.ts', import.meta.url).href)});
    const { testClock } = await import(${JSON.stringify(new URL('../testing/test-clock.ts', import.meta.url).href)});
    const ms = 600_000;
    const pool = new ConnectionPool({
      clock: testClock,
      target: { host: '127.0.0.1', port: ${server.port} }, session: {}, readBuffer: Buffer.alloc(1024), maxConnections: 1,
      timeouts: { connectMs: ms, answerMs: ms, silenceMs: ms, idleMs: ms },
    });
    pool.send({ method: 'GET', text: 'GET / HTTP/1.1\\r\\n\\r\\n', maxBodyBytes: 1000, onHead() {}, onData() {}, onEnd: () => console.log('answered') });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.on('data', (bytes) => {
    out += bytes;
  });
  const [code] = await once(child, 'close');
  assert.deepEqual({ code, out }, { code: 0, out: 'answered\n' });
});
