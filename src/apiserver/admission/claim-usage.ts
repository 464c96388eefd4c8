// Storage requested by the claims of a namespace, for namespaces with a quota. Counted once, then updated with each
// commit. Pending writes are added at each query, so that of two claims created at the same moment the second is
// checked with the first included.

import { addUsage, claimUsage, NO_USAGE, subtractUsage, type Usage } from '../../api/claim-quota.ts';
import { type PersistentVolumeClaim, persistentVolumeClaims } from '../../api/kinds.ts';
import type { Reader } from '../pipeline.ts';

export class ClaimUsage {
  readonly #reader: Reader;
  /** Of committed claims, by namespace. */
  #counted: Map<string, Usage> | undefined;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  of(namespace: string): Usage {
    const counted = this.#follow();
    let usage = counted.get(namespace);
    if (usage === undefined) {
      usage = NO_USAGE;
      for (const claim of this.#reader.list(persistentVolumeClaims, namespace)) {
        usage = addUsage(usage, claimUsage(claim));
      }
      counted.set(namespace, usage);
    }
    for (const { before, after } of this.#reader.pending(persistentVolumeClaims, namespace)) {
      usage = change(usage, before, after);
    }
    return usage;
  }

  #follow(): Map<string, Usage> {
    if (this.#counted !== undefined) return this.#counted;
    const counted = new Map<string, Usage>();
    this.#reader.subscribe(persistentVolumeClaims, (before, after) => {
      const namespace = (after ?? before)?.metadata.namespace ?? '';
      const usage = counted.get(namespace);
      if (usage !== undefined) counted.set(namespace, change(usage, before, after));
    });
    this.#counted = counted;
    return counted;
  }
}

function change(
  usage: Usage,
  before: PersistentVolumeClaim | undefined,
  after: PersistentVolumeClaim | undefined,
): Usage {
  const less = before ? subtractUsage(usage, claimUsage(before)) : usage;
  return after ? addUsage(less, claimUsage(after)) : less;
}
