// The proxy between clients and servers of others (grpc-js) and our own, over real sockets.

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import * as grpc from '@grpc/grpc-js';
import { connectCsi } from '../csi/client/connect-csi.ts';
import { csiClient } from '../csi/client/csi-client.ts';
import { probe } from '../csi/client/probe.ts';
import { CsiError } from '../csi/csi-error.ts';
import {
  Controller,
  type CreateVolumeRequest,
  Identity,
  SnapshotMetadata,
} from '../csi/generated/csi/v1/csi_pb.ts';
import { serveCsi } from '../csi/server/serve-csi.ts';
import { implement, type ServiceImplementation } from '../csi/server/service-implementation.ts';
import { silentLog } from '../runtime/log/log.ts';
import { realClock } from '../runtime/time/clock.ts';
import { temporaryDirectory, temporarySocket } from '../wire/testing/test-socket.ts';
import type { ProxyInterceptor } from './proxy-interceptor.ts';
import { serveProxy } from './serve-proxy.ts';

const ports = { log: silentLog, clock: realClock };
const bytes = (value: Buffer): Buffer => value;

/** Both ends speak bytes, so that what the proxy passes can be compared. */
async function grpcJsWorld(t: TestContext, interceptors: readonly ProxyInterceptor[] = []) {
  const directory = await temporaryDirectory(t);
  const server = new grpc.Server({
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
  });
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${directory}/d`, grpc.ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    );
  });
  const proxy = await serveProxy({
    listen: `${directory}/p`,
    driver: `${directory}/d`,
    interceptors,
    ...ports,
  });
  const client = new grpc.Client(`unix:${directory}/p`, grpc.credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
  });
  t.after(async () => {
    client.close();
    server.forceShutdown();
    await proxy.stop(0);
  });
  const unary = (path: string, handler: grpc.handleUnaryCall<Buffer, Buffer>): void => {
    server.register(path, handler, bytes, bytes, 'unary');
  };
  return { server, client, unary };
}

const createVolume = '/csi.v1.Controller/CreateVolume';
/** Passes everything on, and so makes the proxy hold requests and answers. */
const holding: ProxyInterceptor = (_, next) => next();

describe('the proxy between a client and a server of grpc-js', () => {
  for (const [name, interceptors] of [
    ['passing', []],
    ['holding', [holding]],
  ] as const) {
    it(`${name}: passes bytes, metadata, deadline and trailers as they are, both ways`, async (t) => {
      const { client, unary } = await grpcJsWorld(t, interceptors);
      const seen: { metadata?: grpc.Metadata; request?: Buffer; deadline?: grpc.Deadline } = {};
      unary(createVolume, (call, answer) => {
        Object.assign(seen, { metadata: call.metadata, request: call.request, deadline: call.getDeadline() });
        const head = new grpc.Metadata();
        head.set('x-head-bin', Buffer.from([0, 255]));
        call.sendMetadata(head);
        const trailers = new grpc.Metadata();
        trailers.set('x-trailer', 'told');
        // Not a protobuf message at all: nobody decodes it.
        answer(null, Buffer.from([0xff, 0xfe]), trailers);
      });
      const metadata = new grpc.Metadata();
      metadata.set('authorization', 'Bearer x');
      metadata.set('x-bin', Buffer.from([1, 2, 3]));
      const deadline = realClock.now() + 60_000;
      const got = await new Promise<{ body: Buffer; head: grpc.Metadata; status: grpc.StatusObject }>(
        (resolve, reject) => {
          const parts: { body?: Buffer; head?: grpc.Metadata } = {};
          const call = client.makeUnaryRequest(
            createVolume,
            bytes,
            bytes,
            Buffer.from([0xf0, 0x01]),
            metadata,
            { deadline },
            (error, body) => (error ? reject(error) : Object.assign(parts, { body })),
          );
          call.on('metadata', (head) => Object.assign(parts, { head }));
          call.on('status', (status) => {
            if (status.code === 0) resolve({ ...(parts as Required<typeof parts>), status });
          });
        },
      );
      assert.deepEqual([...got.body], [0xff, 0xfe]);
      assert.deepEqual(got.head.get('x-head-bin'), [Buffer.from([0, 255])]);
      assert.deepEqual(got.status.metadata.get('x-trailer'), ['told']);
      assert.deepEqual([...(seen.request ?? [])], [0xf0, 0x01]);
      assert.deepEqual(seen.metadata?.get('authorization'), ['Bearer x']);
      assert.deepEqual(seen.metadata?.get('x-bin'), [Buffer.from([1, 2, 3])]);
      assert.match(String(seen.metadata?.get('user-agent')), /grpc-node-js/);
      const off = Number(seen.deadline) - deadline;
      assert.ok(off <= 1000 && off > -30_000, `the deadline moved by ${off} ms`);
    });

    it(`${name}: passes messages larger than all windows, both ways`, async (t) => {
      const { client, unary } = await grpcJsWorld(t, interceptors);
      unary(createVolume, (call, answer) => answer(null, call.request));
      const large = Buffer.alloc(9 << 20);
      for (let at = 0; at < large.length; at += 1000) large[at] = at / 1000;
      const echoed = await new Promise<Buffer>((resolve, reject) => {
        client.makeUnaryRequest(createVolume, bytes, bytes, large, (error, body) =>
          error ? reject(error) : resolve(body as Buffer),
        );
      });
      assert.ok(echoed.equals(large));
    });

    it(`${name}: passes codes, texts and details`, async (t) => {
      const { client, unary } = await grpcJsWorld(t, interceptors);
      unary(createVolume, (_, answer) => {
        const metadata = new grpc.Metadata();
        metadata.set('grpc-status-details-bin', Buffer.from('why'));
        answer({ code: grpc.status.ABORTED, details: 'größer\nals', metadata });
      });
      const error = await new Promise<grpc.ServiceError | null>((resolve) => {
        client.makeUnaryRequest(createVolume, bytes, bytes, Buffer.alloc(0), resolve);
      });
      assert.equal(error?.code, grpc.status.ABORTED);
      assert.equal(error.details, 'größer\nals');
      assert.deepEqual(error.metadata.get('grpc-status-details-bin'), [Buffer.from('why')]);
    });

    it(`${name}: passes cancellation, and streams in both directions of an unknown service`, async (t) => {
      const { client, server } = await grpcJsWorld(t, interceptors);
      const cancelled = Promise.withResolvers<void>();
      const talk: grpc.handleBidiStreamingCall<Buffer, Buffer> = (call) => {
        call.on('data', (part: Buffer) => call.write(Buffer.from(`echo ${part}`)));
        call.on('end', () => call.end());
        call.on('cancelled', () => cancelled.resolve());
      };
      server.register('/other.Service/Talk', talk, bytes, bytes, 'bidi');
      const call = client.makeBidiStreamRequest('/other.Service/Talk', bytes, bytes);
      call.on('error', () => {});
      const next = () => new Promise<string>((resolve) => call.once('data', (part) => resolve(String(part))));
      // Each is answered before the next is sent: nothing is held until the end.
      for (const word of ['one', 'two']) {
        call.write(Buffer.from(word));
        assert.equal(await next(), `echo ${word}`);
      }
      call.cancel();
      await cancelled.promise;
    });
  }
});

async function csiWorld(
  t: TestContext,
  services: readonly ServiceImplementation[],
  interceptors: readonly ProxyInterceptor[] = [],
) {
  const listen = await temporarySocket(t);
  const driver = await temporarySocket(t);
  const proxy = await serveProxy({ listen, driver, interceptors, ...ports });
  const connection = connectCsi({ address: listen, ...ports });
  t.after(async () => {
    connection.close();
    await proxy.stop(0);
  });
  const start = async () => {
    const server = await serveCsi({ address: driver, services, ...ports });
    t.after(() => server.stop(0));
    return server;
  };
  return { proxy, connection, driver, start };
}

const call = { timeoutMs: 20_000 };

describe('the proxy', () => {
  it('answers UNAVAILABLE without a driver, and finds one that comes, goes and comes back', async (t) => {
    const { connection, driver, start } = await csiWorld(t, [implement(Identity, { probe: () => ({}) })]);
    const untilAnswered = async (): Promise<boolean> => {
      for (;;) {
        try {
          return await probe(connection, call);
        } catch (error) {
          assert.equal((error as CsiError).code, 'UNAVAILABLE');
          await realClock.sleep(20);
        }
      }
    };
    await assert.rejects(probe(connection, call), (error: CsiError) => {
      assert.equal(error.code, 'UNAVAILABLE');
      assert.ok(error.description.includes(driver), error.description);
      return true;
    });
    for (let round = 0; round < 2; round++) {
      const server = await start();
      assert.equal(await untilAnswered(), true);
      await server.stop(0);
      await assert.rejects(probe(connection, call), { code: 'UNAVAILABLE' });
    }
  });

  it('ends a call at its deadline and tells the driver', async (t) => {
    const cancelled = Promise.withResolvers<void>();
    const deadlines: (number | undefined)[] = [];
    const controller = implement(Controller, {
      createVolume: (_, { signal, deadline }) => {
        deadlines.push(deadline);
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            cancelled.resolve();
            reject(signal.reason);
          });
        });
      },
    });
    const { connection, start } = await csiWorld(t, [controller]);
    await start();
    const client = csiClient(Controller, connection, { timeoutMs: 300 });
    await assert.rejects(client.createVolume({ name: 'x' }), { code: 'DEADLINE_EXCEEDED' });
    await cancelled.promise;
    assert.ok(Number(deadlines[0]) <= realClock.now() + 300);
  });

  it('streams block metadata, with and without an interceptor, and stops the driver when the reader leaves', async (t) => {
    for (const interceptors of [[], [holding]]) {
      const stopped = Promise.withResolvers<void>();
      const metadata = implement(SnapshotMetadata, {
        async *getMetadataAllocated() {
          for (let at = 0; at < 1000; at++) yield { volumeCapacityBytes: BigInt(at) };
          throw new CsiError({ code: 'ABORTED', message: 'enough' });
        },
        async *getMetadataDelta() {
          try {
            for (;;) yield { volumeCapacityBytes: 1n };
          } finally {
            stopped.resolve();
          }
        },
      });
      const { connection, start } = await csiWorld(t, [metadata], interceptors);
      await start();
      const client = csiClient(SnapshotMetadata, connection, call);
      let count = 0;
      const read = async (): Promise<void> => {
        for await (const part of client.getMetadataAllocated({})) {
          assert.equal(part.volumeCapacityBytes, BigInt(count++));
        }
      };
      await assert.rejects(read(), { code: 'ABORTED', description: 'enough' });
      assert.equal(count, 1000);
      for await (const _ of client.getMetadataDelta({})) break;
      await stopped.promise;
    }
  });

  it('runs interceptors around a call: they see it, fail it, send it twice, keep the answer back', async (t) => {
    const names: string[] = [];
    const controller = implement(Controller, {
      createVolume: ({ name }) => {
        names.push(name);
        return { volume: { volumeId: `id-${name}`, capacityBytes: 1n } };
      },
    });
    const seen: unknown[] = [];
    const interceptor: ProxyInterceptor = async (incoming, next) => {
      const { name = '' } = (incoming.request ?? {}) as Partial<CreateVolumeRequest>;
      if (name === 'fail') throw new CsiError({ code: 'RESOURCE_EXHAUSTED', message: 'on purpose' });
      if (name === 'bug') throw new Error('not told to the caller');
      const answer = await next();
      if (name === 'twice') return await next();
      if (name === 'lose') await new Promise((resolve) => incoming.signal.addEventListener('abort', resolve));
      seen.push([incoming.method?.name, name, incoming.caller.agent, answer.code, answer.messages.length]);
      return answer;
    };
    const { connection, start } = await csiWorld(t, [controller], [holding, interceptor]);
    await start();
    const client = csiClient(Controller, connection, call);
    assert.equal((await client.createVolume({ name: 'plain' })).volume?.volumeId, 'id-plain');
    await assert.rejects(client.createVolume({ name: 'fail' }), {
      code: 'RESOURCE_EXHAUSTED',
      description: 'on purpose',
    });
    await assert.rejects(client.createVolume({ name: 'bug' }), (error: CsiError) => {
      assert.equal(error.code, 'INTERNAL');
      assert.doesNotMatch(error.description, /not told/);
      return true;
    });
    assert.equal((await client.createVolume({ name: 'twice' })).volume?.volumeId, 'id-twice');
    await assert.rejects(client.createVolume({ name: 'lose' }, { timeoutMs: 500 }), {
      code: 'DEADLINE_EXCEEDED',
    });
    await assert.rejects(client.deleteVolume({ volumeId: 'v' }), { code: 'UNIMPLEMENTED' });
    assert.deepEqual(names, ['plain', 'twice', 'twice', 'lose']);
    assert.deepEqual(seen[0], ['CreateVolume', 'plain', 'berth', 0, 1]);
    assert.deepEqual(seen.at(-1), ['DeleteVolume', '', 'berth', 12, 0]);
  });

  it('passes on from a driver that dies during a call', async (t) => {
    const arrived = Promise.withResolvers<void>();
    const identity = implement(Identity, {
      probe: () => {
        arrived.resolve();
        return new Promise(() => {});
      },
    });
    const { connection, start } = await csiWorld(t, [identity]);
    const server = await start();
    const answer = assert.rejects(probe(connection, call), { code: 'UNAVAILABLE' });
    await arrived.promise;
    await server.stop(0);
    await answer;
  });

  it('refuses to listen on the socket of the driver itself', async (t) => {
    const path = await temporarySocket(t);
    await assert.rejects(serveProxy({ listen: path, driver: `unix://${path}`, ...ports }), /own socket/);
  });
});
