// `berth snapshot-metadata`: a drop-in for the official external-snapshot-metadata.

import { endpointFlags } from '../runtime/process/process-flags.ts';
import { snapshotMetadataSidecar } from '../sidecars/snapshot-metadata/snapshot-metadata-sidecar.ts';
import { sidecarCommand } from './sidecar-command.ts';

export const command = sidecarCommand(snapshotMetadataSidecar, {
  summary: 'Tells backup programs which blocks of a snapshot hold data, or changed',
  description:
    'Serves the SnapshotMetadata service over TLS: reviews the token of the caller, finds the snapshot and asks the driver. ' +
    'Accepts the flags of the official external-snapshot-metadata.',
  flags: { 'http-endpoint': { ...endpointFlags['http-endpoint'], default: ':8080' } },
});
