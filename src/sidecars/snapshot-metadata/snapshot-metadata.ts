// The snapshot metadata service: which blocks of a snapshot hold data, or changed since another one. Backup programs call it
// over TLS with a token and the names of VolumeSnapshots; it reviews the token, asks the driver, and passes the stream on.
// Reads snapshots, contents, classes and secrets when asked; writes nothing but, if told to, the driver's
// SnapshotMetadataService.

import { snapshotMetadataServices } from '../../api/kinds.ts';
import { csiClient } from '../../csi/client/csi-client.ts';
import type { CsiStreamTransport } from '../../csi/client/transport.ts';
import { CsiError } from '../../csi/csi-error.ts';
import { SnapshotMetadata as DriverMetadata } from '../../csi/generated/csi/v1/csi_pb.ts';
import {
  Health,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../csi/generated/grpc/health/v1/health_pb.ts';
import { SnapshotMetadata } from '../../csi/generated/snapshotmetadata/schema_pb.ts';
import { serveOverTls } from '../../csi/server/serve-over-tls.ts';
import { implement } from '../../csi/server/service-implementation.ts';
import type { CertificateFiles, TlsSettings } from '../../csi/server/watch-certificate.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import { aborted } from '../../runtime/time/until-aborted.ts';
import type { CallContext } from '../../wire/grpc/call-context.ts';
import type { Sidecar, SidecarPorts } from '../common/sidecar.ts';
import { authorizeCaller } from './authorize-caller.ts';
import { type FoundSnapshot, findSnapshot } from './find-snapshot.ts';
import { type MetadataStream, relay } from './relay.ts';
import { keepServiceObject } from './service-object.ts';
import { type StreamMetrics, streamMetrics } from './stream-metrics.ts';

export interface SnapshotMetadataOptions {
  /** All addresses unless given. */
  host?: string | undefined;
  port: number;
  files: CertificateFiles;
  settings: TlsSettings;
  /** Of tokens. Empty: that of the SnapshotMetadataService object. */
  audience: string;
  /** Of a whole stream. */
  maxStreamMs: number;
  /** Keeps the SnapshotMetadataService object with this address, to which the port is added unless it has one. */
  publish?: { address: string; caFile: string } | undefined;
}

/** Requests are a token and a few names. */
const MAX_REQUEST_BYTES = 1 << 20;
/** The driver's stream ends first, with an error that says where to continue; this ends callers that do not read. */
const LIMIT_SLACK_MS = 5_000;
/** For streams under way when the process stops; callers continue elsewhere. */
const GRACE_MS = 5_000;

interface Asked {
  securityToken: string;
  namespace: string;
  /** Of the VolumeSnapshot. */
  name: string;
  /** Required fields by their names in the interface. */
  required: Readonly<Record<string, string>>;
  /** Handle of the base snapshot, in a comparison. */
  base: string;
  startingOffset: bigint;
}

export function createSnapshotMetadata(
  ports: SidecarPorts & { csi: CsiStreamTransport },
  options: SnapshotMetadataOptions,
): Sidecar {
  const { kube, driver, csi, clock, log, metrics } = ports;
  if (!driver.plugin.services.has('SNAPSHOT_METADATA_SERVICE')) {
    throw new Error(`driver ${driver.name} does not have the capability SNAPSHOT_METADATA_SERVICE`);
  }
  const { maxStreamMs, publish } = options;
  const audience = options.audience || (publish ? driver.name : '');
  const client = csiClient(DriverMetadata, csi, { timeoutMs: maxStreamMs });
  const counted: StreamMetrics = streamMetrics({ metrics, clock, driver: driver.name });

  /** The audience is read each time, so that a changed object counts at once. */
  const expectedAudience = async (signal: AbortSignal): Promise<string> => {
    if (audience !== '') return audience;
    try {
      const { spec } = await kube.get(snapshotMetadataServices, { name: driver.name }, { signal });
      return spec.audience;
    } catch (error) {
      throw new CsiError({
        code: 'INTERNAL',
        message: `cannot read SnapshotMetadataService ${driver.name}, which names the audience: ${errorMessage(error)}`,
        cause: error,
      });
    }
  };

  async function* answer(
    asked: Asked,
    context: CallContext,
    ask: (found: FoundSnapshot, signal: AbortSignal) => MetadataStream,
  ) {
    const { namespace, name, securityToken: token } = asked;
    const { signal } = context;
    const operation = counted.begin(asked.base === '' ? 'MetadataAllocated' : 'MetadataDelta');
    try {
      for (const [field, value] of Object.entries({ security_token: token, namespace, ...asked.required })) {
        if (value === '') throw new CsiError({ code: 'INVALID_ARGUMENT', message: `${field} is required` });
      }
      await authorizeCaller(kube, { token, namespace, audience: await expectedAudience(signal), signal });
      operation.about({ target: `${namespace}/${name}`, base: asked.base });
      const found = await findSnapshot(kube, driver.name, { namespace, name, signal });
      log
        .v(4)
        .info('Asking the driver for snapshot metadata', { namespace, snapshot: name, peer: context.peer });
      yield* relay(ask(found, signal), { driver: driver.name, startingOffset: asked.startingOffset });
      operation.end(undefined);
    } catch (error) {
      operation.end(error);
      throw error;
    } finally {
      // The caller left.
      operation.end(new CsiError({ code: 'CANCELLED', message: 'the caller gave up' }));
    }
  }

  const metadata = implement(SnapshotMetadata, {
    getMetadataAllocated: ({ securityToken, namespace, snapshotName, startingOffset, maxResults }, context) =>
      answer(
        {
          securityToken,
          namespace,
          name: snapshotName,
          required: { snapshot_name: snapshotName },
          base: '',
          startingOffset,
        },
        context,
        ({ handle, secrets }, signal) =>
          client.getMetadataAllocated(
            { snapshotId: handle, startingOffset, maxResults, secrets },
            { signal },
          ),
      ),
    getMetadataDelta: (request, context) => {
      const { securityToken, namespace, baseSnapshotId, targetSnapshotName, startingOffset, maxResults } =
        request;
      return answer(
        {
          securityToken,
          namespace,
          name: targetSnapshotName,
          required: { base_snapshot_id: baseSnapshotId, target_snapshot_name: targetSnapshotName },
          base: baseSnapshotId,
          startingOffset,
        },
        context,
        ({ handle, secrets }, signal) =>
          client.getMetadataDelta(
            { baseSnapshotId, targetSnapshotId: handle, startingOffset, maxResults, secrets },
            { signal },
          ),
      );
    },
  });

  // It listens only while it serves.
  const health = implement(Health, {
    check: () => ({ status: ServingStatus.SERVING }),
    async *watch(_request, { signal }) {
      yield { status: ServingStatus.SERVING };
      await aborted(signal);
    },
  });

  return {
    async run(signal) {
      const { files, settings, host, port } = options;
      const server = await serveOverTls({
        ...(host !== undefined && { host }),
        port,
        files,
        settings,
        services: [metadata, health],
        maxMessageBytes: MAX_REQUEST_BYTES,
        maxCallMs: maxStreamMs + LIMIT_SLACK_MS,
        log,
        clock,
      });
      log.info('Serving snapshot metadata', { port: server.port });
      try {
        if (publish) {
          const { address, caFile } = publish;
          await keepServiceObject(
            ports,
            { address: withPort(address, server.port), audience, caFile },
            signal,
          );
        } else await aborted(signal);
      } finally {
        await server.stop(GRACE_MS);
      }
    },
  };
}

/** `host`, `host:1`, `::1` and `[::1]:1` are all accepted; the result always has a port. */
export function withPort(address: string, port: number): string {
  if (/^(\[[^\]]+\]|[^:]+):\d+$/.test(address)) return address;
  const isBare = address.includes(':') && !address.startsWith('[');
  return `${isBare ? `[${address}]` : address}:${port}`;
}
