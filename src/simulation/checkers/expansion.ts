// Nobody says that a volume is larger than it is, and while the driver may be at work on one size, it is asked for no other.

import type { PersistentVolume, PersistentVolumeClaim } from '../../api/kinds.ts';
import { quantityToBytes } from '../../api/quantity.ts';
import { isFinal, outcomes } from '../../csi/outcome.ts';
import type { CallFacts } from '../history.ts';
import { bytesAsked } from '../storage-backend.ts';
import type { Checker, Rules } from './index.ts';

const GIB = 1n << 30n;

export function expansionChecker({ plan, violate }: Rules): Checker {
  const expanding = new Map(
    plan.drivers.flatMap(({ name, expands }) => (expands ? [[name, expands] as const] : [])),
  );
  if (expanding.size === 0) return () => {};
  /** By volume ID: what the storage has, and what its filesystem was made to follow. */
  const stored = new Map<string, bigint>();
  const followed = new Map<string, bigint>();
  const handles = new Map<string, { id: string; driver: string }>();
  /** By volume ID: the size of a call of which it is not certain how it ended. */
  const open = new Map<string, bigint>();

  function claimSays(claim: PersistentVolumeClaim): void {
    const volume = handles.get(claim.spec.volumeName ?? '');
    const storage = claim.status?.capacity?.storage;
    if (volume === undefined || storage === undefined) return;
    const has = (expanding.get(volume.driver) === 'node' ? followed : stored).get(volume.id) ?? 0n;
    const says = quantityToBytes(storage);
    if (says > has)
      violate('size', `claim ${claim.metadata.name} says ${storage}, volume ${volume.id} has ${has / GIB}Gi`);
  }

  function volumeSays({ metadata, spec }: PersistentVolume): void {
    const { driver = '', volumeHandle: id = '' } = spec.csi ?? {};
    if (!expanding.has(driver)) return;
    handles.set(metadata.name, { id, driver });
    const has = stored.get(id);
    const storage = spec.capacity?.storage ?? '0';
    if (has !== undefined && quantityToBytes(storage) > has)
      violate('size', `volume ${metadata.name} says ${storage}, ${id} has ${has / GIB}Gi`);
  }

  function asked({ volume, rest }: CallFacts, actor: string): void {
    const bytes = bytesAsked({ rest });
    // Whenever it arrives, there is nothing left to do for it.
    if ((stored.get(volume) ?? 0n) >= bytes) return;
    const before = open.get(volume);
    if (before !== undefined && before !== bytes) {
      const sizes = `${bytes / GIB}Gi while one for ${before / GIB}Gi may be under way`;
      violate('changed-request', `${actor}: ControllerExpandVolume ${volume} for ${sizes}`);
    }
    open.set(volume, bytes);
  }

  return (entry) => {
    if (entry.kind === 'storage' && entry.gib !== undefined) {
      const bytes = BigInt(entry.gib) * GIB;
      if (entry.change !== 'expanded') stored.set(entry.volume, bytes);
      if (entry.change !== 'grown') followed.set(entry.volume, bytes);
    } else if (entry.kind === 'api' && entry.after) {
      if (entry.plural === 'persistentvolumes') volumeSays(entry.after as PersistentVolume);
      else if (entry.plural === 'persistentvolumeclaims') claimSays(entry.after as PersistentVolumeClaim);
    } else if (entry.kind === 'call' && entry.call.method === 'ControllerExpandVolume') {
      asked(entry.call, entry.actor);
    } else if (entry.kind === 'returned' && entry.call.method === 'ControllerExpandVolume') {
      const row = outcomes.ControllerExpandVolume as Record<string, Parameters<typeof isFinal>[0]>;
      const verdict = row[entry.code];
      if (verdict && isFinal(verdict)) open.delete(entry.call.volume);
    }
  };
}
