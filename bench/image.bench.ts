// What the sidecars of Berth's image cost at their start, beside the official ones: the time from starting a process until it has done a piece
// of work that was waiting, and its memory then. Both run from a root file system of their own, on kube-apiserver and etcd if BERTH_PEERS
// has them, else on the embedded API server. `pod` is provisioner, attacher, resizer and snapshotter started together, as by a kubelet.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringFlag } from '../src/runtime/flags/flag.ts';
import { createHttpKubeClient } from '../src/runtime/kube/http-kube-client.ts';
import { loadKubeConfig } from '../src/runtime/kube/load-kube-config.ts';
import { silentLog } from '../src/runtime/log/log.ts';
import { realRandom } from '../src/runtime/random.ts';
import { realClock } from '../src/runtime/time/clock.ts';
import { missingPeers, peerPath } from '../test/capabilities.ts';
import { startKubeApiserver } from '../test/interop/kube-apiserver.ts';
import { type Candidate, defineBenchmark, needPeers } from './harness.ts';
import { startDriver } from './provisioner-parts.ts';
import {
  berthRoot,
  endProcess,
  NOBODY,
  programsRoot,
  proportionalMegabytes,
  type Root,
} from './rooted-processes.ts';
import { type PendingWork, SIDECARS, type Sidecar, sidecarWork } from './sidecar-work.ts';

const BERTH = fileURLToPath(new URL('../bin/berth', import.meta.url));
const DRIVER = 'image.bench';
const POD: readonly Sidecar[] = ['provisioner', 'attacher', 'resizer', 'snapshotter'];
const OFFICIAL: Readonly<Record<Sidecar, string>> = {
  provisioner: 'csi-provisioner',
  attacher: 'csi-attacher',
  resizer: 'csi-resizer',
  snapshotter: 'csi-snapshotter',
  'snapshot-controller': 'snapshot-controller',
  livenessprobe: 'livenessprobe',
  'node-registrar': 'csi-node-driver-registrar',
};

/** Which processes a set of sidecars needs, and with which sidecars each is busy. */
interface Programs {
  /** Started alone, one after the other. */
  readonly alone: readonly Sidecar[];
  readonly pod: readonly { argv: readonly string[]; sidecars: readonly Sidecar[] }[];
  argv(sidecar: Sidecar): readonly string[];
}

async function startServer(directory: string): Promise<{ kubeconfig: string; stop(): Promise<void> }> {
  if (missingPeers('etcd', 'kube-apiserver') === false) return startKubeApiserver(directory);
  const kubeconfig = join(directory, 'kubeconfig');
  const argv = [BERTH, 'apiserver', `--data-dir=${directory}/api`, `--kubeconfig=${kubeconfig}`];
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'ignore'] });
  await once(child.stdout, 'data');
  return { kubeconfig, stop: () => endProcess(child) };
}

async function starting(directory: string, root: Root, programs: Programs): Promise<Candidate> {
  const server = await startServer(directory);
  const config = await loadKubeConfig({ path: server.kubeconfig, env: {} });
  const kube = createHttpKubeClient({ config, clock: realClock, random: realRandom, log: silentLog });
  const run = join(root.path, 'run');
  const driver = await startDriver(run, { name: DRIVER });
  chmodSync(driver.socket, 0o777);
  copyFileSync(server.kubeconfig, join(run, 'kubeconfig'));
  chownSync(join(run, 'kubeconfig'), NOBODY, NOBODY);
  const work = await sidecarWork({ kube, driver: DRIVER, socket: driver.socket, root: root.path });

  const flagsOf = (sidecars: readonly Sidecar[], pending: readonly PendingWork[]): string[] => [
    ...(sidecars.includes('snapshot-controller') ? [] : ['--csi-address=/run/csi.sock']),
    ...(sidecars.some((each) => each === 'livenessprobe' || each === 'node-registrar')
      ? []
      : ['--kubeconfig=/run/kubeconfig']),
    ...pending.flatMap(({ flags }) => flags),
  ];
  /** Starts all at once; resolves with milliseconds until all have worked, and with their memory then. */
  const measured = async (
    processes: readonly { argv: readonly string[]; sidecars: readonly Sidecar[] }[],
  ): Promise<{ ms: number; megabytes: number }> => {
    const waiting = await Promise.all(
      processes.map(async ({ argv, sidecars }) => {
        const pending: PendingWork[] = [];
        for (const sidecar of sidecars) pending.push(await work.prepare(sidecar));
        return { argv: [...argv, ...flagsOf(sidecars, pending)], pending };
      }),
    );
    const startMs = performance.now();
    const children = waiting.map(({ argv }) => root.start(argv));
    try {
      await Promise.all(waiting.flatMap(({ pending }) => pending.map(({ done }) => done())));
      const ms = performance.now() - startMs;
      const megabytes = children.reduce((sum, { pid = 0 }) => sum + proportionalMegabytes(pid), 0);
      return { ms, megabytes };
    } finally {
      await Promise.all(children.map(endProcess));
    }
  };
  return {
    async round() {
      const figures: Record<string, number> = {};
      for (const sidecar of programs.alone) {
        const { ms, megabytes } = await measured([{ argv: programs.argv(sidecar), sidecars: [sidecar] }]);
        figures[`${sidecar} start ms`] = ms;
        figures[`${sidecar} MB`] = megabytes;
      }
      const { ms, megabytes } = await measured(programs.pod);
      figures['pod start ms'] = ms;
      figures['pod MB'] = megabytes;
      return { operations: programs.alone.length + programs.pod.length, figures };
    },
    async stop() {
      await work.close();
      await driver.stop();
      await kube.close();
      await server.stop();
    },
  };
}

/** Each sidecar is a process. */
const separately = (
  argv: (sidecar: Sidecar) => readonly string[],
  alone: readonly Sidecar[] = SIDECARS,
): Programs => ({
  alone,
  argv,
  pod: POD.map((sidecar) => ({ argv: argv(sidecar), sidecars: [sidecar] })),
});

export const benchmark = defineBenchmark({
  summary: "Start and memory of the image's sidecars",
  operation: 'start',
  flags: {
    'root-fs': stringFlag({ help: 'The file of `npm run image -- --root-fs FILE`; made anew unless given' }),
  },
  candidates: {
    official: async ({ directory }) => {
      needPeers(...POD.map((sidecar) => OFFICIAL[sidecar]));
      const there = SIDECARS.filter((sidecar) => peerPath(OFFICIAL[sidecar]) !== undefined);
      const files = there.map((sidecar) => [`bin/${sidecar}`, peerPath(OFFICIAL[sidecar]) ?? '']);
      const root = programsRoot(join(directory, 'r'), Object.fromEntries(files));
      return starting(
        directory,
        root,
        separately((sidecar) => [`/bin/${sidecar}`], there),
      );
    },
    'berth image': async ({ flags, directory }) =>
      starting(
        directory,
        berthRoot(join(directory, 'r'), flags.rootFs),
        separately((sidecar) => ['/usr/bin/berth', sidecar]),
      ),
    'berth image, pod as one process': async ({ flags, directory }) =>
      starting(directory, berthRoot(join(directory, 'r'), flags.rootFs), {
        alone: [],
        argv: () => [],
        pod: [
          {
            argv: ['/usr/bin/berth', 'sidecars', `--controllers=${POD.join(',')}`],
            sidecars: POD,
          },
        ],
      }),
  },
});
