// Claims from creation to bound. Embedded: API server (durable), binder and provisioner in this process, the hostpath
// driver in its own, over its socket; without topology, and with it at 50 and at 5,000 nodes. On kube-apiserver, if
// BERTH_PEERS has it: `berth provisioner` and the official one, with default flags and without rate limits, each with
// the same driver and binder. All of these cache the claims of all rounds; for the memory of one candidate with a
// thousand claims use `--only 'kube-apiserver with berth' --warmups 0 --repeats 1`.
import { join } from 'node:path';
import { csiNodes, nodes } from '../src/api/kinds.ts';
import { ANN_SELECTED_NODE } from '../src/api/well-known.ts';
import { createApiServer } from '../src/apiserver/api-server.ts';
import { connectCsi } from '../src/csi/client/connect-csi.ts';
import { createEventRecorder } from '../src/runtime/events/create-event-recorder.ts';
import { intFlag } from '../src/runtime/flags/flag.ts';
import { createInformers } from '../src/runtime/informer/create-informers.ts';
import { createHttpKubeClient, type HttpKubeClient } from '../src/runtime/kube/http-kube-client.ts';
import { loadKubeConfig } from '../src/runtime/kube/load-kube-config.ts';
import { silentLog } from '../src/runtime/log/log.ts';
import { createMetrics } from '../src/runtime/metrics/metrics.ts';
import { realRandom } from '../src/runtime/random.ts';
import { realClock } from '../src/runtime/time/clock.ts';
import { askDriver } from '../src/sidecars/common/identify-driver.ts';
import { createProvisioner } from '../src/sidecars/provisioner/provisioner.ts';
import { DEFAULT_PROVISIONER_FLAGS } from '../src/sidecars/provisioner/provisioner-flags.ts';
import { peerPath } from '../test/capabilities.ts';
import { type KubeApiserver, startKubeApiserver } from '../test/interop/kube-apiserver.ts';
import { type Candidate, defineBenchmark, needPeers, Unavailable } from './harness.ts';
import {
  counted,
  type Running,
  startBerth,
  startClaims,
  startDriver,
  startProgram,
} from './provisioner-parts.ts';

const flags = {
  // Fewer would mainly measure warm-up, and not the memory of a cluster's claims.
  claims: intFlag({ help: 'Claims a round', default: 1_000, min: 1 }),
  'slow-claims': intFlag({ help: 'Claims a round at the official default flags', default: 40, min: 1 }),
};
const ports = { clock: realClock, random: realRandom, log: silentLog };
const EVENTS_TAIL_MS = 4_000;
/**
 * Each program is started twice, and provisions these before it is stopped the first time. At the first start from
 * changed sources Node loads its type stripper, which takes 15 MB; at the second start, as in an installed package, it
 * does not.
 */
const FIRST_CLAIMS = 20;
const ZONE = 'topology.bench/zone';

async function embedded(claimsARound: number, directory: string, nodeCount = 0): Promise<Candidate> {
  const server = await createApiServer({ ...ports, listen: false, dataDir: join(directory, 'data') });
  const name = 'hostpath.bench';
  const topology = nodeCount > 0 ? { topology: `${ZONE}=z0` } : {};
  const driver = await startDriver(directory, { name, ...topology });
  const admin = server.client(server.adminUser);
  for (let i = 0; i < nodeCount; i++) {
    const drivers = [{ name, nodeID: `n${i}`, topologyKeys: [ZONE] }];
    await admin.create(nodes, { metadata: { name: `n${i}`, labels: { [ZONE]: 'z0' } }, spec: {} });
    await admin.create(csiNodes, { metadata: { name: `n${i}` }, spec: { drivers } });
  }
  const { client: kube, counts } = counted(admin);
  const stop = new AbortController();
  const { signal } = stop;
  const csi = connectCsi({ address: driver.socket, ...ports });
  const informers = createInformers({ ...ports, kube });
  const provisioner = createProvisioner(
    {
      ...ports,
      kube,
      env: {},
      namespace: 'kube-system',
      kubeWith: () => kube,
      informers,
      csi,
      metrics: createMetrics(),
      recorder: createEventRecorder({ ...ports, kube, component: 'provisioner', signal }),
      driver: await askDriver(csi, { timeoutMs: 10_000, signal }),
    },
    DEFAULT_PROVISIONER_FLAGS,
  );
  informers.start(signal);
  const running = provisioner.run(signal).catch(() => {});
  const claims = await startClaims(admin);
  await claims.makeClass('bench', name, nodeCount > 0);
  let round = 0;
  return {
    processes: { driver: driver.pid },
    async round() {
      const before = { ...counts };
      const selected = nodeCount > 0 ? { [ANN_SELECTED_NODE]: 'n0' } : undefined;
      const boundMs = await claims.bind(claimsARound, `round-${round++}`, 'bench', selected);
      const each = (what: keyof typeof counts) => (counts[what] - before[what]) / claimsARound;
      return {
        operations: claimsARound,
        figures: {
          'bound/s': (claimsARound / boundMs) * 1000,
          'API writes/claim': each('writes'),
          'event writes/claim': each('events'),
          'API reads/claim': each('reads'),
        },
      };
    },
    async stop() {
      stop.abort();
      await running;
      await claims.stop();
      csi.close();
      await driver.stop();
      await server.stop();
    },
  };
}

