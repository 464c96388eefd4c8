// Follows the objects of a kind from a revision on. What it hands to its sink is in revision order, without gaps;
// an object that starts or stops matching the selection appears as added or deleted.

import { apiVersionOf } from '../../../api/object.ts';
import type { Kind } from '../../kind.ts';
import type { Change } from '../../storage/history.ts';
import { Version } from '../../storage/version.ts';
import { present, storageTypeOf } from '../presentation.ts';
import { authorize, type Machine, type ResourceRequest } from '../request.ts';
import { badRequest, expired, tooLargeResourceVersion } from '../status.ts';
import { listSelected, parseResourceVersion } from './list.ts';
import { type CompiledSelection, compileSelection } from './selection.ts';

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

export interface WatchParameters {
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  resourceVersion?: string | undefined;
  resourceVersionMatch?: string | undefined;
  sendInitialEvents?: boolean | undefined;
  allowBookmarks?: boolean | undefined;
}

/** What a watcher is told of one object. Shared by all who are told the same, so that its wire form can be made once. */
export interface ObjectEvent {
  readonly kind: 'object';
  readonly type: EventType;
  readonly version: Version;
  /** Absent for what was there when the watch began. */
  readonly change?: Change;
}

export interface WatchStart {
  /** Current objects to send as ADDED before anything else. */
  readonly initial: readonly Version[];
  /** Whether a bookmark that ends the initial events follows them. */
  readonly endsWithBookmark: boolean;
  /** Changes since the given version, to be sent next. */
  readonly backlog: readonly ObjectEvent[];
  /** From where on events go to the sink. Called once, in the same turn. */
  follow(sink: (event: ObjectEvent) => void): () => void;
}

export function watch(machine: Machine, request: ResourceRequest, parameters: WatchParameters): WatchStart {
  const { labelSelector, fieldSelector, sendInitialEvents } = parameters;
  authorize(machine, 'watch', request, fieldSelector);
  const { kind, namespace, name } = request;
  const { store } = machine;
  const selection = compileSelection({ kind, namespace, name, labelSelector, fieldSelector });
  const asked = parseResourceVersion(parameters.resourceVersion);
  checkInitialEvents(parameters);
  if (asked !== undefined && asked > store.revision) throw tooLargeResourceVersion(asked, store.revision);
  const fromNow = sendInitialEvents === true || asked === undefined || asked === 0;
  if (!fromNow && asked < store.history.compactedRevision) {
    throw expired(`too old resource version: ${asked} (${store.history.compactedRevision})`);
  }
  const type = storageTypeOf(kind);
  const replayed = fromNow ? [] : [...store.history.since(type, asked)];
  return {
    initial:
      fromNow && sendInitialEvents !== false ? listSelected(machine, request, selection, {}).items : [],
    endsWithBookmark: sendInitialEvents === true && parameters.allowBookmarks === true,
    backlog: replayed.flatMap((change) => eventOf(change, kind, selection) ?? []),
    follow: (sink) =>
      store.subscribe(
        type,
        (change) => {
          const event = eventOf(change, kind, selection);
          if (event !== undefined) sink(event);
        },
        selection.onlyKey,
      ),
  };
}

function checkInitialEvents({ sendInitialEvents, resourceVersionMatch }: WatchParameters): void {
  if (sendInitialEvents === undefined) {
    if (resourceVersionMatch === undefined) return;
    throw badRequest(
      'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
    );
  }
  if (resourceVersionMatch !== 'NotOlderThan') {
    throw badRequest(
      'resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
    );
  }
}

function eventOf(change: Change, kind: Kind, selection: CompiledSelection): ObjectEvent | undefined {
  if (selection.everything && change.last.isOf(apiVersionOf(kind))) return wholeEvent(change);
  if (selection.onlyKey !== undefined && change.key !== selection.onlyKey) return undefined;
  const { before, after, last } = change;
  const did = before !== undefined && selection.matches(before);
  const does = after !== undefined && selection.matches(after);
  if (does)
    return { kind: 'object', type: did ? 'MODIFIED' : 'ADDED', version: present(after, kind), change };
  if (!did) return undefined;
  // A watcher that must forget the object sees its last matching state, at the revision that ended it.
  const version = after === undefined ? last : atRevision(before, change);
  return { kind: 'object', type: 'DELETED', version: present(version, kind), change };
}

/** A change is told to one watcher after the other: the event of the last one is kept for the next of them. */
let lastWhole: ObjectEvent | undefined;

/** As everyone sees it who selects nothing. */
function wholeEvent(change: Change): ObjectEvent {
  if (lastWhole?.change === change) return lastWhole;
  const { before, after, last } = change;
  const type = after === undefined ? 'DELETED' : before === undefined ? 'ADDED' : 'MODIFIED';
  lastWhole = { kind: 'object', type, version: last, change };
  return lastWhole;
}

const left = new WeakMap<Change, Version>();

function atRevision(before: Version, change: Change): Version {
  let version = left.get(change);
  if (version === undefined) {
    const { object: shown } = before;
    const metadata = { ...shown.metadata, resourceVersion: String(change.revision) };
    const object = { ...shown, metadata };
    version = new Version({ key: before.key, revision: change.revision, object, freeze: false });
    left.set(change, version);
  }
  return version;
}
