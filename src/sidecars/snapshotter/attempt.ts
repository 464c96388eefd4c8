// One attempt to create a snapshot, read from its durable record: annotations on the content, written before the driver
// is called. Pure. (content-writes.ts knows whether this process wrote the record.)
//
//   none ──▶ asking ──▶ recorded     the handle is in the status
//              └──────▶ none         the driver has definitely failed

import type { VolumeSnapshotContent } from '../../api/kinds.ts';
import { ANN_SNAPSHOT_BEING_CREATED, ANN_SNAPSHOT_PARAMETERS } from '../../api/well-known.ts';
import type { EarlierCalls } from '../../csi/outcome.ts';

export type Attempt =
  | { is: 'none' }
  /** The driver may have created a snapshot whose handle is unknown. `earlier`: the recorded request. */
  | { is: 'asking'; earlier: Exclude<EarlierCalls, 'none'> }
  /** `isTidy`: the record is removed. */
  | { is: 'recorded'; handle: string; isTidy: boolean };

export function attemptOn({ metadata: { annotations = {} }, status }: VolumeSnapshotContent): Attempt {
  const begun = ANN_SNAPSHOT_BEING_CREATED in annotations;
  const parameters = ANN_SNAPSHOT_PARAMETERS in annotations;
  if (status?.snapshotHandle) {
    return { is: 'recorded', handle: status.snapshotHandle, isTidy: !begun && !parameters };
  }
  // The official snapshotter records no parameters: the class may have changed since.
  return begun ? { is: 'asking', earlier: parameters ? 'the same' : 'something else' } : { is: 'none' };
}
