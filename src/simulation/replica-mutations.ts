// The deliberate bugs of replicas that share: in the fence, in hashing and in handing over.

import { type Lease, leases } from '../api/kinds.ts';
import type { Resource } from '../api/object.ts';
import { KubeError } from '../runtime/kube/kube-error.ts';
import {
  ANN_SHARDING_MEMBER,
  type MemberRecord,
  memberRecordOf,
  memberText,
} from '../runtime/sharding/member-record.ts';
import { memberTimes } from '../runtime/sharding/member-times.ts';
import { ownerOf } from '../runtime/sharding/rendezvous.ts';
import { SIM_MEMBER_DURATION_MS } from './components.ts';
import { type Mutation, seenAs } from './mutation.ts';

/** The Lease as if its member had said something else. Other Leases are unchanged. */
function saying(lease: Lease, change: (record: MemberRecord) => Partial<MemberRecord>): Lease {
  const record = memberRecordOf(lease);
  if (record === undefined) return lease;
  const text = memberText({ ...record, ...change(record) });
  const annotations = { ...lease.metadata.annotations, [ANN_SHARDING_MEMBER]: text };
  return { ...lease, metadata: { ...lease.metadata, annotations } };
}

const areLeases = (resource: Resource): boolean => resource.plural === leases.plural;

export const REPLICA_MUTATIONS = {
  'late-deadline': {
    what: 'fence: a replica goes on for a minute after its last renewal, while others count it as dead',
    rule: 'two-owners',
    sharding: () => ({
      member: { times: { ...memberTimes(SIM_MEMBER_DURATION_MS), renewDeadlineMs: 60_000 } },
    }),
  },
  'takes-silence-for-death': {
    what: 'fence: what a replica reads from the server before it takes over is old, so that a late watch kills others',
    rule: 'two-owners',
    kube: (inner) => {
      const asFirstRead = new Map<string, Lease>();
      return {
        ...inner,
        async list(resource, options) {
          const list = await inner.list(resource, options);
          if (!areLeases(resource) || !options?.labelSelector) return list;
          for (const lease of list.items) {
            const { name } = lease.metadata;
            if (!asFirstRead.has(name)) asFirstRead.set(name, lease as Lease);
          }
          return { ...list, items: list.items.map(({ metadata }) => asFirstRead.get(metadata.name)) };
        },
      } as typeof inner;
    },
  },
  'other-hash': {
    what: 'hashing: one replica has another hash function under the same version',
    rule: 'two-owners',
    sharding: ({ name }) =>
      name.endsWith('-1') ? { member: { ownerOf: (key, members) => ownerOf(`other ${key}`, members) } } : {},
  },
  'does-not-wait': {
    what: 'hand-over: a replica begins with its share before the one that had it says that it has given it away',
    rule: 'two-owners',
    kube: (inner) =>
      seenAs(inner, leases, (lease) =>
        saying(lease, ({ members }) => ({ members: members.length > 0 ? ['nobody'] : [] })),
      ),
  },
  'forgets-kept': {
    what: 'hand-over: a replica begins with objects that the one before it still works on',
    rule: 'two-owners',
    kube: (inner) => seenAs(inner, leases, (lease) => saying(lease, () => ({ kept: [] }))),
  },
  'never-confirms': {
    what: 'hand-over: one replica takes part in the division and never takes over its share',
    rule: 'no-owner',
    process: 'provisioner-d1-1',
    kube: (inner) => ({
      ...inner,
      list(resource, options) {
        if (!areLeases(resource) || !options?.labelSelector) return inner.list(resource, options);
        const message = 'list leases: the connection was lost';
        return Promise.reject(new KubeError({ reason: 'Unreachable', code: 0, message }));
      },
    }),
  },
} as const satisfies Record<string, Mutation>;
