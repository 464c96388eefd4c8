// gRPC over TLS: our client and grpc-js against our server, with certificates that change while it runs.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { connect } from 'node:tls';
import * as grpc from '@grpc/grpc-js';
import { createPki, type Pki } from '../../apiserver/auth/pki.ts';
import { memoryLog, silentLog } from '../../runtime/log/log.ts';
import type { Clock } from '../../runtime/ports.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { methodPath } from '../../wire/grpc/method-path.ts';
import { create } from '../../wire/protobuf/create.ts';
import { fromBinary } from '../../wire/protobuf/decode.ts';
import type { Message } from '../../wire/protobuf/descriptor.ts';
import { toBinary } from '../../wire/protobuf/encode.ts';
import { temporaryDirectory } from '../../wire/testing/test-socket.ts';
import { connectOverTls } from '../client/connect-over-tls.ts';
import { csiClient } from '../client/csi-client.ts';
import type { CsiError } from '../csi-error.ts';
import {
  GetMetadataDeltaRequestSchema,
  GetMetadataDeltaResponseSchema,
  SnapshotMetadata,
} from '../generated/snapshotmetadata/schema_pb.ts';
import { type ServeOverTlsOptions, serveOverTls } from './serve-over-tls.ts';
import { implement } from './service-implementation.ts';

const PARTS = 2_000;
const service = implement(SnapshotMetadata, {
  async *getMetadataDelta({ namespace }) {
    for (let part = 0; part < PARTS; part++) {
      yield { volumeCapacityBytes: BigInt(part), blockMetadata: new Array(50).fill({ sizeBytes: 1n }) };
      if (namespace === 'broken' && part === 9) throw new Error('unexpected');
    }
  },
});

async function tlsWorld(t: TestContext, given: Partial<ServeOverTlsOptions> = {}) {
  const directory = await temporaryDirectory(t);
  const files = { certificate: join(directory, 'tls.crt'), key: join(directory, 'tls.key') };
  const place = async (pki: Pki): Promise<void> => {
    const { certificatePem, keyPem } = await pki.serving();
    await writeFile(files.certificate, certificatePem);
    await writeFile(files.key, keyPem);
  };
  const pki = await createPki({ clock: realClock });
  await place(pki);
  let looks = Promise.withResolvers<void>();
  const clock = { ...(given.clock ?? realClock), sleep: () => looks.promise };
  const server = await serveOverTls({
    host: '0.0.0.0',
    port: 0,
    files,
    services: [service],
    maxMessageBytes: 1 << 20,
    log: silentLog,
    ...given,
    clock,
  });
  t.after(() => server.stop(0));
  const client = (ca: string, host = '127.0.0.1') => {
    const connection = connectOverTls({ host, port: server.port, ca }, { log: silentLog, clock: realClock });
    t.after(() => connection.close());
    return csiClient(SnapshotMetadata, connection, { timeoutMs: 20_000 });
  };
  /** The files are read again. */
  const look = (): void => {
    const { resolve } = looks;
    looks = Promise.withResolvers();
    resolve();
  };
  return { files, pki, place, server, client, look };
}

async function count(stream: AsyncIterable<unknown>): Promise<number> {
  let parts = 0;
  for await (const _ of stream) parts++;
  return parts;
}

const failure = (stream: AsyncIterable<unknown>): Promise<CsiError> =>
  count(stream).then(
    () => assert.fail('the call succeeded'),
    (error: CsiError) => error,
  );

