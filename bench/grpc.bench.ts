// CSI calls over a unix socket: how many a second, and what one costs both ends together (client and server are this
// one process). CreateVolume with the fields a provisioner sends.
import { join } from 'node:path';
import {
  Controller,
  connectCsi,
  csiClient,
  implement,
  loopbackTransport,
  serveCsi,
} from '../src/csi/index.ts';
import { realClock } from '../src/runtime/clock.ts';
import { intFlag } from '../src/runtime/flags/flag.ts';
import { silentLog } from '../src/runtime/log.ts';
import { type Candidate, defineBenchmark } from './harness.ts';

const controller = implement(Controller, {
  createVolume: ({ name, capacityRange, parameters }) => ({
    volume: { volumeId: name, capacityBytes: capacityRange?.requiredBytes ?? 0n, volumeContext: parameters },
  }),
});
const ports = { log: silentLog, clock: realClock };

type Client = ReturnType<typeof csiClient<typeof Controller, ReturnType<typeof loopbackTransport>>>;

/** `inFlight` callers, each calling again as soon as it was answered. */
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

export const benchmark = defineBenchmark({
  summary: 'CSI calls over a unix socket',
  operation: 'call',
  flags: { calls: intFlag({ help: 'Calls a round', default: 3000, min: 1 }) },
  candidates: {
    'socket, 1 in flight': ({ flags, directory }) =>
      overSocket(directory, { calls: flags.calls, inFlight: 1 }),
    'socket, 32 in flight': ({ flags, directory }) =>
      overSocket(directory, { calls: flags.calls, inFlight: 32 }),
    'in process, 1 in flight': async ({ flags }) =>
      calling(csiClient(Controller, loopbackTransport([controller], ports), { timeoutMs: 30_000 }), {
        calls: flags.calls,
        inFlight: 1,
      }),
  },
});
