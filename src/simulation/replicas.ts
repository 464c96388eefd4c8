// Worlds with replicas that share (`berth sim --replicas`): asks them at short intervals what they hold to be their own, and
// edits their Leases by hand.

import * as kinds from '../api/kinds.ts';
import { ANN_SHARDING_MEMBER, memberRecordOf } from '../runtime/sharding/member-record.ts';
import { attachmentKey, namespaceKey, volumeKey } from '../runtime/sharding/owner-keys.ts';
import { NAMESPACE } from './drafts.ts';
import { processNames } from './plan.ts';
import type { World } from './world.ts';

const LOOK_MS = 250;
/** After the last process came or went: a Lease runs out (10 s), a newcomer listens (10 s), and late watches (65 s) catch up. */
const BOUND_MS = 90_000;

export function watchShares(world: World): void {
  const { clock, history, plan } = world;
  let quietSinceMs = Number.POSITIVE_INFINITY;
  history.observe((entry) => {
    if (entry.kind === 'process' || (entry.kind === 'phase' && entry.phase === 'converge'))
      quietSinceMs = entry.atMs;
    else if (entry.kind === 'phase' && entry.phase === 'faults') quietSinceMs = Number.POSITIVE_INFINITY;
  });
  const names = processNames(plan);
  const groups = Map.groupBy(
    names.filter((name) => /-\d+$/.test(name)),
    (name) => name.replace(/-\d+$/, ''),
  );
  let isCalm = false;
  history.observe((entry) => {
    if (entry.kind === 'phase') isCalm = entry.phase !== 'faults';
  });
  const look = (): void => {
    if (history.violations.length > 0) return;
    const isQuiet = isCalm && clock.monotonicMs() - quietSinceMs > BOUND_MS;
    for (const [group, members] of groups) {
      for (const key of keysOf(world, group.split('-')[0] as string)) {
        const owners = members.filter(
          (name) => world.processes.get(name)?.alive && world.shares.get(name)?.owns(key),
        );
        if (owners.length > 1) {
          history.violate('two-owners', `${key} is the share of ${owners.join(' and ')}`);
          return;
        }
        if (owners.length === 0 && isQuiet) {
          history.violate('no-owner', `${key} of ${group} has had no owner for ${BOUND_MS / 1000} s`);
        }
      }
    }
    clock.setTimeout(look, LOOK_MS);
  };
  clock.setTimeout(look, LOOK_MS);
}

/** What the group of a kind of process divides, as far as it exists now. */
function keysOf({ server: { reader } }: World, kind: string): string[] {
  const uids = (resource: Parameters<typeof reader.list>[0]): string[] =>
    [...reader.list(resource)].map(({ metadata }) => metadata.uid);
  switch (kind) {
    case 'provisioner':
      return [...uids(kinds.persistentVolumeClaims), ...uids(kinds.persistentVolumes)];
    case 'resizer':
      return uids(kinds.persistentVolumeClaims);
    case 'attacher':
      return [
        ...[...reader.list(kinds.persistentVolumes)].map(({ metadata }) => volumeKey(metadata.name)),
        ...[...reader.list(kinds.volumeAttachments)].map((each) => attachmentKey(each) ?? ''),
      ];
    case 'snapshotter':
      return [...uids(kinds.volumeSnapshotContents), ...uids(kinds.volumeGroupSnapshotContents)];
    default:
      return [namespaceKey(NAMESPACE)];
  }
}

/** Deletes the Lease of a replica, damages what it says, or gives it back what it said long ago. */
export async function editMemberLease(
  { admin, server }: World,
  process: string,
  draw: number,
): Promise<void> {
  const lease = [...server.reader.list(kinds.leases)].find((each) =>
    memberRecordOf(each)?.id.startsWith(`${process}_`),
  );
  if (lease === undefined) return;
  const { name, namespace = '' } = lease.metadata;
  const said = lease.metadata.annotations?.[ANN_SHARDING_MEMBER] ?? '';
  const texts = [said.replace('false', 'true'), said.replace(/members\\":\[[^\]]*\]/, 'members\\":[]'), ''];
  const text = texts[draw % 4];
  const edit =
    text === undefined
      ? admin.delete(kinds.leases, { name, namespace })
      : admin.patch(
          kinds.leases,
          { name, namespace },
          { metadata: { annotations: { [ANN_SHARDING_MEMBER]: text } }, spec: { holderIdentity: '' } },
          { type: 'merge' },
        );
  await edit.catch(() => {});
}
