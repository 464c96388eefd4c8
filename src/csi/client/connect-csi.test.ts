import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { Worker } from 'node:worker_threads';
import { Client, credentials, type ServiceError } from '@grpc/grpc-js';
import { memoryLog, silentLog } from '../../runtime/log/log.ts';
import { createMetrics } from '../../runtime/metrics/metrics.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { allGrpcCodes } from '../../wire/grpc/grpc-code.ts';
import { methodPath } from '../../wire/grpc/method-path.ts';
import {
  answerWith,
  rawServer,
  temporaryDirectory,
  temporarySocket,
} from '../../wire/testing/test-socket.ts';
import { CsiError } from '../csi-error.ts';
import { Controller, Identity, SnapshotMetadata } from '../generated/csi/v1/csi_pb.ts';
import { CSIRegistration } from '../generated/csiregistration/csi_registration_pb.ts';
import { Registration } from '../generated/pluginregistration/registration_pb.ts';
import { outcomeOf } from '../outcome.ts';
import { type CsiServer, type ServeCsiOptions, serveCsi } from '../server/serve-csi.ts';
import { implement } from '../server/service-implementation.ts';
import { type ConnectCsiOptions, type CsiConnection, connectCsi } from './connect-csi.ts';
import { csiClient } from './csi-client.ts';
import { operationMetrics } from './operation-metrics.ts';

const defaults = { timeoutMs: 20_000 };

async function server(
  context: TestContext,
  options: Partial<ServeCsiOptions> & Pick<ServeCsiOptions, 'address' | 'services'>,
): Promise<CsiServer> {
  const started = await serveCsi({ log: silentLog, clock: realClock, ...options });
  context.after(() => started.stop(0));
  return started;
}

function connection(
  context: TestContext,
  options: Partial<ConnectCsiOptions> & Pick<ConnectCsiOptions, 'address'>,
): CsiConnection {
  const opened = connectCsi({ log: silentLog, clock: realClock, ...options });
  context.after(() => opened.close());
  return opened;
}

