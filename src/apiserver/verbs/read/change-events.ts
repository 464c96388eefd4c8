// What watchers are told of a change, made once for all who are told the same. Each server has one.

import { apiVersionOf } from '../../../api/object.ts';
import type { Kind } from '../../kind.ts';
import type { Change } from '../../storage/recent-changes.ts';
import { Version } from '../../storage/version.ts';
import { present } from '../presentation.ts';
import type { CompiledSelection } from './selection.ts';

/** Shared by all who are told the same, so that its wire form can be made once. */
export interface ObjectEvent {
  readonly kind: 'object';
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly version: Version;
  /** Absent for what was there when the watch began. */
  readonly change?: Change;
}

export class ChangeEvents {
  /** A change is told to one watcher after the other: the event of the last one is kept for the next of them. */
  #lastWhole: ObjectEvent | undefined;
  readonly #left = new WeakMap<Change, Version>();

  /** Undefined when the selection matches neither the state before nor the state after. */
  eventOf(change: Change, kind: Kind, selection: CompiledSelection): ObjectEvent | undefined {
    if (selection.everything && change.last.isOf(apiVersionOf(kind))) return this.#wholeEvent(change);
    if (selection.onlyKey !== undefined && change.key !== selection.onlyKey) return undefined;
    const { before, after, last } = change;
    const did = before !== undefined && selection.matches(before);
    const does = after !== undefined && selection.matches(after);
    if (does)
      return { kind: 'object', type: did ? 'MODIFIED' : 'ADDED', version: present(after, kind), change };
    if (!did) return undefined;
    // A watcher that must forget the object sees its last matching state, at the revision that ended it.
    const version = after === undefined ? last : this.#atRevision(before, change);
    return { kind: 'object', type: 'DELETED', version: present(version, kind), change };
  }

  /** As everyone sees it who selects nothing. */
  #wholeEvent(change: Change): ObjectEvent {
    if (this.#lastWhole?.change === change) return this.#lastWhole;
    const { before, after, last } = change;
    const type = after === undefined ? 'DELETED' : before === undefined ? 'ADDED' : 'MODIFIED';
    this.#lastWhole = { kind: 'object', type, version: last, change };
    return this.#lastWhole;
  }

  #atRevision(before: Version, change: Change): Version {
    let version = this.#left.get(change);
    if (version === undefined) {
      const { object: shown } = before;
      const metadata = { ...shown.metadata, resourceVersion: String(change.revision) };
      const object = { ...shown, metadata };
      version = new Version({ key: before.key, revision: change.revision, object, freeze: false });
      this.#left.set(change, version);
    }
    return version;
  }
}
