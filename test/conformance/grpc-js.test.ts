// Both our ends against grpc-js, which is what others use: calls, errors, deadlines, streams, and messages so large and
// so many that both sides have to wait for each other.

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import * as grpc from '@grpc/grpc-js';
import { connectCsi } from '../../src/csi/client/connect-csi.ts';
import { csiClient } from '../../src/csi/client/csi-client.ts';
import { CsiError } from '../../src/csi/csi-error.ts';
import {
  Controller,
  CreateVolumeRequestSchema,
  CreateVolumeResponseSchema,
  GetMetadataDeltaRequestSchema,
  GetMetadataDeltaResponseSchema,
  SnapshotMetadata,
} from '../../src/csi/generated/csi/v1/csi_pb.ts';
import { serveCsi } from '../../src/csi/server/serve-csi.ts';
import { implement } from '../../src/csi/server/service-implementation.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { allGrpcCodes } from '../../src/wire/grpc/grpc-code.ts';
import { methodPath } from '../../src/wire/grpc/method-path.ts';
import { create } from '../../src/wire/protobuf/create.ts';
import { fromBinary } from '../../src/wire/protobuf/decode.ts';
import type { DescMessage, MessageInitShape, MessageShape } from '../../src/wire/protobuf/descriptor.ts';
import { toBinary } from '../../src/wire/protobuf/encode.ts';
import { temporarySocket } from '../../src/wire/testing/test-socket.ts';

const ports = { log: silentLog, clock: realClock };
const createPath = methodPath(Controller.method.createVolume);
const deltaPath = methodPath(SnapshotMetadata.method.getMetadataDelta);
const large = 8 * 1024 * 1024;

const writes =
  <D extends DescMessage>(schema: D) =>
  (message: MessageInitShape<D>) =>
    toBinary(schema, create(schema, message));
const reads =
  <D extends DescMessage>(schema: D) =>
  (bytes: Buffer): MessageShape<D> =>
    fromBinary(schema, bytes);

type CreateInit = MessageInitShape<typeof CreateVolumeRequestSchema>;
type CreateAnswer = MessageShape<typeof CreateVolumeResponseSchema>;