describe('gRPC over TLS', () => {
  it('[CBT-1] streams more than the flow-control windows hold, and an error in the middle', async (t) => {
    const world = await tlsWorld(t);
    const metadata = world.client(world.pki.caPem);
    assert.equal(await count(metadata.getMetadataDelta({ namespace: 'default' })), PARTS);
    const broken = await failure(metadata.getMetadataDelta({ namespace: 'broken' }));
    assert.equal(broken.code, 'INTERNAL');
  });

  it('[CBT-1] answers a client of grpc-js', async (t) => {
    const world = await tlsWorld(t);
    const credentials = grpc.credentials.createSsl(Buffer.from(world.pki.caPem));
    const client = new grpc.Client(`localhost:${world.server.port}`, credentials);
    t.after(() => client.close());
    const stream = client.makeServerStreamRequest(
      methodPath(SnapshotMetadata.method.getMetadataDelta),
      (message: Message) => toBinary(GetMetadataDeltaRequestSchema, message as never),
      (bytes: Buffer) => fromBinary(GetMetadataDeltaResponseSchema, bytes),
      create(GetMetadataDeltaRequestSchema, { namespace: 'default' }),
    );
    assert.equal(await count(stream), PARTS);
  });

  it('[CBT-1] is refused by a client that trusts another authority, or knows it by another name', async (t) => {
    const world = await tlsWorld(t);
    const stranger = await createPki({ clock: realClock });
    const untrusted = await failure(world.client(stranger.caPem).getMetadataDelta({}));
    assert.equal(untrusted.code, 'UNAVAILABLE');
    assert.match(untrusted.message, /certificate|signature/);
    const misnamed = await failure(world.client(world.pki.caPem, '127.0.0.2').getMetadataDelta({}));
    assert.equal(misnamed.code, 'UNAVAILABLE');
    assert.match(misnamed.message, /127\.0\.0\.2/);
    assert.match(misnamed.message, /does not match certificate/);
  });

  it('[CBT-1] hangs up on a client that does not speak HTTP/2', async (t) => {
    const world = await tlsWorld(t);
    const socket = connect({ host: '127.0.0.1', port: world.server.port, ca: world.pki.caPem });
    await new Promise((resolve) => socket.once('close', resolve).resume());
    assert.equal(socket.bytesRead, 0);
  });

  it('[CBT-1] takes a renewed certificate without a restart, and keeps the old one while files do not fit', async (t) => {
    const log = memoryLog();
    const world = await tlsWorld(t, { log });
    const renewed = await createPki({ clock: realClock });
    const { certificatePem, keyPem } = await renewed.serving();
    const said = async (text: string): Promise<void> => {
      while (!log.lines.some(({ message }) => message.includes(text))) await realClock.sleep(5);
    };
    await writeFile(world.files.certificate, certificatePem);
    world.look();
    await said('Keeping the previous TLS certificate');
    assert.match(JSON.stringify(log.lines), /do not belong together/);
    assert.equal(await count(world.client(world.pki.caPem).getMetadataDelta({})), PARTS);
    await writeFile(world.files.key, keyPem);
    world.look();
    await said('Using the renewed TLS certificate');
    assert.equal(await count(world.client(renewed.caPem).getMetadataDelta({})), PARTS);
    assert.doesNotMatch(JSON.stringify(log.lines), /BEGIN/);
  });

  it('[CBT-1] gives a stream up that takes too long, also when nobody reads it', async (t) => {
    const left = Promise.withResolvers<void>();
    const endless = implement(SnapshotMetadata, {
      async *getMetadataDelta() {
        try {
          for (;;) yield { blockMetadata: new Array(50).fill({ sizeBytes: 1n }) };
        } finally {
          left.resolve();
        }
      },
    });
    const maxCallMs = 1_000;
    const limit = Promise.withResolvers<void>();
    const clock: Clock = {
      ...realClock,
      setTimeout(callback, delayMs) {
        if (delayMs !== maxCallMs) return realClock.setTimeout(callback, delayMs);
        void limit.promise.then(callback);
        return { cancel() {} };
      },
    };
    const world = await tlsWorld(t, { services: [endless], maxCallMs, clock });
    const stream = world.client(world.pki.caPem).getMetadataDelta({})[Symbol.asyncIterator]();
    await stream.next();
    limit.resolve();
    await left.promise;
    const rest = failure({ [Symbol.asyncIterator]: () => stream });
    assert.equal((await rest).code, 'DEADLINE_EXCEEDED');
  });

  it('[CBT-1] does not start without a certificate that fits its key', async (t) => {
    const world = await tlsWorld(t);
    await writeFile(world.files.key, 'no key');
    const options = { files: world.files, port: 0, services: [service], maxMessageBytes: 1, log: silentLog };
    await assert.rejects(
      serveOverTls({ ...options, clock: realClock }),
      /cannot use the TLS certificate .*tls\.crt/,
    );
  });
});
