// One attempt to make a snapshot, from its one durable record: annotations on the content, written before the driver is
// asked. Pure. (Whether the record is one that this process has written is content-writes.ts's to know.)
//
//   none ──▶ asking ──▶ recorded     the handle is in the status
//              └──────▶ none         the driver has said a final no

import type { VolumeSnapshotContent } from '../../api/kinds.ts';
import { ANN_SNAPSHOT_BEING_CREATED, ANN_SNAPSHOT_PARAMETERS } from '../../api/well-known.ts';
import type { EarlierCalls } from '../../csi/outcome.ts';

export type Attempt =
  | { is: 'none' }
  /** The driver may have made a snapshot whose handle nobody knows. `earlier`: what it was asked for. */
  | { is: 'asking'; earlier: Exclude<EarlierCalls, 'none'> }
  /** `isTidy`: nothing of the record is left. */
  | { is: 'recorded'; handle: string; isTidy: boolean };

export function attemptOn({ metadata: { annotations = {} }, status }: VolumeSnapshotContent): Attempt {
  const begun = ANN_SNAPSHOT_BEING_CREATED in annotations;
  const parameters = ANN_SNAPSHOT_PARAMETERS in annotations;
  if (status?.snapshotHandle) {
    return { is: 'recorded', handle: status.snapshotHandle, isTidy: !begun && !parameters };
  }
  // The official snapshotter records no parameters: its class may be another by now.
  return begun ? { is: 'asking', earlier: parameters ? 'the same' : 'something else' } : { is: 'none' };
}
