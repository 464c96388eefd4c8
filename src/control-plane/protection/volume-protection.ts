// Keeps volumes from being deleted while claims are bound to them: a finalizer on every volume, removed once the volume
// is being deleted and the server confirms that its claim is gone or bound elsewhere. Watches volumes and claims; writes
// that one finalizer.

import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '../../api/kinds.ts';
import { FINALIZER_PV_PROTECTION } from '../../api/well-known.ts';
import { ifThere } from '../../runtime/kube/if-there.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import { done } from '../../runtime/queue/loop.ts';
import { cachesSynced } from '../caches-synced.ts';
import type { Controller, ControllerPorts } from '../controller.ts';
import { decideProtection, withFinalizer, withoutFinalizer } from './decide-protection.ts';

const WORKERS = 16;
const BACKOFF = { startMs: 50, maxMs: 60_000 };

export function createVolumeProtection(ports: ControllerPorts): Controller {
  const { kube, informers } = ports;
  const log = ports.log.with({ controller: 'pv-protection' });
  const volumes = informers.of(persistentVolumes);
  const claims = informers.of(persistentVolumeClaims);

  const loop = createLoop({
    ...ports,
    log,
    name: 'volume-protection',
    workers: WORKERS,
    backoff: BACKOFF,
    async reconcile(name, { signal }) {
      const volume = volumes.get(name);
      if (!volume) return done;
      switch (decideProtection(volume, FINALIZER_PV_PROTECTION)) {
        case 'add':
          await kube.update(persistentVolumes, withFinalizer(volume, FINALIZER_PV_PROTECTION), { signal });
          return done;
        case 'remove-if-unused':
          await removeIfUnused(name, signal);
          return done;
        case 'leave':
          return done;
      }
    },
  });

  async function removeIfUnused(name: string, signal: AbortSignal): Promise<void> {
    const live = await ifThere(kube.get(persistentVolumes, { name }, { signal }));
    if (!live || decideProtection(live, FINALIZER_PV_PROTECTION) !== 'remove-if-unused') return;
    // The binder sets Released once it has seen that the claim is deleted; that change enqueues the volume again.
    if (live.status?.phase === 'Bound' || (await hasClaim(live, signal))) return;
    await kube.update(persistentVolumes, withoutFinalizer(live, FINALIZER_PV_PROTECTION), { signal });
    log.v(2).info('Removed the protection finalizer of an unused volume', { volume: name });
  }

  async function hasClaim(volume: PersistentVolume, signal: AbortSignal): Promise<boolean> {
    const { name, namespace } = volume.spec.claimRef ?? {};
    if (!name || !namespace) return false;
    const claim = await ifThere(kube.get(persistentVolumeClaims, { name, namespace }, { signal }));
    return claim !== undefined && isBoundTo(claim, volume);
  }

  const volumeChanged = (volume: PersistentVolume): void => {
    if (decideProtection(volume, FINALIZER_PV_PROTECTION) !== 'leave') loop.add(volume.metadata.name);
  };
  volumes.subscribe({ added: volumeChanged, updated: (_before, volume) => volumeChanged(volume) });
  claims.subscribe({
    deleted: ({ spec }) => {
      if (spec.volumeName) loop.add(spec.volumeName);
    },
  });

  return {
    name: 'persistentvolume-protection-controller',
    async run(signal) {
      if (await cachesSynced([volumes, claims], signal)) await loop.run(signal);
    },
  };
}

function isBoundTo(claim: PersistentVolumeClaim, volume: PersistentVolume): boolean {
  return claim.metadata.uid === volume.spec.claimRef?.uid && claim.spec.volumeName === volume.metadata.name;
}
