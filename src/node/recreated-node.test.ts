// A Node that somebody deletes and makes again while its agent mounts volumes.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { nodes } from '../api/kinds.ts';
import { volumePaths } from '../csi-plugin/mount/volume-paths.ts';
import { VirtualClock } from '../runtime/time/virtual-clock.ts';
import { inWorld } from './testing/node-world.ts';

test('[MNT-1] its first status leaves a directory alone in which a mount has begun and not written its record yet', async (t) => {
  const clock = new VirtualClock();
  await inWorld(t, { clock }, async (world) => {
    await world.startNode();
    const directory = join(volumePaths(world.root('n1')).pluginDir, 'd.test', 'volume');
    await mkdir(directory, { recursive: true });
    await world.admin.delete(nodes, { name: 'n1' });
    await world.admin.create(nodes, { metadata: { name: 'n1' } });
    const conditions = async () => (await world.admin.get(nodes, { name: 'n1' })).status?.conditions;
    while ((await conditions()) === undefined) {
      await clock.advance(10_000);
      await setImmediate();
    }
    assert.ok(existsSync(directory), `${directory} was tidied up`);
  });
});