describe('our server and a client of grpc-js', () => {
  async function world(t: TestContext) {
    const address = await temporarySocket(t);
    let wasCancelled = Promise.withResolvers<void>();
    const deadlines: (number | undefined)[] = [];
    const controller = implement(Controller, {
      createVolume: async ({ name, parameters }, { signal, deadline }) => {
        deadlines.push(deadline);
        if (name === 'wait') {
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
          wasCancelled.resolve();
        }
        if (name.startsWith('code ')) {
          throw new CsiError({
            code: Number(name.slice(5)),
            message: `größer\n${name}`,
            details: Uint8Array.of(7),
          });
        }
        return { volume: { volumeId: name, volumeContext: parameters } };
      },
    });
    const metadata = implement(SnapshotMetadata, {
      async *getMetadataDelta({ maxResults }) {
        for (let at = 0; at < maxResults; at++) yield { volumeCapacityBytes: BigInt(at) };
        if (maxResults === 3) throw new CsiError({ code: 'ABORTED', message: 'enough' });
      },
    });
    const server = await serveCsi({ address, services: [controller, metadata], ...ports });
    const client = new grpc.Client(`unix:${address}`, grpc.credentials.createInsecure(), {
      'grpc.max_receive_message_length': -1,
    });
    t.after(async () => {
      client.close();
      await server.stop(0);
    });
    const call = (request: CreateInit, options: { deadline?: number } = {}) => {
      let made: grpc.ClientUnaryCall | undefined;
      const answer = new Promise<CreateAnswer>((resolve, reject) => {
        made = client.makeUnaryRequest(
          createPath,
          writes(CreateVolumeRequestSchema),
          reads(CreateVolumeResponseSchema),
          request,
          options,
          (error, response) => (error ? reject(error) : resolve(response as CreateAnswer)),
        );
      });
      return Object.assign(answer, { cancel: () => made?.cancel() });
    };
    return {
      client,
      call,
      deadlines,
      cancelled: () => wasCancelled.promise,
      renew: () => {
        wasCancelled = Promise.withResolvers<void>();
      },
    };
  }

  it('talk', async (t) => {
    const { call, deadlines } = await world(t);
    const { volume } = await call({ name: 'v', parameters: { a: 'ä' } }, { deadline: Date.now() + 5000 });
    assert.deepEqual([volume?.volumeId, volume?.volumeContext], ['v', { a: 'ä' }]);
    assert.ok(Math.abs((deadlines[0] ?? 0) - Date.now()) < 6000);
    await call({ name: 'for ever' });
    assert.equal(deadlines[1], undefined);
  });

  it('agree on errors', async (t) => {
    const { call } = await world(t);
    for (const number of allGrpcCodes.keys()) {
      if (number === 0) continue;
      const error = await call({ name: `code ${number}` }).then(
        () => assert.fail('it succeeded'),
        (thrown: grpc.ServiceError) => thrown,
      );
      assert.deepEqual([error.code, error.details], [number, `größer\ncode ${number}`]);
      assert.deepEqual([...(error.metadata.get('grpc-status-details-bin')[0] as Buffer)], [7]);
    }
  });

  it('agree on what is not there', async (t) => {
    const { client } = await world(t);
    const raw = (bytes: Buffer): Buffer => bytes;
    for (const path of ['/csi.v1.Controller/Nothing', '/nobody.Knows/Me']) {
      const error = await new Promise<grpc.ServiceError | null>((resolve) =>
        client.makeUnaryRequest(path, raw, raw, Buffer.alloc(0), resolve),
      );
      assert.equal(error?.code, grpc.status.UNIMPLEMENTED);
    }
  });

  it('give calls up, and at their deadline', async (t) => {
    const { call, cancelled, renew } = await world(t);
    const given = call({ name: 'wait' });
    await call({ name: 'first' });
    given.cancel();
    await assert.rejects(given, { code: grpc.status.CANCELLED });
    await cancelled();
    renew();
    await assert.rejects(call({ name: 'wait' }, { deadline: Date.now() + 50 }), {
      code: grpc.status.DEADLINE_EXCEEDED,
    });
    await cancelled();
  });

  it('carry messages that are large both ways, many at once', async (t) => {
    const { call } = await world(t);
    const value = 'x'.repeat(large);
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, at) => call({ name: `${at}`, parameters: { value } })),
    );
    for (const { volume } of answers) assert.equal(volume?.volumeContext.value?.length, large);
  });

  it('stream, to the end or to an error', async (t) => {
    const { client } = await world(t);
    for (const maxResults of [1000, 3]) {
      const stream = client.makeServerStreamRequest(
        deltaPath,
        writes(GetMetadataDeltaRequestSchema),
        reads(GetMetadataDeltaResponseSchema),
        { maxResults },
      );
      const seen: bigint[] = [];
      const end = (async () => {
        for await (const part of stream) seen.push(part.volumeCapacityBytes);
      })();
      if (maxResults === 3) await assert.rejects(end, { code: grpc.status.ABORTED, details: 'enough' });
      else await end;
      assert.equal(seen.length, maxResults);
    }
  });

  it('hundreds of calls at once', async (t) => {
    const { call } = await world(t);
    const answers = await Promise.all(Array.from({ length: 500 }, (_, at) => call({ name: `${at}` })));
    assert.deepEqual(
      answers.map(({ volume }) => volume?.volumeId),
      Array.from({ length: 500 }, (_, at) => `${at}`),
    );
  });
});

