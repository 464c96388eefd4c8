// `berth snapshot-metadata` as a sidecar: the official external-snapshot-metadata's flags. It serves callers, so every
// replica does, without a lease.

import { featureGatesFlag } from '../../runtime/flags/feature-gates.ts';
import { boolFlag, durationFlag, intFlag, stringFlag } from '../../runtime/flags/flag.ts';
import { releaseOnExitGate } from '../../runtime/process/process-flags.ts';
import { defineSidecar } from '../common/sidecar.ts';
import { createSnapshotMetadata } from './snapshot-metadata.ts';
import { tlsFlags, tlsSettings } from './tls-flags.ts';

const MINUTE_MS = 60_000;

export const snapshotMetadataSidecar = defineSidecar({
  name: 'snapshot-metadata',
  flags: {
    timeout: durationFlag({ help: 'Time-out of the first calls to the driver', default: 60_000, min: 1 }),
    port: intFlag({ help: 'TCP port of the service', default: 50051, min: 0, max: 65535 }),
    'bind-address': stringFlag({ help: 'Address to listen on; all unless given', default: '' }),
    ...tlsFlags,
    audience: stringFlag({
      help: 'Audience of the tokens; without it that of the SnapshotMetadataService object',
      default: '',
    }),
    'max-streaming-duration-min': intFlag({
      help: 'Limit of one stream, in minutes',
      default: 10,
      min: 1,
    }),
    'service-address': stringFlag({
      help: 'Keep the SnapshotMetadataService object of the driver, with this address; the port of --port is added unless it has one',
      default: '',
    }),
    'tls-ca': stringFlag({
      help: 'File with the authority of --tls-cert, for the object of --service-address',
      default: '',
    }),
    'disable-metrics': boolFlag({
      help: 'Serve health without metrics',
      ignored: 'metrics are served at --http-endpoint, as in every sidecar',
    }),
    'feature-gates': featureGatesFlag(releaseOnExitGate),
  },
  leaseName: (driver) => `external-snapshot-metadata-leader-${driver}`,
  eventSource: (driver) => `external-snapshot-metadata-${driver}`,
  suits: ({ plugin }) => plugin.services.has('SNAPSHOT_METADATA_SERVICE'),
  servesInEveryReplica: true,
  create(ports, flags) {
    const { tlsCert, tlsKey, tlsCa, serviceAddress } = flags;
    if (tlsCert === '' || tlsKey === '') {
      throw new Error('--tls-cert and --tls-key are needed: the service is only served with TLS');
    }
    if (serviceAddress !== '' && tlsCa === '') {
      throw new Error('--service-address needs --tls-ca: callers learn the authority from the object');
    }
    return createSnapshotMetadata(ports, {
      host: flags.bindAddress || undefined,
      port: flags.port,
      files: { certificate: tlsCert, key: tlsKey },
      settings: tlsSettings(flags),
      audience: flags.audience,
      maxStreamMs: flags.maxStreamingDurationMin * MINUTE_MS,
      publish: serviceAddress === '' ? undefined : { address: serviceAddress, caFile: tlsCa },
    });
  },
});
