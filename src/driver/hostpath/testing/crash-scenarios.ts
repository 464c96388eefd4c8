// For tests: sequences of calls that cover every step of hostpath, and a process that kills itself before a given step.
// It records each call before making it, so that another process can retry it and continue.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { silentLog } from '../../../runtime/log/log.ts';
import { openLinuxMounter } from '../../../runtime/mount/linux-mounter.ts';
import { realRandom } from '../../../runtime/random.ts';
import { realClock } from '../../../runtime/time/clock.ts';
import { driverServices } from '../../driver-services.ts';
import { createHostpath } from '../create-hostpath.ts';
import type { HostpathCapabilities } from '../options.ts';
import { capability, clientsOf, type HostpathClients, MiB, volumeRequest } from './hostpath-fixture.ts';

/** IDs returned by earlier calls. */
export type Known = Record<string, string>;

export interface ScenarioCall {
  name: string;
  run(clients: HostpathClients, known: Known, root: string): Promise<Known | undefined>;
}

export interface Scenario {
  capabilities?: Partial<HostpathCapabilities>;
  calls: ScenarioCall[];
}

const nodeId = 'node-1';
const id = (known: Known, name: string): string => known[name] ?? '';

function call(
  name: string,
  run: (clients: HostpathClients, known: Known, root: string) => Promise<unknown>,
): ScenarioCall {
  return {
    name,
    async run(clients, known, root) {
      await run(clients, known, root);
      return undefined;
    },
  };
}

function create(
  as: string,
  backing: string,
  type: 'mount' | 'block' = 'mount',
  from?: 'snapshot' | 'volume',
): ScenarioCall {
  return {
    name: `create ${as}`,
    async run({ controller }, known) {
      const source =
        from === 'snapshot'
          ? { case: 'snapshot' as const, value: { snapshotId: id(known, 'snapshot') } }
          : { case: 'volume' as const, value: { volumeId: id(known, 'volume') } };
      const { volume } = await controller.createVolume(
        volumeRequest({
          name: as,
          parameters: { backing },
          volumeCapabilities: [capability({ type })],
          ...(from && { volumeContentSource: { type: source }, capacityRange: { requiredBytes: 24n * MiB } }),
        }),
      );
      return { [as]: volume?.volumeId ?? '' };
    },
  };
}

const remove = (as: string) =>
  call(`delete ${as}`, ({ controller }, known) => controller.deleteVolume({ volumeId: id(known, as) }));

function bring(as: string, type: 'mount' | 'block' = 'mount'): ScenarioCall[] {
  const volumeCapability = capability({ type });
  return [
    call(`attach ${as}`, ({ controller }, known) =>
      controller.controllerPublishVolume({ volumeId: id(known, as), nodeId, volumeCapability }),
    ),
    call(`stage ${as}`, ({ node }, known, root) =>
      node.nodeStageVolume({
        volumeId: id(known, as),
        stagingTargetPath: join(root, `s-${as}`),
        volumeCapability,
      }),
    ),
    call(`publish ${as}`, ({ node }, known, root) =>
      node.nodePublishVolume({
        volumeId: id(known, as),
        stagingTargetPath: join(root, `s-${as}`),
        targetPath: join(root, `t-${as}`),
        volumeCapability,
        readonly: true,
      }),
    ),
  ];
}

function takeAway(as: string): ScenarioCall[] {
  return [
    call(`unpublish ${as}`, ({ node }, known, root) =>
      node.nodeUnpublishVolume({ volumeId: id(known, as), targetPath: join(root, `t-${as}`) }),
    ),
    call(`unstage ${as}`, ({ node }, known, root) =>
      node.nodeUnstageVolume({ volumeId: id(known, as), stagingTargetPath: join(root, `s-${as}`) }),
    ),
    call(`detach ${as}`, ({ controller }, known) =>
      controller.controllerUnpublishVolume({ volumeId: id(known, as), nodeId }),
    ),
  ];
}

const grow = call('grow', ({ controller }, known) =>
  controller.controllerExpandVolume({
    volumeId: id(known, 'volume'),
    capacityRange: { requiredBytes: 32n * MiB },
  }),
);

