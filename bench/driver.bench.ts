// Throughput of hostpath as a separate process, over its socket: volumes created and deleted, and volumes published and
// unpublished with real bind mounts. Compared with the official Go driver if BERTH_PEERS has `hostpathplugin`.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  Controller,
  connectCsi,
  csiClient,
  Identity,
  VolumeCapability_AccessMode_Mode as Mode,
  Node,
} from '../src/csi/index.ts';
import { choiceFlag, intFlag } from '../src/runtime/flags/flag.ts';
import { silentLog } from '../src/runtime/log/log.ts';
import { realClock } from '../src/runtime/time/clock.ts';
import { peerPath } from '../test/capabilities.ts';
import { type Candidate, defineBenchmark, Unavailable } from './harness.ts';

const berth = fileURLToPath(new URL('../bin/berth', import.meta.url));
const MiB = 1n << 20n;
const volumeCapability = {
  accessType: { case: 'mount' as const, value: {} },
  accessMode: { mode: Mode.SINGLE_NODE_WRITER },
};

interface Load {
  work: 'create-delete' | 'publish-unpublish';
  pairs: number;
  inFlight: number;
}

/** Starts the program, waits until it answers, and runs the load. */
async function driving(command: string[], directory: string, load: Load): Promise<Candidate> {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'ignore'] });
  const connection = connectCsi({ address: join(directory, 's'), clock: realClock, log: silentLog });
  const defaults = { timeoutMs: 30_000 };
  await answering(child, () => csiClient(Identity, connection, { timeoutMs: 500 }).probe({}));
  const controller = csiClient(Controller, connection, defaults);
  const node = csiClient(Node, connection, defaults);
  const pods = join(directory, 'pods');
  await mkdir(pods, { recursive: true });

  const create = async (name: string): Promise<string> => {
    const made = await controller.createVolume({
      name,
      capacityRange: { requiredBytes: MiB },
      volumeCapabilities: [volumeCapability],
    });
    return made.volume?.volumeId ?? '';
  };
  const staging = (at: number): string => join(directory, 'staging', `${at}`);
  const staged = async (at: number): Promise<string> => {
    const volumeId = await create(`mounted-${at}`);
    await mkdir(staging(at), { recursive: true });
    await node.nodeStageVolume({ volumeId, stagingTargetPath: staging(at), volumeCapability });
    return volumeId;
  };
  const volumes =
    load.work === 'create-delete'
      ? []
      : await Promise.all(Array.from({ length: load.inFlight }, (_, at) => staged(at)));
  let counter = 0;
  const pair = async (caller: number): Promise<void> => {
    counter += 1;
    if (load.work === 'create-delete') {
      await controller.deleteVolume({ volumeId: await create(`volume-${counter}`) });
      return;
    }
    const volumeId = volumes[caller] ?? '';
    const targetPath = join(pods, `${caller}`);
    await node.nodePublishVolume({
      volumeId,
      targetPath,
      stagingTargetPath: staging(caller),
      volumeCapability,
    });
    await node.nodeUnpublishVolume({ volumeId, targetPath });
  };
  return {
    processes: { driver: child.pid ?? 0 },
    round: async () => {
      let left = load.pairs;
      const caller = async (at: number): Promise<void> => {
        while (left-- > 0) await pair(at);
      };
      await Promise.all(Array.from({ length: load.inFlight }, (_, at) => caller(at)));
      return { operations: load.pairs };
    },
    stop: async () => {
      for (const [at, volumeId] of volumes.entries()) {
        await node.nodeUnstageVolume({ volumeId, stagingTargetPath: staging(at) });
        await controller.deleteVolume({ volumeId });
      }
      connection.close();
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}

async function answering(child: ChildProcess, probe: () => Promise<unknown>): Promise<void> {
  const failed = once(child, 'error').then(([error]) => Promise.reject(error));
  failed.catch(() => {});
  for (let attempt = 0; ; attempt += 1) {
    try {
      await Promise.race([probe(), failed]);
      return;
    } catch (error) {
      if (attempt > 100 || child.exitCode !== null) throw error;
      await realClock.sleep(50);
    }
  }
}

export const benchmark = defineBenchmark({
  summary: 'Volumes created and deleted, or published and unpublished, over the socket of a driver',
  operation: 'pair',
  flags: {
    work: choiceFlag({
      help: 'What a pair is; publishing makes real bind mounts and needs root',
      choices: ['create-delete', 'publish-unpublish'],
      default: 'create-delete',
    }),
    pairs: intFlag({ help: 'Pairs a round', default: 2000, min: 1 }),
    'in-flight': intFlag({ help: 'Calls in flight', default: 32, min: 1 }),
  },
  candidates: {
    'berth hostpath': ({ flags, directory }) =>
      driving(
        [
          process.execPath,
          berth,
          'driver',
          'hostpath',
          `--endpoint=unix://${directory}/s`,
          '--node-id=n1',
          `--state-dir=${directory}/state`,
          '--without=attach',
        ],
        directory,
        flags,
      ),
    'official hostpath (Go)': ({ flags, directory }) => {
      const program = peerPath('hostpathplugin');
      if (program === undefined) throw new Unavailable('BERTH_PEERS has no hostpathplugin');
      return driving(
        [
          program,
          `--endpoint=unix://${directory}/s`,
          '--nodeid=n1',
          `--statedir=${directory}/state`,
          '--enable-attach=false',
        ],
        directory,
        flags,
      );
    },
  },
});
