// One attempt to create a snapshot or a group snapshot, read from its durable record: annotations on the content, written
// before the driver is called. Pure. (content-writes.ts knows whether this process wrote the record.)
//
//   none ──▶ asking ──▶ recorded     the handle is in the status
//              └──────▶ none         the driver has definitely failed

import type { GroupSnapshotHandle, SnapshotHandle } from '../../csi/names/driver-name.ts';
import type { EarlierCalls } from '../../csi/outcome.ts';

/** Of the snapshot or group snapshot that a content stands for. */
export type ContentHandle = SnapshotHandle | GroupSnapshotHandle;

/** The annotations that make up the record. */
export interface RecordKeys {
  beingCreated: string;
  /** JSON: the parameters of the call. */
  parameters: string;
}

export type Attempt =
  | { is: 'none' }
  /** The driver may have created a snapshot whose handle is unknown. `earlier`: the recorded request. */
  | { is: 'asking'; earlier: Exclude<EarlierCalls, 'none'> }
  /** `isTidy`: the record is removed, and no call is in flight. Until the snapshot is ready, Create… is repeated. */
  | { is: 'recorded'; handle: ContentHandle; isTidy: boolean };

export function attemptFrom(
  annotations: Readonly<Record<string, string>> = {},
  { handle, keys }: { handle: ContentHandle | undefined; keys: RecordKeys },
): Attempt {
  const begun = keys.beingCreated in annotations;
  const parameters = keys.parameters in annotations;
  if (handle) return { is: 'recorded', handle, isTidy: !begun && !parameters };
  // The official snapshotter records no parameters: the class may have changed since.
  return begun ? { is: 'asking', earlier: parameters ? 'the same' : 'something else' } : { is: 'none' };
}
