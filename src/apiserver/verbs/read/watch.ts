// Watches the objects of a kind from a revision on. Events reach the sink in revision order, without gaps; an object
// that starts or stops matching the selection appears as added or deleted.

import type { Version } from '../../storage/version.ts';
import { forbidden } from '../../validation/checks.ts';
import { present, storageTypeOf } from '../presentation.ts';
import type { Machine, ResourceRequest } from '../request.ts';
import { expired, invalidOptions, tooLargeResourceVersion, unclassified } from '../status.ts';
import type { ObjectEvent } from './change-events.ts';
import { candidatesNow, parseResourceVersion } from './list.ts';
import { compileSelection } from './selection.ts';
import { STEP } from './steps.ts';

export interface WatchParameters {
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  resourceVersion?: string | undefined;
  resourceVersionMatch?: string | undefined;
  sendInitialEvents?: boolean | undefined;
  allowBookmarks?: boolean | undefined;
}

export interface WatchStart {
  /**
   * The events before the live ones: current objects as ADDED, or the changes since the given version. Evaluated
   * lazily; undefined after a step that found none.
   */
  readonly past: Iterator<ObjectEvent | undefined>;
  /** Whether a bookmark ends the initial events. */
  readonly endsWithBookmark: boolean;
  /** Starts to send live events to the sink. Called once, in the same turn. */
  follow(sink: (event: ObjectEvent) => void): () => void;
}

export function watch(machine: Machine, request: ResourceRequest, parameters: WatchParameters): WatchStart {
  const { labelSelector, fieldSelector, sendInitialEvents } = parameters;
  const { kind, namespace, name } = request;
  const { store, events } = machine;
  const selection = compileSelection({ kind, namespace, name, labelSelector, fieldSelector });
  checkInitialEvents(parameters);
  const { resourceVersion = '' } = parameters;
  if (!/^[0-9]*$/.test(resourceVersion)) {
    throw unclassified(`resourceVersion: Invalid value: "${resourceVersion}": it is no number`);
  }
  const asked = parseResourceVersion(resourceVersion);
  if (asked !== undefined && asked > store.revision) throw tooLargeResourceVersion(asked, store.revision);
  const fromNow = sendInitialEvents === true || asked === undefined || asked === 0;
  if (!fromNow && asked < store.history.compactedRevision) {
    throw expired(`too old resource version: ${asked} (${store.history.compactedRevision})`);
  }
  const type = storageTypeOf(kind);
  const added = (version: Version): ObjectEvent | undefined =>
    selection.selective && !selection.matches(version)
      ? undefined
      : { kind: 'object', type: 'ADDED', version: present(version, kind) };
  const isEmpty = fromNow && sendInitialEvents === false;
  return {
    past: fromNow
      ? found(isEmpty ? [] : candidatesNow(machine, request, selection), added)
      : found([...store.history.since(type, asked)], (change) => events.eventOf(change, kind, selection)),
    endsWithBookmark: sendInitialEvents === true && parameters.allowBookmarks === true,
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

function* found<T>(
  all: readonly T[],
  eventOf: (each: T) => ObjectEvent | undefined,
): Generator<ObjectEvent | undefined> {
  let missed = 0;
  for (const each of all) {
    const event = eventOf(each);
    if (event !== undefined || ++missed % STEP === 0) yield event;
  }
}

const MATCH = 'resourceVersionMatch';

function checkInitialEvents({ sendInitialEvents, resourceVersionMatch }: WatchParameters): void {
  if (sendInitialEvents === undefined) {
    if (resourceVersionMatch === undefined) return;
    throw invalidOptions(
      'ListOptions',
      forbidden(MATCH, `${MATCH} is forbidden for watch unless sendInitialEvents is provided`),
    );
  }
  if (resourceVersionMatch !== 'NotOlderThan') {
    throw invalidOptions(
      'ListOptions',
      forbidden(MATCH, `sendInitialEvents requires setting ${MATCH} to NotOlderThan`),
    );
  }
}