async function failure(promise: Promise<unknown>): Promise<CsiError> {
  const error = await promise.then(
    () => assert.fail('the call succeeded'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof CsiError, String(error));
  return error;
}

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

describe('a call over a socket', () => {
  it('uses the paths of the specification', () => {
    assert.equal(methodPath(Controller.method.createVolume), '/csi.v1.Controller/CreateVolume');
    assert.equal(methodPath(Registration.method.getInfo), '/pluginregistration.Registration/GetInfo');
    assert.equal(
      methodPath(CSIRegistration.method.getCSIDriverInfo),
      '/csiregistration.CSIRegistration/GetCSIDriverInfo',
    );
  });

  for (const prefix of ['', 'unix:', 'unix://']) {
    it(`carries a request and its answer, address written as ${prefix}/path`, async (context) => {
      const path = await temporarySocket(context);
      const controller = implement(Controller, {
        createVolume: ({ name, capacityRange, secrets }) => ({
          volume: {
            volumeId: `id-${name}`,
            capacityBytes: capacityRange?.requiredBytes ?? 0n,
            volumeContext: { secrets: Object.keys(secrets).join() },
          },
        }),
      });
      await server(context, { address: prefix + path, services: [controller] });
      const client = csiClient(Controller, connection(context, { address: prefix + path }), defaults);
      const { volume } = await client.createVolume({
        name: 'a',
        capacityRange: { requiredBytes: 5_000_000_000n },
        secrets: { k: 'v' },
      });
      assert.equal(volume?.volumeId, 'id-a');
      assert.equal(volume.capacityBytes, 5_000_000_000n);
      assert.deepEqual(volume.volumeContext, { secrets: 'k' });
    });
  }

  it('carries every code, the text, the details, and names the call and the socket', async (context) => {
    const path = await temporarySocket(context);
    const details = Uint8Array.of(1, 2, 3);
    const controller = implement(Controller, {
      deleteVolume: ({ volumeId }) => {
        throw new CsiError({ code: Number(volumeId), message: `no: ${volumeId} – ü`, details });
      },
    });
    await server(context, { address: path, services: [controller] });
    const client = csiClient(Controller, connection(context, { address: path }), defaults);
    for (const [number, code] of allGrpcCodes.entries()) {
      if (number === 0) continue;
      const error = await failure(client.deleteVolume({ volumeId: String(number) }));
      assert.equal(error.code, code);
      assert.equal(error.rawCode, number);
      assert.equal(error.description, `no: ${number} – ü`);
      assert.ok(
        error.message.startsWith(`DeleteVolume at ${path} failed: ${code}: no: ${number} – ü`),
        error.message,
      );
      assert.deepEqual(Uint8Array.from(error.details ?? []), details);
    }
  });

  it('keeps the number of a code that gRPC does not define', async (context) => {
    const path = await temporarySocket(context);
    await rawServer(context, path, (stream) => answerWith(stream, { status: 42, text: 'odd' }));
    const client = csiClient(Controller, connection(context, { address: path }), defaults);
    const error = await failure(client.deleteVolume({ volumeId: 'v' }));
    assert.equal(error.code, 'UNKNOWN');
    assert.equal(error.rawCode, 42);
    assert.match(error.message, /code 42, not defined by gRPC.*odd/);
  });

  it('does not attribute an unreadable response to the driver', async (context) => {
    const path = await temporarySocket(context);
    await rawServer(context, path, (stream) =>
      answerWith(stream, { status: 0, bytes: Uint8Array.of(0xff, 0xff) }),
    );
    const client = csiClient(Controller, connection(context, { address: path }), defaults);
    const error = await failure(client.createVolume({ name: 'v' }));
    assert.equal(error.code, 'INTERNAL');
    assert.equal(outcomeOf('CreateVolume', error).outcome, 'maybe-in-progress');
  });

  it('carries messages far beyond 4 MiB', async (context) => {
    const path = await temporarySocket(context);
    const entries = Array.from({ length: 30_000 }, (_, i) => ({
      volume: { volumeId: `v${i}`, volumeContext: { k: 'x'.repeat(300) } },
    }));
    await server(context, {
      address: path,
      services: [implement(Controller, { listVolumes: () => ({ entries }) })],
    });
    const client = csiClient(Controller, connection(context, { address: path }), defaults);
    const answer = await client.listVolumes({});
    assert.equal(answer.entries.length, 30_000);
    const small = csiClient(
      Controller,
      connection(context, { address: path, maxMessageBytes: 1000 }),
      defaults,
    );
    assert.equal((await failure(small.listVolumes({}))).code, 'RESOURCE_EXHAUSTED');
  });

  it('reaches a socket whose path is too long for the system', async (context) => {
    const path = join(await temporaryDirectory(context), 'd'.repeat(150), 'csi.sock');
    const running = await server(context, {
      address: path,
      services: [implement(Identity, { getPluginInfo: () => ({ name: 'long' }) })],
    });
    const client = csiClient(Identity, connection(context, { address: path }), defaults);
    assert.equal((await client.getPluginInfo({})).name, 'long');
    assert.ok((await stat(path)).isSocket());
    await running.stop(1000);
    assert.ok(!existsSync(path), 'the socket is removed');
  });
});

describe('a call that does not succeed', () => {
  it('names a socket that is not there', async (context) => {
    const path = await temporarySocket(context);
    const client = csiClient(Identity, connection(context, { address: path }), defaults);
    const error = await failure(client.probe({}));
    assert.equal(error.code, 'UNAVAILABLE');
    assert.ok(error.message.includes(path));
    assert.match(error.message, /check that the driver runs/);
  });

  it('ends at its deadline when a socket accepts and never answers, and names it', async (context) => {
    const path = await temporarySocket(context);
    const sockets: Socket[] = [];
    const mute = createServer((socket) => sockets.push(socket));
    await new Promise<void>((resolve) => mute.listen(path, resolve));
    context.after(() => {
      for (const socket of sockets) socket.destroy();
      mute.close();
    });
    const client = csiClient(Identity, connection(context, { address: path }), { timeoutMs: 50 });
    const error = await failure(client.probe({}));
    assert.equal(error.code, 'DEADLINE_EXCEEDED');
    assert.match(error.message, new RegExp(`${path}.*no answer within 50 ms`));
  });

  it('tells the handler when its deadline passed', async (context) => {
    const path = await temporarySocket(context);
    const aborted = Promise.withResolvers<void>();
    const deadline = Promise.withResolvers<number | undefined>();
    const identity = implement(Identity, {
      probe: async (_, call) => {
        deadline.resolve(call.deadline);
        call.signal.addEventListener('abort', () => aborted.resolve());
        await aborted.promise;
        return {};
      },
    });
    await server(context, { address: path, services: [identity] });
    const link = connection(context, { address: path });
    await link.waitForReady();
    const before = realClock.now();
    const error = await failure(csiClient(Identity, link, { timeoutMs: 200 }).probe({}));
    assert.equal(error.code, 'DEADLINE_EXCEEDED');
    await aborted.promise;
    assert.ok(((await deadline.promise) ?? 0) >= before);
  });

  it('is cancelled by its signal, in flight and before it is sent', async (context) => {
    const path = await temporarySocket(context);
    const arrived = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<void>();
    let calls = 0;
    const identity = implement(Identity, {
      probe: (_, { signal }) => {
        calls++;
        signal.addEventListener('abort', () => aborted.resolve());
        arrived.resolve();
        return aborted.promise.then(() => ({}));
      },
    });
    await server(context, { address: path, services: [identity] });
    const client = csiClient(Identity, connection(context, { address: path }), defaults);
    const controller = new AbortController();
    const call = failure(client.probe({}, { signal: controller.signal }));
    await arrived.promise;
    const reason = new Error('stop');
    controller.abort(reason);
    const error = await call;
    assert.equal(error.code, 'CANCELLED');
    assert.equal(error.cause, reason);
    await aborted.promise;
    assert.equal((await failure(client.probe({}, { signal: controller.signal }))).code, 'CANCELLED');
    assert.equal(calls, 1);
  });

  it('needs a deadline', async (context) => {
    const link = connection(context, { address: await temporarySocket(context) });
    for (const timeoutMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      const error = await failure(csiClient(Identity, link, { timeoutMs }).probe({}));
      assert.match(error.message, /needs a deadline/);
    }
  });

  it('fails at once when the connection was closed', async (context) => {
    const path = await temporarySocket(context);
    await server(context, { address: path, services: [implement(Identity, { probe: () => ({}) })] });
    const link = connection(context, { address: path });
    await csiClient(Identity, link, defaults).probe({});
    assert.equal(link.state, 'ready');
    link.close();
    link.close();
    assert.equal(link.state, 'closed');
    assert.equal((await failure(csiClient(Identity, link, defaults).probe({}))).code, 'CANCELLED');
    assert.equal((await failure(link.waitForReady())).code, 'CANCELLED');
  });
});

describe('a driver that restarts', () => {
  it('is found again over the same connection', async (context) => {
    const path = await temporarySocket(context);
    const named = (name: string) => [implement(Identity, { getPluginInfo: () => ({ name }) })];
    const first = await server(context, { address: path, services: named('one') });
    const link = connection(context, { address: path });
    const states: string[] = [];
    link.onStateChange((state) => states.push(state));
    const client = csiClient(Identity, link, defaults);
    assert.equal((await client.getPluginInfo({})).name, 'one');

    const lost = new Promise<void>((resolve) => {
      const stop = link.onStateChange((state) => {
        if (state === 'ready') return;
        stop();
        resolve();
      });
    });
    await first.stop(1000);
    await lost;
    assert.equal((await failure(client.getPluginInfo({}))).code, 'UNAVAILABLE');

    await server(context, { address: path, services: named('two') });
    await link.waitForReady();
    assert.equal((await client.getPluginInfo({})).name, 'two');
    assert.ok(states.includes('ready') && states.includes('failing'), states.join());
  });

  it('can be waited for, until the signal aborts', async (context) => {
    const path = await temporarySocket(context);
    const link = connection(context, { address: path });
    const controller = new AbortController();
    const waiting = link.waitForReady(controller.signal);
    const reason = new Error('enough');
    controller.abort(reason);
    await assert.rejects(waiting, (error) => error === reason);
    const ready = link.waitForReady();
    await server(context, { address: path, services: [] });
    await ready;
    assert.equal(link.state, 'ready');
  });
});

describe('a stream', () => {
  const blocks = (count: number) =>
    implement(SnapshotMetadata, {
      async *getMetadataAllocated({ startingOffset }) {
        for (let i = 0; i < count; i++) yield { volumeCapacityBytes: startingOffset + BigInt(i) };
        if (count === 0) throw new CsiError({ code: 'NOT_FOUND', message: 'no such snapshot' });
      },
    });

  it('arrives whole and in order', async (context) => {
    const path = await temporarySocket(context);
    await server(context, { address: path, services: [blocks(1000)] });
    const client = csiClient(SnapshotMetadata, connection(context, { address: path }), defaults);
    const seen: bigint[] = [];
    for await (const part of client.getMetadataAllocated({ startingOffset: 7n }))
      seen.push(part.volumeCapacityBytes);
    assert.deepEqual(
      seen,
      Array.from({ length: 1000 }, (_, i) => BigInt(i + 7)),
    );
  });

  it('ends with its error', async (context) => {
    const path = await temporarySocket(context);
    await server(context, { address: path, services: [blocks(0)] });
    const client = csiClient(SnapshotMetadata, connection(context, { address: path }), defaults);
    const error = await failure(drain(client.getMetadataAllocated({})));
    assert.equal(error.code, 'NOT_FOUND');
    assert.equal(error.description, 'no such snapshot');
  });

  it('stops at its source when the reader leaves early', async (context) => {
    const path = await temporarySocket(context);
    const stopped = Promise.withResolvers<void>();
    const endless = implement(SnapshotMetadata, {
      async *getMetadataDelta() {
        try {
          for (;;) yield { volumeCapacityBytes: 1n };
        } finally {
          stopped.resolve();
        }
      },
    });
    await server(context, { address: path, services: [endless] });
    const client = csiClient(SnapshotMetadata, connection(context, { address: path }), defaults);
    for await (const part of client.getMetadataDelta({})) {
      assert.equal(part.volumeCapacityBytes, 1n);
      break;
    }
    await stopped.promise;
  });
});

describe('the log and the metrics of calls', () => {
  it('show calls on both sides, and no secret anywhere', async (context) => {
    const path = await temporarySocket(context);
    const serverLog = memoryLog({ verbosity: 5 });
    const clientLog = memoryLog({ verbosity: 5 });
    const controller = implement(Controller, {
      createVolume: ({ name, secrets }) => {
        if (name === 'bad')
          throw new CsiError({ code: 'INVALID_ARGUMENT', message: `login ${secrets.password} refused` });
        return { volume: { volumeId: 'v1' } };
      },
    });
    await server(context, { address: path, services: [controller], log: serverLog });
    const link = connection(context, { address: path, log: clientLog });
    const client = csiClient(Controller, link, defaults);
    await client.createVolume({ name: 'good', secrets: { password: 'hunter2' } });
    const error = await failure(client.createVolume({ name: 'bad', secrets: { password: 'hunter2' } }));
    assert.equal(error.description, 'login [redacted] refused');
    const clientText = clientLog.text();
    const serverText = serverLog.text();
    for (const text of [clientText, serverText]) {
      assert.match(text, /\/csi\.v1\.Controller\/CreateVolume/);
      assert.match(text, /\*\*\*stripped\*\*\*/);
      assert.match(text, /volume_id.*v1/);
      assert.match(text, /INVALID_ARGUMENT/);
      assert.doesNotMatch(text, /hunter2/);
    }
  });

  it('count each call under driver, method and code', async (context) => {
    const path = await temporarySocket(context);
    const metrics = createMetrics();
    const identity = implement(Identity, { probe: () => ({}) });
    await server(context, {
      address: path,
      services: [identity],
      metrics: operationMetrics({ metrics, prefix: 'csi_plugin', driverName: 'd.example' }),
    });
    const sidecar = operationMetrics({ metrics, prefix: 'csi_sidecar' });
    const client = csiClient(Identity, connection(context, { address: path, metrics: sidecar }), defaults);
    await client.probe({});
    sidecar.setDriverName('d.example');
    await client.probe({});
    await failure(client.getPluginInfo({}));
    const text = await metrics.text();
    const counts = [...text.matchAll(/^(\w+_count)\{(.*)\} (\d+)$/gm)].map(
      ([, name, labels, count]) => `${name} ${labels} ${count}`,
    );
    const labels = (driver: string, method: string, code: string) =>
      `driver_name="${driver}",method_name="/csi.v1.Identity/${method}",grpc_status_code="${code}"`;
    assert.deepEqual(counts.sort(), [
      `csi_plugin_operations_seconds_count ${labels('d.example', 'GetPluginInfo', 'Unimplemented')} 1`,
      `csi_plugin_operations_seconds_count ${labels('d.example', 'Probe', 'OK')} 2`,
      `csi_sidecar_operations_seconds_count ${labels('d.example', 'GetPluginInfo', 'Unimplemented')} 1`,
      `csi_sidecar_operations_seconds_count ${labels('d.example', 'Probe', 'OK')} 1`,
      `csi_sidecar_operations_seconds_count ${labels('unknown-driver', 'Probe', 'OK')} 1`,
    ]);
    assert.match(text, /csi_sidecar_operations_seconds_bucket\{le="600",/);
  });
});

describe('serveCsi', () => {
  const services = [implement(Identity, { getPluginInfo: () => ({ name: 'x' }) })];

  it('starts over a socket that a dead process left, with the permissions asked for', async (context) => {
    const path = await temporarySocket(context);
    // Only a process that dies leaves a socket behind.
    const listen = `require('net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`;
    spawnSync(process.execPath, ['-e', listen, path]);
    assert.ok((await stat(path)).isSocket());
    await server(context, { address: path, services, socketMode: 0o600 });
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    const client = csiClient(Identity, connection(context, { address: path }), defaults);
    assert.equal((await client.getPluginInfo({})).name, 'x');
  });

  it('is never seen with other permissions than those asked for, nor before it listens', async (context) => {
    const directory = await temporaryDirectory(context);
    const path = join(directory, 's');
    const umask = process.umask(0);
    context.after(() => process.umask(umask));
    // The file is looked at from another thread as fast as it can, as whoever wants in would.
    const looking = new Worker(
      `const { workerData, parentPort } = require('node:worker_threads');
       const { lstatSync } = require('node:fs');
       parentPort.postMessage('looking');
       let seen;
       while (!(seen = lstatSync(workerData, { throwIfNoEntry: false })));
       const socket = require('node:net').connect(workerData);
       socket.on('connect', () => { parentPort.postMessage(seen.mode & 0o777); socket.destroy(); });
       socket.on('error', (error) => parentPort.postMessage(error.code));`,
      { eval: true, workerData: path },
    );
    context.after(() => looking.terminate());
    await once(looking, 'message');
    const found = once(looking, 'message');
    await server(context, { address: path, services, socketMode: 0o600 });
    assert.deepEqual(await found, [0o600]);
    assert.deepEqual(readdirSync(directory), ['s'], 'nothing else is left beside it');
  });

  it('does not remove another process’s socket at its path on exit', async (context) => {
    const path = await temporarySocket(context);
    const first = await server(context, { address: path, services });
    await rm(path);
    await server(context, { address: path, services });
    await first.stop(1000);
    const client = csiClient(Identity, connection(context, { address: path }), defaults);
    assert.equal((await client.getPluginInfo({})).name, 'x');
  });

  it('does not replace a socket that is in use', async (context) => {
    const path = await temporarySocket(context);
    await server(context, { address: path, services });
    await assert.rejects(server(context, { address: path, services }), /another process already does/);
    const client = csiClient(Identity, connection(context, { address: path }), defaults);
    assert.equal((await client.getPluginInfo({})).name, 'x');
  });

  it('leaves alone what is not a socket', async (context) => {
    const directory = await temporaryDirectory(context);
    await writeFile(join(directory, 'file'), 'precious');
    await mkdir(join(directory, 'folder'));
    for (const name of ['file', 'folder']) {
      await assert.rejects(server(context, { address: join(directory, name), services }), /not a socket/);
      assert.ok(existsSync(join(directory, name)));
    }
  });

  it('refuses the same service twice', async (context) => {
    const address = await temporarySocket(context);
    await assert.rejects(
      server(context, { address, services: [...services, ...services] }),
      /implemented twice/,
    );
  });

  it('lets calls under way end when it stops, and takes no new ones', async (context) => {
    const path = await temporarySocket(context);
    const arrived = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const running = await server(context, {
      address: path,
      services: [
        implement(Identity, {
          probe: async () => {
            arrived.resolve();
            await go.promise;
            return { ready: true };
          },
        }),
      ],
    });
    const client = csiClient(Identity, connection(context, { address: path }), defaults);
    const call = client.probe({});
    await arrived.promise;
    const stopped = running.stop(20_000);
    assert.equal(running.stop(0), stopped, 'stopping twice is stopping once');
    const late = csiClient(Identity, connection(context, { address: path }), defaults);
    assert.equal((await failure(late.probe({}))).code, 'UNAVAILABLE');
    go.resolve();
    assert.equal((await call).ready, true);
    await stopped;
    assert.ok(!existsSync(path));
  });

  it('cancels calls that do not end in time, and logs it', async (context) => {
    const path = await temporarySocket(context);
    const log = memoryLog();
    const arrived = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<void>();
    const running = await server(context, {
      address: path,
      log,
      services: [
        implement(Identity, {
          probe: (_, { signal }) => {
            signal.addEventListener('abort', () => aborted.resolve());
            arrived.resolve();
            return new Promise(() => {});
          },
        }),
      ],
    });
    const client = csiClient(Identity, connection(context, { address: path }), defaults);
    const call = failure(client.probe({}));
    await arrived.promise;
    await running.stop(10);
    await aborted.promise;
    const error = await call;
    assert.ok(['UNAVAILABLE', 'CANCELLED'].includes(error.code), error.message);
    assert.match(log.text(), /cut off/);
  });

  it('turns a bug in a handler into INTERNAL, told to the log and not to the caller', async (context) => {
    const path = await temporarySocket(context);
    const log = memoryLog();
    const controller = implement(Controller, {
      createVolume: () => {
        throw new TypeError('cannot read /etc/shadow of undefined');
      },
      deleteVolume: async () => {
        throw new CsiError({ code: 'OK', message: 'an error that claims success' });
      },
    });
    await server(context, { address: path, services: [controller], log });
    const client = csiClient(Controller, connection(context, { address: path }), defaults);
    const error = await failure(client.createVolume({ name: 'x' }));
    assert.equal(error.code, 'INTERNAL');
    assert.doesNotMatch(error.message, /shadow|\.ts\b|TypeError/);
    assert.match(log.text(), /shadow/);
    assert.equal((await failure(client.deleteVolume({}))).code, 'INTERNAL');
  });

  it('answers INTERNAL for an answer that is no message, told to the log and not to the caller', async (context) => {
    const path = await temporarySocket(context);
    const log = memoryLog();
    const identity = implement(Identity, { getPluginInfo: () => ({ name: 5 as unknown as string }) });
    await server(context, { address: path, services: [identity], log });
    const client = csiClient(Identity, connection(context, { address: path }), defaults);
    const error = await failure(client.getPluginInfo({}));
    assert.equal(error.code, 'INTERNAL');
    assert.doesNotMatch(error.message, /number/);
    assert.match(log.text(), /name of csi\.v1\.GetPluginInfoResponse cannot be number/);
  });

  it('answers INTERNAL for bytes that are not the request of the method', async (context) => {
    const path = await temporarySocket(context);
    await server(context, { address: path, services: [implement(Controller, {})] });
    const channel = new Client(`unix:${path}`, credentials.createInsecure());
    context.after(() => channel.close());
    const raw = (bytes: Buffer): Buffer => bytes;
    const { createVolume } = Controller.method;
    const error = await new Promise<ServiceError | null>((resolve) =>
      channel.makeUnaryRequest(methodPath(createVolume), raw, raw, Buffer.from([0xff, 0xff]), resolve),
    );
    assert.match(String(error?.details), /the request is no csi\.v1\.CreateVolumeRequest/);
    assert.equal(error?.code, 13);
  });

  it('answers UNIMPLEMENTED for what has no handler, in known and unknown services', async (context) => {
    const path = await temporarySocket(context);
    await server(context, { address: path, services });
    const link = connection(context, { address: path });
    assert.equal((await failure(csiClient(Identity, link, defaults).probe({}))).code, 'UNIMPLEMENTED');
    assert.equal((await failure(csiClient(Registration, link, defaults).getInfo({}))).code, 'UNIMPLEMENTED');
  });

  it('runs interceptors outermost first, around handlers of a class with its own state', async (context) => {
    const path = await temporarySocket(context);
    const order: string[] = [];
    class Driver {
      readonly name = 'classy';
      getPluginInfo(): { name: string } {
        order.push('handler');
        return { name: this.name };
      }
    }
    await server(context, {
      address: path,
      services: [implement(Identity, new Driver())],
      interceptors: ['outer', 'inner'].map((label) => async (call, next) => {
        order.push(`${label} ${call.method.name}`);
        const answer = await next();
        order.push(`${label} done`);
        return answer;
      }),
    });
    const client = csiClient(Identity, connection(context, { address: path }), defaults);
    assert.equal((await client.getPluginInfo({})).name, 'classy');
    assert.deepEqual(order, [
      'outer GetPluginInfo',
      'inner GetPluginInfo',
      'handler',
      'inner done',
      'outer done',
    ]);
  });
});
