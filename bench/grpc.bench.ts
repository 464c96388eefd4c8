// CSI calls over a unix socket: calls per second, and the CPU cost of one for client and server together (both are in
// this process). CreateVolume with the fields that a provisioner sends. Compared with grpc-js at both ends.
import { join } from 'node:path';
import * as grpc from '@grpc/grpc-js';
import {
  Controller,
  CreateVolumeRequestSchema,
  CreateVolumeResponseSchema,
  connectCsi,
  create,
  csiClient,
  implement,
  loopbackTransport,
  type MessageInitShape,
  type MessageShape,
  methodPath,
  serveCsi,
} from '../src/csi/index.ts';
import { intFlag } from '../src/runtime/flags/flag.ts';
import { silentLog } from '../src/runtime/log/log.ts';
import { realClock } from '../src/runtime/time/clock.ts';
import { fromBinary } from '../src/wire/protobuf/decode.ts';
import { toBinary } from '../src/wire/protobuf/encode.ts';
import { type Candidate, defineBenchmark } from './harness.ts';

type Request = MessageShape<typeof CreateVolumeRequestSchema>;
type RequestInit = MessageInitShape<typeof CreateVolumeRequestSchema>;

const made = ({ name, capacityRange, parameters }: Request) => ({
  volume: { volumeId: name, capacityBytes: capacityRange?.requiredBytes ?? 0n, volumeContext: parameters },
});
const controller = implement(Controller, { createVolume: made });
const ports = { log: silentLog, clock: realClock };

interface Client {
  createVolume(request: RequestInit): Promise<unknown>;
}

/** `inFlight` callers, each with one call in flight at a time. */
function calling(
  client: Client,
  options: { calls: number; inFlight: number; stop?: () => Promise<void> },
): Candidate {
  const request = {
    name: 'pvc-6f1b5f0e-8a3c-4f6f-9a39-3d1b0b9f6c11',
    capacityRange: { requiredBytes: 1n << 30n },
    parameters: { tier: 'gold', 'csi.storage.k8s.io/pvc/name': 'data' },
  };
  return {
    round: async () => {
      let left = options.calls;
      const caller = async (): Promise<void> => {
        while (left-- > 0) await client.createVolume(request);
      };
      await Promise.all(Array.from({ length: options.inFlight }, caller));
      return { operations: options.calls };
    },
    ...(options.stop && { stop: options.stop }),
  };
}

async function overSocket(
  directory: string,
  options: { calls: number; inFlight: number },
): Promise<Candidate> {
  const address = join(directory, 's');
  const server = await serveCsi({ address, services: [controller], ...ports });
  const connection = connectCsi({ address, ...ports });
  const stop = async (): Promise<void> => {
    connection.close();
    await server.stop(1000);
  };
  return calling(csiClient(Controller, connection, { timeoutMs: 30_000 }), { ...options, stop });
}

async function overGrpcJs(
  directory: string,
  options: { calls: number; inFlight: number },
): Promise<Candidate> {
  const path = methodPath(Controller.method.createVolume);
  const writeRequest = (init: RequestInit) =>
    toBinary(CreateVolumeRequestSchema, create(CreateVolumeRequestSchema, init));
  const readRequest = (bytes: Buffer) => fromBinary(CreateVolumeRequestSchema, bytes);
  const writeAnswer = (init: ReturnType<typeof made>) =>
    toBinary(CreateVolumeResponseSchema, create(CreateVolumeResponseSchema, init));
  const readAnswer = (bytes: Buffer) => fromBinary(CreateVolumeResponseSchema, bytes);
  const server = new grpc.Server();
  const handler: grpc.handleUnaryCall<Request, ReturnType<typeof made>> = (call, answer) =>
    answer(null, made(call.request));
  server.register(path, handler, writeAnswer, readRequest, 'unary');
  const address = `unix:${join(directory, 's')}`;
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    );
  });
  const channel = new grpc.Client(address, grpc.credentials.createInsecure());
  const client: Client = {
    createVolume: (request) =>
      new Promise((resolve, reject) => {
        const deadline = realClock.now() + 30_000;
        channel.makeUnaryRequest(path, writeRequest, readAnswer, request, { deadline }, (error, answer) =>
          error ? reject(error) : resolve(answer),
        );
      }),
  };
  const stop = async (): Promise<void> => {
    channel.close();
    server.forceShutdown();
  };
  return calling(client, { ...options, stop });
}

export const benchmark = defineBenchmark({
  summary: 'CSI calls over a unix socket',
  operation: 'call',
  flags: { calls: intFlag({ help: 'Calls a round', default: 3000, min: 1 }) },
  candidates: {
    'socket, 1 in flight': ({ flags, directory }) =>
      overSocket(directory, { calls: flags.calls, inFlight: 1 }),
    'socket, 32 in flight': ({ flags, directory }) =>
      overSocket(directory, { calls: flags.calls, inFlight: 32 }),
    'grpc-js, 1 in flight': ({ flags, directory }) =>
      overGrpcJs(directory, { calls: flags.calls, inFlight: 1 }),
    'grpc-js, 32 in flight': ({ flags, directory }) =>
      overGrpcJs(directory, { calls: flags.calls, inFlight: 32 }),
    'in process, 1 in flight': async ({ flags }) =>
      calling(csiClient(Controller, loopbackTransport([controller], ports), { timeoutMs: 30_000 }), {
        calls: flags.calls,
        inFlight: 1,
      }),
  },
});
