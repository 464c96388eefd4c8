// What becomes of requests that are not as gRPC has them, sent by an HTTP/2 client that lets a test say anything.

import assert from 'node:assert/strict';
import { type ClientHttp2Session, connect, type OutgoingHttpHeaders } from 'node:http2';
import { createConnection } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { connectCsi } from '../../csi/client/connect-csi.ts';
import { csiClient } from '../../csi/client/csi-client.ts';
import { Controller, DeleteVolumeRequestSchema, Identity } from '../../csi/generated/csi/v1/csi_pb.ts';
import { type ServeCsiOptions, serveCsi } from '../../csi/server/serve-csi.ts';
import { implement } from '../../csi/server/service-implementation.ts';
import { memoryLog, silentLog } from '../../runtime/log/log.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { create } from '../protobuf/create.ts';
import { toBinary } from '../protobuf/encode.ts';
import { temporarySocket } from '../testing/test-socket.ts';

interface Answer {
  http: number;
  grpc: string | undefined;
  text: string | undefined;
}

async function world(t: TestContext, options: Partial<ServeCsiOptions> = {}) {
  const address = await temporarySocket(t);
  const controller = implement(Controller, { deleteVolume: () => ({}) });
  const server = await serveCsi({
    address,
    services: [controller],
    log: silentLog,
    clock: realClock,
    maxMessageBytes: 1000,
    ...options,
  });
  const session = connect('http://localhost', { createConnection: () => createConnection(address) });
  session.on('error', () => {});
  t.after(async () => {
    session.destroy();
    await server.stop(0);
  });
  return { session, address, server };
}

const head: OutgoingHttpHeaders = {
  ':method': 'POST',
  ':path': '/csi.v1.Controller/DeleteVolume',
  'content-type': 'application/grpc',
  te: 'trailers',
};

function ask(session: ClientHttp2Session, headers: OutgoingHttpHeaders, body: Buffer): Promise<Answer> {
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
    stream.end(body);
  });
}

function message(bytes: Uint8Array, isCompressed = false): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = isCompressed ? 1 : 0;
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

const good = message(
  toBinary(DeleteVolumeRequestSchema, create(DeleteVolumeRequestSchema, { volumeId: 'v' })),
);

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
  ['for a method that there is not', { ':path': '/csi.v1.Controller/Nothing' }, good, 200, '12'],
  ['with a time limit that is none', { 'grpc-timeout': 'soon' }, good, 200, '13'],
  ['without a message', {}, Buffer.alloc(0), 200, '13'],
  ['with two messages', {}, Buffer.concat([good, good]), 200, '13'],
  ['with a message cut short', {}, good.subarray(0, 6), 200, '13'],
  ['with a message too long', {}, message(Buffer.alloc(1001)), 200, '8'],
  ['with a compressed message', {}, message(Buffer.alloc(3), true), 200, '12'],
  ['with something that is no message', {}, message(Buffer.from([0xff, 0xff])), 200, '13'],
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

describe('an answer', () => {
  it('that is no message is INTERNAL, told to the log and not to the caller', async (t) => {
    const log = memoryLog();
    const services = [implement(Identity, { getPluginInfo: () => ({ name: 5 as unknown as string }) })];
    const { address } = await world(t, { services, log });
    const connection = connectCsi({ address, log: silentLog, clock: realClock });
    t.after(() => connection.close());
    await assert.rejects(csiClient(Identity, connection, { timeoutMs: 5000 }).getPluginInfo({}), {
      code: 'INTERNAL',
    });
    assert.match(log.text(), /name of csi\.v1\.GetPluginInfoResponse cannot be number/);
  });

  it('ends a call whose handler looks at its deadline, even if the caller does not', async (t) => {
    const aborted = Promise.withResolvers<void>();
    const services = [
      implement(Controller, {
        deleteVolume: async (_, { signal }) => {
          signal.addEventListener('abort', () => aborted.resolve());
          await aborted.promise;
          return {};
        },
      }),
    ];
    const { session } = await world(t, { services });
    const answer = await ask(session, { 'grpc-timeout': '30m' }, good);
    assert.equal(answer.grpc, '4');
    await aborted.promise;
  });

  it('comes to every call, also when its handler has seen that another was given up', async (t) => {
    let running = 0;
    const go = Promise.withResolvers<void>();
    const services = [
      implement(Controller, {
        deleteVolume: async () => {
          running++;
          await go.promise;
          return {};
        },
      }),
    ];
    const { session } = await world(t, { services });
    const given = session.request(head);
    given.on('error', () => {});
    given.end(good);
    const kept = ask(session, {}, good);
    while (running < 2) await realClock.sleep(1);
    given.close(8);
    go.resolve();
    assert.equal((await kept).grpc, '0');
  });
});
