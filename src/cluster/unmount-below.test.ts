import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Mounter } from '../runtime/mount/mounter.ts';
import { unmountBelow } from './unmount-below.ts';

test('mounts of a driver that goes on stay, and with them the mount that they are in', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'unmount-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const root = join(directory, 'n', 'kubelet-1');
  const volume = join(root, 'pods', 'p', 'volumes', 'v');
  await mkdir(volume, { recursive: true });
  await writeFile(join(volume, 'vol_data.json'), JSON.stringify({ driverName: 'own.csi' }));
  const mounted = [root, join(volume, 'mount'), join(root, 'pods', 'p', 'token'), join(directory, 'k')];
  const unmounted: string[] = [];
  const mounter = {
    list: async () => mounted.map((mountPoint) => ({ mountPoint })),
    unmount: async (path: string) => {
      unmounted.push(path);
    },
  } as unknown as Mounter;
  const busy = await unmountBelow(directory, { mounter, keep: new Set(['own.csi']), except: '' });
  assert.deepEqual(busy, []);
  assert.deepEqual(unmounted.toSorted(), [mounted[3], mounted[2]].toSorted());
});
