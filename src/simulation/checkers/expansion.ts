// No object reports a volume as larger than it is, and a driver that may be working on one size is not asked for another.

import type { PersistentVolume, PersistentVolumeClaim } from '../../api/kinds.ts';
import { quantityToBytes } from '../../api/quantity.ts';
import { isFinal, outcomes } from '../../csi/outcome.ts';
import type { GrpcCode } from '../../wire/grpc/grpc-code.ts';
import type { CallFacts } from '../history.ts';
import { bytesAsked } from '../storage-backend.ts';
import type { Checker, Rules } from './index.ts';

const GIB = 1n << 30n;
const METHOD = 'ControllerExpandVolume';

export function expansionChecker({ plan, violate }: Rules): Checker {
  const expanding = new Map(
    plan.drivers.flatMap(({ name, expands }) => (expands ? [[name, expands] as const] : [])),
  );
  if (expanding.size === 0) return {};
  /** By volume ID: the size of the storage, and of its filesystem. */
  const stored = new Map<string, bigint>();
  const followed = new Map<string, bigint>();
  const handles = new Map<string, { id: string; driver: string }>();
  /** By volume ID: the size that an uncertain call asked for. */
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
    // Has no effect, whenever it arrives.
    if ((stored.get(volume) ?? 0n) >= bytes) return;
    const before = open.get(volume);
    if (before !== undefined && before !== bytes) {
      const sizes = `${bytes / GIB}Gi while one for ${before / GIB}Gi may be under way`;
      violate('changed-request', `${actor}: ControllerExpandVolume ${volume} for ${sizes}`);
    }
    open.set(volume, bytes);
  }

  return {
    storage({ change, volume, gib }) {
      if (gib === undefined) return;
      const bytes = BigInt(gib) * GIB;
      if (change !== 'expanded') stored.set(volume, bytes);
      if (change !== 'grown') followed.set(volume, bytes);
    },
    api({ plural, after }) {
      if (!after) return;
      if (plural === 'persistentvolumes') volumeSays(after as PersistentVolume);
      else if (plural === 'persistentvolumeclaims') claimSays(after as PersistentVolumeClaim);
    },
    call({ call, actor }) {
      if (call.method === METHOD) asked(call, actor);
    },
    returned({ call, code }) {
      if (call.method !== METHOD) return;
      const verdict = outcomes[METHOD][code as GrpcCode];
      if (verdict && isFinal(verdict)) open.delete(call.volume);
    },
  };
}
