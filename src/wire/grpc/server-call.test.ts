// What becomes of requests that are not as gRPC has them, sent by an HTTP/2 client that lets a test say anything.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, connect, type OutgoingHttpHeaders } from 'node:http2';
import { createConnection } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { prefixed } from '../testing/prefixed.ts';
import { testClock } from '../testing/test-clock.ts';
import { temporarySocket } from '../testing/test-socket.ts';
import { type GrpcServerOptions, grpcServer } from './grpc-server.ts';
import { MESSAGE_HEADROOM } from './message-framing.ts';

interface Answer {
  http: number;
  grpc: string | undefined;
  text: string | undefined;
}

const echo: GrpcServerOptions['handle'] = async (path, request, call) => {
  if (path !== '/test.Echo/Echo') call.answer({ code: 12, text: `unknown method ${path}` });
  else call.answer({ code: 0 }, Buffer.concat([Buffer.alloc(MESSAGE_HEADROOM), request]));
};

async function world(t: TestContext, handle = echo) {
  const address = await temporarySocket(t);
  const server = grpcServer({ clock: testClock, maxMessageBytes: 1000, maxHeldBytes: 1500, handle });
  await server.listen(address);
  const session = connect('http://localhost', { createConnection: () => createConnection(address) });
  session.on('error', () => {});
  t.after(() => {
    session.destroy();
    server.cut(new Error('the test is over'));
  });
  return { session };
}

const head: OutgoingHttpHeaders = {
  ':method': 'POST',
  ':path': '/test.Echo/Echo',
  'content-type': 'application/grpc',
  te: 'trailers',
};

function ask(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body: Buffer,
  { isOpen = false } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ...head, ...headers });
    const answer: Answer = { http: 0, grpc: undefined, text: undefined };
    const read = (fields: Record<string, unknown>) => {
      answer.http = Number(fields[':status'] ?? answer.http);
      answer.grpc = (fields['grpc-status'] as string | undefined) ?? answer.grpc;
      answer.text = (fields['grpc-message'] as string | undefined) ?? answer.text;
    };
    stream.on('response', read).on('trailers', read).on('error', reject);
    stream.on('close', () => resolve(answer)).resume();
    if (isOpen) stream.write(body);
    else stream.end(body);
  });
}

const good = prefixed(Buffer.from('hello'));

/** Short, and too long together, as headers are counted. */
const manyHeaders = Object.fromEntries(Array.from({ length: 1900 }, (_, at) => [`x-${at}`, 'y']));

const requests: [name: string, headers: OutgoingHttpHeaders, body: Buffer, http: number, grpc?: string][] = [
  ['as it should be', {}, good, 200, '0'],
  ['with a subtype', { 'content-type': 'application/grpc+proto' }, good, 200, '0'],
  ['with a time limit', { 'grpc-timeout': '10S' }, good, 200, '0'],
  ['by another method', { ':method': 'PUT' }, good, 405],
  ['of another type', { 'content-type': 'application/json' }, good, 415],
  ['of a type that only begins like it', { 'content-type': 'application/grpc-web' }, good, 415],
  ['with more headers than allowed', manyHeaders, good, 431],
  ['for a method that there is not', { ':path': '/test.Echo/Nothing' }, good, 200, '12'],
  ['with a time limit that is none', { 'grpc-timeout': 'soon' }, good, 200, '13'],
  ['without a message', {}, Buffer.alloc(0), 200, '13'],
  ['with two messages', {}, Buffer.concat([good, good]), 200, '13'],
  ['with a message cut short', {}, good.subarray(0, 6), 200, '13'],
  ['with a message too long', {}, prefixed(Buffer.alloc(1001)), 200, '8'],
  ['with a compressed message', {}, prefixed(Buffer.alloc(3), { isCompressed: true }), 200, '12'],
];

describe('a request', () => {
  for (const [name, headers, body, http, grpc] of requests) {
    it(`${name} is answered with ${grpc === undefined ? `HTTP ${http}` : `code ${grpc}`}`, async (t) => {
      const { session } = await world(t);
      const answer = await ask(session, headers, body);
      assert.deepEqual([answer.http, answer.grpc], [http, grpc], answer.text);
      // The connection is none the worse for it.
      assert.equal((await ask(session, {}, good)).grpc, '0');
    });
  }
});

describe('unfinished requests', () => {
  it('are limited together, and count no longer when they end', async (t) => {
    const { session } = await world(t);
    const part = prefixed(Buffer.alloc(900)).subarray(0, 850);
    const rest = Buffer.alloc(55);
    const first = session.request(head);
    first.write(part);
    // Answered before its end, because the first one is held.
    assert.equal((await ask(session, {}, part, { isOpen: true })).grpc, '8');
    first.end(rest);
    await once(first.resume(), 'close');
    const second = session.request(head);
    second.write(part);
    second.end(rest);
    const [trailers] = await once(second.resume(), 'trailers');
    assert.equal(trailers['grpc-status'], '0');
  });
});

describe('an answer', () => {
  it('the handler’s deadline ends a call, even if the caller never does', async (t) => {
    const aborted = Promise.withResolvers<void>();
    const { session } = await world(t, async (_path, _request, { signal }) => {
      signal.addEventListener('abort', () => aborted.resolve());
      await aborted.promise;
    });
    const answer = await ask(session, { 'grpc-timeout': '30m' }, good);
    assert.equal(answer.grpc, '4');
    await aborted.promise;
  });

  it('comes to every call, also when its handler has seen that another was given up', async (t) => {
    let running = 0;
    const bothRun = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const { session } = await world(t, async (_path, _request, call) => {
      if (++running === 2) bothRun.resolve();
      await go.promise;
      call.answer({ code: 0 });
    });
    const given = session.request(head);
    given.on('error', () => {});
    given.end(good);
    const kept = ask(session, {}, good);
    await bothRun.promise;
    given.close(8);
    go.resolve();
    assert.equal((await kept).grpc, '0');
  });
});
