// All volumes that a driver lists, page by page.

import { csiClient } from '../../csi/client/csi-client.ts';
import type { CsiTransport } from '../../csi/client/transport.ts';
import { Controller, type ListVolumesResponse_Entry } from '../../csi/generated/csi/v1/csi_pb.ts';

export interface ListVolumesOptions {
  timeoutMs: number;
  /** Volumes a page; 0: as the driver likes. */
  maxEntries?: number;
  signal: AbortSignal;
}

/** Throws when the driver's pages would never end. */
export async function* listVolumes(
  csi: CsiTransport,
  { timeoutMs, maxEntries = 0, signal }: ListVolumesOptions,
): AsyncGenerator<ListVolumesResponse_Entry> {
  const controller = csiClient(Controller, csi, { timeoutMs });
  const tokens = new Set<string>();
  let startingToken = '';
  do {
    const page = await controller.listVolumes({ startingToken, maxEntries }, { signal });
    yield* page.entries;
    startingToken = page.nextToken;
    if (tokens.has(startingToken)) {
      throw new Error('the driver gives the same page token twice, so its list would never end');
    }
    tokens.add(startingToken);
  } while (startingToken !== '');
}
