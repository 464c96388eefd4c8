// Follows the objects of a kind from a revision on. What it hands to its sink is in revision order, without gaps;
// an object that starts or stops matching the selection appears as added or deleted.

import type { Version } from '../../storage/version.ts';
import { storageTypeOf } from '../presentation.ts';
import type { Machine, ResourceRequest } from '../request.ts';
import { badRequest, expired, tooLargeResourceVersion } from '../status.ts';
import type { ObjectEvent } from './change-events.ts';
import { listSelected, parseResourceVersion } from './list.ts';
import { compileSelection } from './selection.ts';

export interface WatchParameters {
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  resourceVersion?: string | undefined;
  resourceVersionMatch?: string | undefined;
  sendInitialEvents?: boolean | undefined;
  allowBookmarks?: boolean | undefined;
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
  const { kind, namespace, name } = request;
  const { store, events } = machine;
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
    backlog: replayed.flatMap((change) => events.eventOf(change, kind, selection) ?? []),
    follow: (sink) =>
      store.subscribe(
        type,
        (change) => {
          const event = events.eventOf(change, kind, selection);
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