describe('our client and a server of grpc-js', () => {
  async function world(t: TestContext) {
    const path = await temporarySocket(t);
    const server = new grpc.Server({ 'grpc.max_receive_message_length': -1 });
    const arrived = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const wasCancelled = Promise.withResolvers<void>();
    server.register(
      createPath,
      (
        call: grpc.ServerUnaryCall<MessageShape<typeof CreateVolumeRequestSchema>, object>,
        answer: grpc.sendUnaryData<object>,
      ) => {
        const { name, parameters } = call.request;
        call.on('cancelled', () => wasCancelled.resolve());
        if (name === 'wait') return;
        if (name === 'held') arrived.resolve();
        void (name === 'held' ? released.promise : Promise.resolve()).then(() => {
          if (name.startsWith('code ')) {
            const metadata = new grpc.Metadata();
            metadata.set('grpc-status-details-bin', Buffer.from([7]));
            answer({ code: Number(name.slice(5)), details: `größer\n${name}`, metadata });
          } else answer(null, { volume: { volumeId: name, volumeContext: parameters } });
        });
      },
      writes(CreateVolumeResponseSchema) as (message: object) => Buffer,
      reads(CreateVolumeRequestSchema),
      'unary',
    );
    server.register(
      deltaPath,
      (call: grpc.ServerWritableStream<MessageShape<typeof GetMetadataDeltaRequestSchema>, object>) => {
        const { maxResults } = call.request;
        for (let at = 0; at < maxResults; at++) call.write({ volumeCapacityBytes: BigInt(at) });
        if (maxResults === 3) call.emit('error', { code: grpc.status.ABORTED, details: 'enough' });
        else call.end();
      },
      writes(GetMetadataDeltaResponseSchema) as (message: object) => Buffer,
      reads(GetMetadataDeltaRequestSchema),
      'serverStream',
    );
    await new Promise<void>((resolve, reject) =>
      server.bindAsync(`unix:${path}`, grpc.ServerCredentials.createInsecure(), (error) =>
        error ? reject(error) : resolve(),
      ),
    );
    const connection = connectCsi({ address: path, ...ports });
    t.after(() => {
      connection.close();
      server.forceShutdown();
    });
    return {
      server,
      connection,
      client: csiClient(Controller, connection, { timeoutMs: 20_000 }),
      metadata: csiClient(SnapshotMetadata, connection, { timeoutMs: 20_000 }),
      arrived: arrived.promise,
      release: released.resolve,
      cancelled: wasCancelled.promise,
    };
  }

  it('talk, and agree on errors', async (t) => {
    const { client } = await world(t);
    const { volume } = await client.createVolume({ name: 'v', parameters: { a: 'ä' } });
    assert.deepEqual([volume?.volumeId, volume?.volumeContext], ['v', { a: 'ä' }]);
    for (const [number, code] of allGrpcCodes.entries()) {
      if (number === 0) continue;
      const error = await client.createVolume({ name: `code ${number}` }).then(
        () => assert.fail('it succeeded'),
        (thrown: CsiError) => thrown,
      );
      assert.deepEqual([error.code, error.description], [code, `größer\ncode ${number}`]);
      assert.deepEqual([...(error.details ?? [])], [7]);
      assert.equal(error.uncertain, false);
    }
  });

  it('give calls up, and at their deadline', async (t) => {
    const { client, cancelled } = await world(t);
    await assert.rejects(client.createVolume({ name: 'wait' }, { timeoutMs: 50 }), {
      code: 'DEADLINE_EXCEEDED',
    });
    await cancelled;
    const controller = new AbortController();
    const given = client.createVolume({ name: 'wait' }, { signal: controller.signal });
    await client.createVolume({ name: 'first' });
    controller.abort();
    await assert.rejects(given, { code: 'CANCELLED' });
  });

  it('carry messages that are large both ways, many at once', async (t) => {
    const { client } = await world(t);
    const value = 'x'.repeat(large);
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, at) => client.createVolume({ name: `${at}`, parameters: { value } })),
    );
    for (const { volume } of answers) assert.equal(volume?.volumeContext.value?.length, large);
  });

  it('stream, to the end or to an error', async (t) => {
    const { metadata } = await world(t);
    let seen = 0;
    for await (const { volumeCapacityBytes } of metadata.getMetadataDelta({ maxResults: 20_000 })) {
      assert.equal(volumeCapacityBytes, BigInt(seen++));
    }
    assert.equal(seen, 20_000);
    await assert.rejects(
      async () => {
        for await (const _ of metadata.getMetadataDelta({ maxResults: 3 }));
      },
      { code: 'ABORTED', description: 'enough' },
    );
  });

  it('let calls under way end when the server stops, and know that it has', async (t) => {
    const { client, server, arrived, release } = await world(t);
    const call = client.createVolume({ name: 'held' });
    await arrived;
    const stopped = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
    release();
    assert.equal((await call).volume?.volumeId, 'held');
    await stopped;
    await assert.rejects(client.createVolume({ name: 'late' }), { code: 'UNAVAILABLE' });
  });
});
