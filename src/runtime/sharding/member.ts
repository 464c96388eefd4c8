// Who this member is, and the ports that it uses. Shared by the parts of a membership.

import type { KubeClient } from '../kube/kube.ts';
import type { Clock, Log } from '../ports.ts';
import type { MemberTimes } from './member-times.ts';

export interface Member {
  kube: KubeClient;
  clock: Clock;
  log: Log;
  namespace: string;
  /** The name of the single Lease that the group holds. */
  group: string;
  /** Unique among the members. */
  id: string;
  /** The version of the hash function; see rendezvous.ts. */
  hash: number;
  times: MemberTimes;
}

/** Lower case and short enough for the name of an object. */
export function memberLeaseName({ group, id }: Pick<Member, 'group' | 'id'>): string {
  const name = `${group}.${id}`.toLowerCase().replaceAll(/[^a-z0-9.-]/g, '-');
  return name.slice(-253).replace(/^[^a-z0-9]+/, '');
}
