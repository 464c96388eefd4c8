// Writes this member's Lease, whatever others did to it: one that was deleted is created again, one that was edited is
// overwritten. Only this process writes records under its name, so nothing of worth is lost.

import { type Lease, leases } from '../../api/kinds.ts';
import type { Draft } from '../../api/object.ts';
import { ifThere } from '../kube/if-there.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../kube/kube-error.ts';
import { type Member, memberLeaseName } from './member.ts';
import { type MemberRecord, memberLease, memberRecordOf } from './member-record.ts';

export class MemberLeaseWriter {
  readonly #member: Member;
  readonly #name: string;
  /** As last answered by the server. */
  #lease: Lease | undefined;

  constructor(member: Member) {
    this.#member = member;
    this.#name = memberLeaseName(member);
  }

  /** Whether there is a Lease of this process, as far as it knows. */
  get isWritten(): boolean {
    return this.#lease !== undefined;
  }

  async write(record: MemberRecord, signal: AbortSignal): Promise<void> {
    const { kube, clock, log, namespace, group } = this.#member;
    const draft = (known: Lease | undefined): Draft<Lease> =>
      memberLease(known, { namespace, name: this.#name, group, record, wallMs: clock.now() });
    for (let attempt = 1; ; attempt++) {
      try {
        this.#lease = this.#lease
          ? await kube.update(leases, draft(this.#lease), { signal })
          : await kube.create(leases, draft(undefined), { signal });
        return;
      } catch (error) {
        if (attempt >= 3) throw error;
        if (isNotFound(error) && this.#lease !== undefined) {
          log.warn('The Lease of this replica was deleted by somebody else; writing it again');
          this.#lease = undefined;
        } else if (isConflict(error) || isAlreadyExists(error)) {
          this.#lease = await ifThere(kube.get(leases, { namespace, name: this.#name }, { signal }));
          const found = this.#lease && memberRecordOf(this.#lease);
          // The answer to an earlier write of this process may have been lost.
          if (found?.id !== record.id) {
            const what = this.#lease ? 'changed' : 'deleted';
            log.warn(`The Lease of this replica was ${what} by somebody else; writing it again`);
          }
        } else throw error;
      }
    }
  }

  async remove(signal: AbortSignal): Promise<void> {
    const { kube, namespace } = this.#member;
    await ifThere(kube.delete(leases, { namespace, name: this.#name }, { signal }));
  }
}
