// Recording and replay of CSI calls: what recording adds to a call through the proxy, and how long the calls of a recording take as
// a client and as a driver. Client, proxy and driver are all in this process, so CPU time is that of all three.
import { join } from 'node:path';
import {
  Controller,
  type CsiConnection,
  connectCsi,
  create,
  csiClient,
  Identity,
  implement,
  methodPath,
  serveCsi,
} from '../src/csi/index.ts';
import { serveProxy } from '../src/proxy/serve-proxy.ts';
import { readRecording } from '../src/recording/read-recording.ts';
import { openRecorder, type Recorder } from '../src/recording/recorder.ts';
import { recordingInterceptor } from '../src/recording/recording-interceptor.ts';
import { replayAsClient } from '../src/recording/replay/replay-as-client.ts';
import { replayAsDriver } from '../src/recording/replay/replay-as-driver.ts';
import { intFlag } from '../src/runtime/flags/flag.ts';
import { silentLog } from '../src/runtime/log/log.ts';
import { realClock } from '../src/runtime/time/clock.ts';
import type { DescMethodUnary, Message } from '../src/wire/protobuf/descriptor.ts';
import { type Candidate, defineBenchmark } from './harness.ts';

const ports = { log: silentLog, clock: realClock };
const call = { timeoutMs: 60_000 };
const volumeOf = (name: string, id: string) => ({
  volume: { volumeId: id, capacityBytes: 1n << 30n, volumeContext: { device: `/dev/${id}`, name } },
});

/** Answers at once and keeps nothing. */
const driver = [
  implement(Identity, { getPluginInfo: () => ({ name: 'bench.example.com' }) }),
  implement(Controller, {
    createVolume: ({ name }) => volumeOf(name, `live-${name}`),
    controllerPublishVolume: ({ volumeId }) => ({ publishContext: { device: `/dev/${volumeId}` } }),
    controllerUnpublishVolume: () => ({}),
    deleteVolume: () => ({}),
  }),
];

/** Four calls for one volume. */
async function life(controller: ReturnType<typeof controllerOf>, name: string): Promise<void> {
  const request = {
    name,
    capacityRange: { requiredBytes: 1n << 30n },
    parameters: { tier: 'gold', 'csi.storage.k8s.io/pvc/name': 'data' },
    secrets: { user: 'admin', password: 'a-secret-password' },
  };
  const { volume } = await controller.createVolume(request);
  const volumeId = volume?.volumeId ?? '';
  await controller.controllerPublishVolume({ volumeId, nodeId: 'n1' });
  await controller.controllerUnpublishVolume({ volumeId, nodeId: 'n1' });
  await controller.deleteVolume({ volumeId });
}

const controllerOf = (connection: CsiConnection) => csiClient(Controller, connection, call);

async function lives(connection: CsiConnection, calls: number): Promise<void> {
  const controller = controllerOf(connection);
  for (let at = 0; at < calls / 4; at++) await life(controller, `pvc-${at}`);
}

async function throughProxy(directory: string, calls: number, recorder?: Recorder): Promise<Candidate> {
  const server = await serveCsi({ address: join(directory, 'd'), services: driver, ...ports });
  const proxy = await serveProxy({
    listen: join(directory, 'p'),
    driver: join(directory, 'd'),
    interceptors: recorder ? [recordingInterceptor(recorder)] : [],
    ...ports,
  });
  const connection = connectCsi({ address: join(directory, 'p'), ...ports });
  return {
    round: async () => {
      await lives(connection, calls);
      return { operations: calls };
    },
    stop: async () => {
      connection.close();
      await proxy.stop(1000);
      await server.stop(1000);
      await recorder?.close();
    },
  };
}

/** A recording of as many calls, written without a driver. */
async function madeRecording(directory: string, calls: number) {
  const path = join(directory, 'calls.jsonl');
  const recorder = await openRecorder({ path, by: 'bench', ...ports });
  const add = (method: DescMethodUnary, request: object, response: object): void => {
    const end = recorder.begin({
      path: methodPath(method),
      method,
      request: create(method.input, request as Message),
      requestBytes: 0,
    });
    end({ code: 0, text: '', isLost: false, response: create(method.output, response as Message) });
  };
  const { createVolume, controllerPublishVolume, controllerUnpublishVolume, deleteVolume } =
    Controller.method;
  add(Identity.method.getPluginInfo, {}, { name: 'bench.example.com' });
  for (let at = 0; at < calls / 4; at++) {
    const [name, volumeId] = [`pvc-${at}`, `recorded-${at}`];
    add(createVolume, { name, capacityRange: { requiredBytes: 1n << 30n } }, volumeOf(name, volumeId));
    add(
      controllerPublishVolume,
      { volumeId, nodeId: 'n1' },
      { publishContext: { device: `/dev/${volumeId}` } },
    );
    add(controllerUnpublishVolume, { volumeId, nodeId: 'n1' }, {});
    add(deleteVolume, { volumeId }, {});
  }
  await recorder.close();
  return path;
}

export const benchmark = defineBenchmark({
  summary: 'Recording and replay of CSI calls',
  operation: 'call',
  flags: { calls: intFlag({ help: 'Calls a round', default: 10_000, min: 4 }) },
  candidates: {
    proxy: ({ flags, directory }) => throughProxy(directory, flags.calls),
    'proxy, recording': async ({ flags, directory }) => {
      const recorder = await openRecorder({ path: join(directory, 'r.jsonl'), by: 'bench', ...ports });
      return throughProxy(directory, flags.calls, recorder);
    },
    'replay as client': async ({ flags, directory }) => {
      const path = await madeRecording(directory, flags.calls);
      const server = await serveCsi({ address: join(directory, 'd'), services: driver, ...ports });
      const connection = connectCsi({ address: join(directory, 'd'), ...ports });
      return {
        round: async () => {
          const report = await replayAsClient(await readRecording(path), {
            connection,
            clock: realClock,
            signal: new AbortController().signal,
            keepsTiming: false,
            timeoutMs: 60_000,
            directory,
            namePrefix: 'again-',
            includeExisting: false,
            secrets: undefined,
          });
          return { operations: report.calls, figures: { differences: report.differences.length } };
        },
        stop: async () => {
          connection.close();
          await server.stop(1000);
        },
      };
    },
    'replay as driver': async ({ flags, directory }) => {
      const path = await madeRecording(directory, flags.calls);
      return {
        round: async () => {
          const replayed = replayAsDriver(await readRecording(path), {
            clock: realClock,
            keepsTiming: false,
          });
          const address = join(directory, 'd');
          const server = await serveCsi({ address, services: replayed.services, ...ports });
          const connection = connectCsi({ address, ...ports });
          const controller = controllerOf(connection);
          for (let at = 0; at < flags.calls / 4; at++) await life(controller, `claim-${at}`);
          connection.close();
          await server.stop(1000);
          const left = replayed.report().left['not reached: nobody asked about their objects'] ?? 0;
          return { operations: flags.calls, figures: { left } };
        },
      };
    },
  },
});