const inlineRequest = (root: string) => ({
  volumeId: 'csi-inline',
  targetPath: join(root, 't-inline'),
  volumeCapability: capability(),
  volumeContext: { 'csi.storage.k8s.io/ephemeral': 'true', backing: 'image', size: '8Mi' },
});

export const scenarios: Readonly<Record<string, Scenario>> = {
  'a directory': {
    calls: [create('volume', 'directory'), ...bring('volume'), grow, ...takeAway('volume'), remove('volume')],
  },
  'an image': {
    calls: [
      create('volume', 'image'),
      ...bring('volume'),
      ...takeAway('volume'),
      grow,
      ...bring('volume'),
      ...takeAway('volume'),
      remove('volume'),
    ],
  },
  'a raw device': {
    calls: [
      create('volume', 'image', 'block'),
      ...bring('volume', 'block'),
      ...takeAway('volume'),
      remove('volume'),
    ],
  },
  'copies of an image in use': {
    calls: [
      create('volume', 'image'),
      ...bring('volume'),
      {
        name: 'snapshot',
        async run({ controller }, known) {
          const { snapshot } = await controller.createSnapshot({
            name: 's',
            sourceVolumeId: id(known, 'volume'),
          });
          return { snapshot: snapshot?.snapshotId ?? '' };
        },
      },
      create('restored', 'image', 'mount', 'snapshot'),
      create('clone', 'image', 'mount', 'volume'),
      {
        name: 'group snapshot',
        async run({ group }, known) {
          const sourceVolumeIds = [id(known, 'volume'), id(known, 'clone')];
          const { groupSnapshot } = await group.createVolumeGroupSnapshot({ name: 'g', sourceVolumeIds });
          return { group: groupSnapshot?.groupSnapshotId ?? '' };
        },
      },
      call('delete group snapshot', ({ group }, known) =>
        group.deleteVolumeGroupSnapshot({ groupSnapshotId: id(known, 'group') }),
      ),
      call('delete snapshot', ({ controller }, known) =>
        controller.deleteSnapshot({ snapshotId: id(known, 'snapshot') }),
      ),
      remove('clone'),
      remove('restored'),
      ...takeAway('volume'),
      remove('volume'),
    ],
  },
  'an inline volume': {
    calls: [
      call('publish inline', ({ node }, _, root) => node.nodePublishVolume(inlineRequest(root))),
      call('unpublish inline', ({ node }, _, root) => node.nodeUnpublishVolume(inlineRequest(root))),
    ],
  },
};

export interface Progress {
  index: number;
  known: Known;
}

/** Runs the calls from `progress` on, recording each before it is made. */
export async function runScenario(
  name: string,
  root: string,
  options: { from?: Progress; step?: (name: string, call: string) => void } = {},
): Promise<void> {
  const scenario = scenarios[name];
  if (scenario === undefined) throw new Error(`no scenario ${name}`);
  let current = 'start-up';
  const hostpath = await createHostpath({
    clock: realClock,
    random: realRandom,
    log: silentLog,
    mounter: await openLinuxMounter(),
    stateDir: join(root, 'state'),
    step: (stepName) => options.step?.(stepName, current),
  });
  const driver = hostpath.driver({ controller: true, node: { nodeId } });
  const clients = clientsOf(driverServices(driver, { log: silentLog }));
  const { index: first, known: earlier } = options.from ?? { index: 0, known: {} };
  let known = earlier;
  for (const [index, each] of scenario.calls.entries()) {
    if (index < first) continue;
    writeFileSync(join(root, 'progress.json'), JSON.stringify({ index, known } satisfies Progress));
    current = each.name;
    known = { ...known, ...(await each.run(clients, known, root)) };
  }
  hostpath.close();
}

export function readProgress(root: string): Progress {
  return JSON.parse(readFileSync(join(root, 'progress.json'), 'utf8')) as Progress;
}

/** As a process: `crash-scenarios.ts SCENARIO ROOT STEP`. Prints the steps it reaches. */
async function main([name = '', root = '', stopAt = '']: string[]): Promise<void> {
  let count = 0;
  await runScenario(name, root, {
    step(stepName, current) {
      count += 1;
      if (count === Number(stopAt)) process.kill(process.pid, 'SIGKILL');
      else process.stdout.write(`${current}: ${stepName}\n`);
    },
  });
}

if (import.meta.main) await main(process.argv.slice(2));
