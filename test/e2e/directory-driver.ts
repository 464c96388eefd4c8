// A small driver in the test's process: a volume is a directory, published by a bind mount. It has no more capabilities than
// it needs, and can be told to misbehave.

import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { defineDriver, openLinuxMounter, refuse, serveDriver } from '../../src/driver/index.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { undoAfter } from './up-process.ts';

export interface DirectoryDriver {
  readonly socket: string;
  /** IDs of the volumes that exist. */
  readonly volumes: ReadonlySet<string>;
}

export async function serveDirectoryDriver(
  t: Pick<TestContext, 'after'>,
  directory: string,
  flaws: {
    /** CreateVolume is refused without this parameter. */
    needs?: string;
    /** Awaited by each NodePublishVolume. */
    beforePublish?: () => Promise<void>;
    /** NodePublishVolume mounts nothing. */
    mountsNothing?: boolean;
    /** Lists its volumes, and DeleteVolume deletes none. */
    keepsDeleted?: boolean;
  } = {},
): Promise<DirectoryDriver> {
  const mounter = await openLinuxMounter();
  const volumes = new Set<string>();
  const place = (volumeId: string): string => join(directory, 'volumes', volumeId);
  const driver = defineDriver({
    name: 'directory.csi.test',
    version: '1.2.3',
    accessModes: ['SINGLE_NODE_WRITER', 'MULTI_NODE_MULTI_WRITER'],
    controller: {
      async createVolume({ name, capacityRange, parameters }) {
        if (flaws.needs !== undefined && parameters[flaws.needs] === undefined) {
          throw refuse.invalidArgument(`parameter ${flaws.needs} is missing`);
        }
        await mkdir(place(name), { recursive: true });
        volumes.add(name);
        return { volume: { volumeId: name, capacityBytes: capacityRange?.requiredBytes ?? 0n } };
      },
      async deleteVolume({ volumeId }) {
        if (flaws.keepsDeleted) return {};
        await rm(place(volumeId), { recursive: true, force: true });
        volumes.delete(volumeId);
        return {};
      },
      ...(flaws.keepsDeleted && {
        listVolumes: () => ({ entries: [...volumes].map((volumeId) => ({ volume: { volumeId } })) }),
      }),
      validateVolumeCapabilities: ({ volumeCapabilities }) => ({ confirmed: { volumeCapabilities } }),
    },
    node: {
      nodeGetInfo: () => ({ nodeId: 'directory-node' }),
      async nodePublishVolume({ volumeId, targetPath }) {
        await flaws.beforePublish?.();
        await mkdir(targetPath, { recursive: true });
        if (flaws.mountsNothing || (await mounter.isMountPoint(targetPath))) return {};
        await mounter.bind(place(volumeId), targetPath);
        return {};
      },
      async nodeUnpublishVolume({ targetPath }) {
        await mounter.unmount(targetPath);
        await rm(targetPath, { recursive: true, force: true });
        return {};
      },
    },
  });
  const socket = join(directory, 'csi.sock');
  const server = await serveDriver(driver, { endpoint: socket, clock: realClock, log: silentLog });
  undoAfter(t, () => server.stop(0));
  return { socket, volumes };
}
