// Watch events of a change, built once for all watchers that get the same event. One instance per server.

import { apiVersionOf } from '../../../api/object.ts';
import type { Kind } from '../../kind.ts';
import type { Change } from '../../storage/recent-changes.ts';
import { Version } from '../../storage/version.ts';
import { present } from '../presentation.ts';
import type { CompiledSelection } from './selection.ts';

/** Shared by all watchers that get the same event, so that it is encoded once. */
export interface ObjectEvent {
  readonly kind: 'object';
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly version: Version;
  /** Absent for initial events. */
  readonly change?: Change;
}

export class ChangeEvents {
  /** Watchers are notified one after the other: the event of the last one is kept for the next. */
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
    // A watcher whose selection no longer matches gets a DELETED event: the last matching state, with the new revision.
    const version = after === undefined ? last : this.#atRevision(before, change);
    return { kind: 'object', type: 'DELETED', version: present(version, kind), change };
  }

  /** For watchers without selectors. */
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
