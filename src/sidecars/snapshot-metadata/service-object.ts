// Keeps the driver's SnapshotMetadataService object, by which backup programs find the service: address, audience and the
// authority of the certificate, which is read again from its file. Used only with --service-address; otherwise somebody else
// makes the object.

import { readFile } from 'node:fs/promises';
import { type SnapshotMetadataService, snapshotMetadataServices } from '../../api/kinds.ts';
import { sameJson } from '../../api/same-json.ts';
import { isNotFound } from '../../runtime/kube/kube-error.ts';
import type { SidecarPorts } from '../common/sidecar.ts';

/** Also how soon a renewed authority is published. */
const LOOK_MS = 10_000;

export interface ServiceObjectOptions {
  address: string;
  audience: string;
  caFile: string;
}

/** Until the signal aborts. The object stays: another replica may serve. */
export async function keepServiceObject(
  { kube, driver, clock, log }: Pick<SidecarPorts, 'kube' | 'driver' | 'clock' | 'log'>,
  { address, audience, caFile }: ServiceObjectOptions,
  signal: AbortSignal,
): Promise<void> {
  const { name } = driver;
  const write = async (): Promise<void> => {
    const caCert = (await readFile(caFile)).toString('base64');
    const spec: SnapshotMetadataService['spec'] = { address, audience, caCert };
    try {
      const found = await kube.get(snapshotMetadataServices, { name }, { signal });
      if (sameJson(found.spec, spec)) return;
      await kube.patch(snapshotMetadataServices, { name }, { spec }, { type: 'merge', signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await kube.create(snapshotMetadataServices, { metadata: { name }, spec }, { signal });
    }
    log.info('Published the service', { snapshotMetadataService: name, address, audience });
  };
  while (!signal.aborted) {
    await write().catch((error: unknown) => {
      if (!signal.aborted)
        log.warn('Could not publish the service; trying again', { inMs: LOOK_MS, err: error });
    });
    await clock.sleep(LOOK_MS, signal).catch(() => {});
  }
}
