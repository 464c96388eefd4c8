// Keeps VolumeAttributesClasses from being deleted while claims or volumes refer to them: a finalizer on every class,
// removed once the class is being deleted and no claim or volume names it. The server is asked last, because the caches
// may not show a claim that was just created. Watches classes, claims and volumes; writes that one finalizer.

import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type VolumeAttributesClass,
  volumeAttributesClasses,
} from '../../api/kinds.ts';
import { FINALIZER_VAC_PROTECTION } from '../../api/well-known.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import { done, requeueAfter } from '../../runtime/queue/loop.ts';
import { cachesSynced } from '../caches-synced.ts';
import type { Controller, ControllerPorts } from '../controller.ts';
import { decideProtection, withFinalizer, withoutFinalizer } from './decide-protection.ts';

const WORKERS = 4;
const BACKOFF = { startMs: 50, maxMs: 60_000 };
/** A poll lists all claims and volumes, and is needed only while a cache lags. */
const UNSEEN_MS = 5_000;
const INDEX = 'by-volume-attributes-class';

export function createClassProtection(ports: ControllerPorts): Controller {
  const { kube, informers } = ports;
  const log = ports.log.with({ controller: 'vac-protection' });
  const classes = informers.of(volumeAttributesClasses);
  const claims = informers.of(persistentVolumeClaims);
  const volumes = informers.of(persistentVolumes);
  claims.addIndex(INDEX, classesOfClaim);
  volumes.addIndex(INDEX, classesOfVolume);

  const loop = createLoop({
    ...ports,
    log,
    name: 'class-protection',
    workers: WORKERS,
    backoff: BACKOFF,
    async reconcile(name, { signal }) {
      const found = classes.get(name);
      if (!found) return done;
      switch (decideProtection(found, FINALIZER_VAC_PROTECTION)) {
        case 'add':
          await kube.update(volumeAttributesClasses, withFinalizer(found, FINALIZER_VAC_PROTECTION), {
            signal,
          });
          return done;
        case 'remove-if-unused':
          // The change of the claim or volume enqueues the class again.
          if (claims.byIndex(INDEX, name).length > 0 || volumes.byIndex(INDEX, name).length > 0) return done;
          if (await isUsedLive(name, signal)) {
            return requeueAfter(UNSEEN_MS, 'a claim or volume that the cache does not show uses the class');
          }
          await kube.update(volumeAttributesClasses, withoutFinalizer(found, FINALIZER_VAC_PROTECTION), {
            signal,
          });
          log.v(2).info('Removed the protection finalizer of an unused class', { class: name });
          return done;
        case 'leave':
          return done;
      }
    },
  });

  async function isUsedLive(name: string, signal: AbortSignal): Promise<boolean> {
    const { items: liveClaims } = await kube.list(persistentVolumeClaims, { signal });
    if (liveClaims.some((claim) => classesOfClaim(claim).includes(name))) return true;
    const { items: liveVolumes } = await kube.list(persistentVolumes, { signal });
    return liveVolumes.some((volume) => classesOfVolume(volume).includes(name));
  }

  const classChanged = (changed: VolumeAttributesClass): void => {
    if (decideProtection(changed, FINALIZER_VAC_PROTECTION) !== 'leave') loop.add(changed.metadata.name);
  };
  classes.subscribe({ added: classChanged, updated: (_before, after) => classChanged(after) });
  const released = (names: readonly string[]): void => {
    for (const name of names) {
      if (classes.get(name)?.metadata.deletionTimestamp) loop.add(name);
    }
  };
  claims.subscribe({
    updated: (before) => released(classesOfClaim(before)),
    deleted: (claim) => released(classesOfClaim(claim)),
  });
  volumes.subscribe({
    updated: (before) => released(classesOfVolume(before)),
    deleted: (volume) => released(classesOfVolume(volume)),
  });

  return {
    name: 'volumeattributesclass-protection-controller',
    async run(signal) {
      if (await cachesSynced([classes, claims, volumes], signal)) await loop.run(signal);
    },
  };
}

/** The class that a claim asks for, the one that its volume has, and the one that a modification is under way to. */
function classesOfClaim({ spec, status }: PersistentVolumeClaim): string[] {
  const names = [
    spec.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ];
  return [...new Set(names.filter((name) => name !== undefined && name !== ''))] as string[];
}

function classesOfVolume({ spec }: PersistentVolume): string[] {
  return spec.volumeAttributesClassName ? [spec.volumeAttributesClassName] : [];
}
