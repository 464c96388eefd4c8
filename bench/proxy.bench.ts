// What the proxy costs: CreateVolume straight to a driver, through a proxy that passes bytes, through one with a fault set that
// strikes other calls, and with a request of 2 MB. Client, proxy and driver are in this process, so that the difference of the CPU
// time is the proxy's. Goal: at most 0.15 ms a call more.
import { join } from 'node:path';
import { Controller, connectCsi, csiClient, implement, serveCsi } from '../src/csi/index.ts';
import { ActiveFaults } from '../src/faults/active-faults.ts';
import { faultInterceptor } from '../src/faults/fault-interceptor.ts';
import { serveProxy } from '../src/proxy/serve-proxy.ts';
import { intFlag } from '../src/runtime/flags/flag.ts';
import { silentLog } from '../src/runtime/log/log.ts';
import { realRandom } from '../src/runtime/random.ts';
import { realClock } from '../src/runtime/time/clock.ts';
import { type Candidate, defineBenchmark } from './harness.ts';

const ports = { log: silentLog, clock: realClock };
const services = [
  implement(Controller, {
    createVolume: ({ name }) => ({ volume: { volumeId: name, capacityBytes: 1n << 30n } }),
  }),
];
const LARGE = 2 << 20;

interface Way {
  isProxied: boolean;
  /** Set at the proxy. */
  fault?: string;
  parameters?: Record<string, string>;
  calls: number;
}

async function calling(directory: string, way: Way): Promise<Candidate> {
  const driver = join(directory, 'd');
  const server = await serveCsi({ address: driver, services, ...ports });
  const faults = new ActiveFaults({ random: realRandom, check: () => {} });
  if (way.fault !== undefined) faults.add(way.fault);
  const faulty = faultInterceptor(faults, { clock: realClock, address: driver });
  const interceptors = () => (faults.isIdle ? [] : [faulty]);
  const listen = join(directory, 'p');
  const proxy = way.isProxied ? await serveProxy({ listen, driver, interceptors, ...ports }) : undefined;
  const connection = connectCsi({ address: proxy ? listen : driver, ...ports });
  const client = csiClient(Controller, connection, { timeoutMs: 30_000 });
  const request = {
    name: 'pvc-6f1b5f0e-8a3c-4f6f-9a39-3d1b0b9f6c11',
    capacityRange: { requiredBytes: 1n << 30n },
    parameters: way.parameters ?? { tier: 'gold', 'csi.storage.k8s.io/pvc/name': 'data' },
  };
  return {
    round: async () => {
      for (let call = 0; call < way.calls; call++) await client.createVolume(request);
      return { operations: way.calls };
    },
    stop: async () => {
      connection.close();
      await proxy?.stop(1000);
      await server.stop(1000);
    },
  };
}

const large = { parameters: { large: 'x'.repeat(LARGE) } };

export const benchmark = defineBenchmark({
  summary: 'CSI calls through the proxy',
  operation: 'call',
  flags: {
    calls: intFlag({ help: 'Calls a round', default: 3000, min: 1 }),
    'large-calls': intFlag({ help: 'Calls with 2 MB a round', default: 50, min: 1 }),
  },
  candidates: {
    straight: ({ flags, directory }) => calling(directory, { isProxied: false, calls: flags.calls }),
    proxy: ({ flags, directory }) => calling(directory, { isProxied: true, calls: flags.calls }),
    'proxy, a fault set': ({ flags, directory }) =>
      calling(directory, {
        isProxied: true,
        fault: 'CreateVolume duplicate volume=other',
        calls: flags.calls,
      }),
    '2 MB, straight': ({ flags, directory }) =>
      calling(directory, { isProxied: false, ...large, calls: flags.largeCalls }),
    '2 MB, proxy': ({ flags, directory }) =>
      calling(directory, { isProxied: true, ...large, calls: flags.largeCalls }),
  },
});
