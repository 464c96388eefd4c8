// Users of a cluster while its sidecars are exchanged: each makes a claim, runs a pod on it, lets it grow, snapshots it, restores the
// snapshot and deletes everything again, over and over, several at a time.

import {
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  volumeAttachments,
  volumeSnapshots,
} from '../../src/api/kinds.ts';
import { attachmentName } from '../../src/api/volumes.ts';
import { DRIVER, type MoveWorld, NODE } from './move-world.ts';

export interface Load {
  /** Resolves when this many lives have ended; fails with the first that fails. */
  ended(count: number): Promise<void>;
  /** Resolves when all have. */
  readonly all: Promise<void>;
  /** How many are under way. */
  underWay(): number;
}

export function startLoad(world: MoveWorld, { lives, atOnce }: { lives: number; atOnce: number }): Load {
  let begun = 0;
  let ended = 0;
  const waiting: { count: number; resolve(): void }[] = [];
  const user = async (): Promise<void> => {
    while (begun < lives) {
      await live(world, `life-${++begun}`);
      ended++;
      for (const { count, resolve } of waiting) if (ended >= count) resolve();
    }
  };
  const all = Promise.all(Array.from({ length: atOnce }, user)).then(() => {});
  // Whoever waits for a part of it fails with it.
  all.catch(() => {});
  return {
    ended: (count) =>
      Promise.race([all, new Promise<void>((resolve) => void waiting.push({ count, resolve }))]),
    all,
    underWay: () => begun - ended,
  };
}

/** Handles by the UID of their claim, from now on. */
export function followHandles(world: MoveWorld): ReadonlyMap<string, ReadonlySet<string>> {
  const handles = new Map<string, Set<string>>();
  world.informers.of(persistentVolumes).subscribe({
    added: ({ spec }) => {
      const uid = spec.claimRef?.uid ?? '';
      handles.set(uid, (handles.get(uid) ?? new Set()).add(spec.csi?.volumeHandle ?? ''));
    },
  });
  return handles;
}

async function live({ kube, settled }: MoveWorld, name: string): Promise<void> {
  const named = (suffix = '') => ({ name: `${name}${suffix}`, namespace: 'default' });
  const claim = (suffix: string, storage: string, more: object = {}) => ({
    metadata: named(suffix),
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'now',
      resources: { requests: { storage } },
      ...more,
    },
  });
  const bound = async (suffix: string): Promise<string> => {
    const found = await settled(
      persistentVolumeClaims,
      `default/${name}${suffix}`,
      (each) => each?.status?.phase === 'Bound',
    );
    return found?.spec.volumeName ?? '';
  };
  const gone = async (suffix: string, volume: string): Promise<void> => {
    await kube.delete(persistentVolumeClaims, named(suffix));
    await settled(persistentVolumeClaims, `default/${name}${suffix}`, (each) => each === undefined);
    await settled(persistentVolumes, volume, (each) => each === undefined);
  };

  await kube.create(persistentVolumeClaims, claim('', '1Mi'));
  const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: name } }];
  await kube.create(pods, {
    metadata: named(),
    spec: { containers: [{ name: 'c', image: 'i' }], volumes },
  });
  const volume = await bound('');
  const recorded = await settled(persistentVolumes, volume, (each) => each?.status?.phase === 'Bound');
  const names = { driver: DRIVER, volumeHandle: recorded?.spec.csi?.volumeHandle ?? '', nodeName: NODE };
  const attachment = attachmentName(names);
  await settled(volumeAttachments, attachment, (each) => each?.status?.attached === true);

  const grown = { spec: { resources: { requests: { storage: '3Mi' } } } };
  await kube.patch(persistentVolumeClaims, named(), grown, { type: 'merge' });
  const source = { persistentVolumeClaimName: name };
  await kube.create(volumeSnapshots, {
    metadata: named(),
    spec: { source, volumeSnapshotClassName: 'usual' },
  });
  await settled(
    persistentVolumeClaims,
    `default/${name}`,
    (each) => each?.status?.capacity?.storage === '3Mi',
  );
  await settled(volumeSnapshots, `default/${name}`, (each) => each?.status?.readyToUse === true);
  const dataSource = { apiGroup: volumeSnapshots.group, kind: volumeSnapshots.kind, name };
  await kube.create(persistentVolumeClaims, claim('-restored', '3Mi', { dataSource }));
  const restored = await bound('-restored');

  await kube.delete(pods, named(), { gracePeriodSeconds: 0 });
  await kube.delete(volumeSnapshots, named());
  await settled(volumeAttachments, attachment, (each) => each === undefined);
  await settled(volumeSnapshots, `default/${name}`, (each) => each === undefined);
  await Promise.all([gone('-restored', restored), gone('', volume)]);
}