interface SharedServer {
  apiserver: KubeApiserver;
  kube: HttpKubeClient;
  claims: Awaited<ReturnType<typeof startClaims>>;
  users: number;
}

/** One server and one binder for all candidates on it: two cores cannot run more. */
let shared: Promise<SharedServer> | undefined;

async function startShared(directory: string): Promise<SharedServer> {
  needPeers('etcd', 'kube-apiserver');
  const apiserver = await startKubeApiserver(directory);
  const path = apiserver.kubeconfig;
  const kube = createHttpKubeClient({ ...ports, config: await loadKubeConfig({ env: {}, path }) });
  return { apiserver, kube, claims: await startClaims(kube), users: 0 };
}

async function onKubeApiserver(
  directory: string,
  count: number,
  start: (socket: string, kubeconfig: string) => Running,
): Promise<Candidate> {
  shared ??= startShared(directory);
  const server = await shared;
  server.users++;
  const { apiserver, claims } = server;
  const name = `hostpath-${server.users}.bench`;
  const driver = await startDriver(directory, { name });
  await claims.makeClass(name, name);
  const first = start(driver.socket, apiserver.kubeconfig);
  await claims.bind(FIRST_CLAIMS, `${name}-first`, name);
  await first.stop();
  const provisioner = start(driver.socket, apiserver.kubeconfig);
  let round = 0;
  return {
    processes: { provisioner: provisioner.pid, ...apiserver.processes },
    async round() {
      const boundMs = await claims.bind(count, `${name}-${round++}`, name);
      return { operations: count, figures: { 'bound/s': (count / boundMs) * 1000 } };
    },
    // The official provisioner writes its events serially, for seconds after the last claim is bound.
    rest: () => realClock.sleep(EVENTS_TAIL_MS),
    async stop() {
      await provisioner.stop();
      await driver.stop();
      if (--server.users > 0) return;
      await claims.stop();
      await server.kube.close();
      await apiserver.stop();
    },
  };
}

function official(argv: readonly string[]): (socket: string, kubeconfig: string) => Running {
  const path = peerPath('csi-provisioner');
  if (path === undefined) throw new Unavailable('BERTH_PEERS has no csi-provisioner');
  return (socket, kubeconfig) =>
    startProgram(path, [`--csi-address=${socket}`, `--kubeconfig=${kubeconfig}`, ...argv]);
}

export const benchmark = defineBenchmark({
  summary: 'Claims provisioned and bound',
  operation: 'claim',
  flags,
  baseline: 'kube-apiserver with berth',
  candidates: {
    embedded: ({ flags, directory }) => embedded(flags.claims, directory),
    'embedded with 50 nodes': ({ flags, directory }) => embedded(flags.claims, directory, 50),
    'embedded with 5000 nodes': ({ flags, directory }) => embedded(flags.claims, directory, 5_000),
    'kube-apiserver with berth': ({ flags, directory }) =>
      onKubeApiserver(directory, flags.claims, (socket, kubeconfig) =>
        startBerth(['provisioner', `--csi-address=${socket}`, `--kubeconfig=${kubeconfig}`]),
      ),
    'kube-apiserver with official unlimited': ({ flags, directory }) =>
      onKubeApiserver(directory, flags.claims, official(['--kube-api-qps=10000', '--kube-api-burst=10000'])),
    'kube-apiserver with official': ({ flags, directory }) =>
      onKubeApiserver(directory, flags.slowClaims, official([])),
  },
});
