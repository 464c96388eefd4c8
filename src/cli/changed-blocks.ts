// `berth changed-blocks`: lists the blocks of a snapshot that hold data, or that changed since another snapshot, as a backup
// program would ask for them: over the driver's SnapshotMetadataService, with a token of a service account.

import {
  type SnapshotMetadataService,
  selfSubjectReviews,
  serviceAccounts,
  snapshotMetadataServices,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../api/kinds.ts';
import type { ObjectName } from '../api/object.ts';
import { connectOverTls } from '../csi/client/connect-over-tls.ts';
import { csiClient } from '../csi/client/csi-client.ts';
import { CsiError } from '../csi/csi-error.ts';
import {
  type GetMetadataDeltaResponse,
  SnapshotMetadata,
} from '../csi/generated/snapshotmetadata/schema_pb.ts';
import { choiceFlag, intFlag, stringFlag } from '../runtime/flags/flag.ts';
import type { KubeClient } from '../runtime/kube/kube.ts';
import { isNotFound } from '../runtime/kube/kube-error.ts';
import { parseAddress } from '../runtime/process/http-endpoint.ts';
import { realClock } from '../runtime/time/clock.ts';
import { defineCommand, type Output, UsageError } from './command.ts';
import { connectionFlags, namespaceFlags } from './objects/object-flags.ts';
import { openClient } from './objects/open-client.ts';

const FORMATS = ['table', 'json'] as const;
/** The service's own default limit of a stream. */
const TIMEOUT_MS = 600_000;
const TOKEN_SECONDS = 600;

type Part = Pick<GetMetadataDeltaResponse, 'blockMetadataType' | 'volumeCapacityBytes' | 'blockMetadata'>;

export const command = defineCommand({
  summary: 'Lists the blocks of a snapshot that hold data, or that changed since another one',
  description:
    'Asks the snapshot metadata service of the driver, with a token of a service account that may get volumesnapshots. ' +
    'Example: `berth changed-blocks default/friday --since thursday --service-account backup/agent`.',
  arguments: { usage: '[NAMESPACE/]SNAPSHOT', min: 1, max: 1 },
  flags: {
    ...connectionFlags,
    ...namespaceFlags,
    since: stringFlag({ help: 'Earlier VolumeSnapshot of the same volume, in the same namespace' }),
    'since-handle': stringFlag({
      help: 'CSI handle of the earlier snapshot, in place of --since: its VolumeSnapshot may be gone',
    }),
    'service-account': stringFlag({
      help: 'Account whose token is used, as [NAMESPACE/]NAME; without it the account of the kubeconfig, if it is one',
    }),
    'starting-offset': intFlag({
      help: 'Byte to begin at, to continue a list that was cut off',
      default: 0,
      min: 0,
    }),
    'max-results': intFlag({
      help: 'Blocks in one message; 0: as many as the driver wants',
      default: 0,
      min: 0,
    }),
    output: choiceFlag({ help: 'table or json (also -o)', choices: FORMATS, default: 'table' }),
    o: choiceFlag({ help: 'Same as --output', choices: FORMATS, default: 'table', hidden: true }),
  },
  async run({ flags, args, given, env, log, signal, stdout, stderr }) {
    if (flags.since !== undefined && flags.sinceHandle !== undefined) {
      throw new UsageError('give only one of --since and --since-handle');
    }
    await using client = await openClient({ flags, env, log });
    const { kube } = client;
    const target = nameIn(args[0] ?? '', flags.namespace ?? flags.n ?? client.defaultNamespace);
    const { namespace = '', name } = target;
    const content = await contentOf(kube, target, signal);
    const base =
      flags.since === undefined
        ? flags.sinceHandle
        : handleOf(await contentOf(kube, { namespace, name: flags.since }, signal));
    const service = await serviceOf(kube, content.spec.driver, signal);
    const account = await accountOf(kube, flags.serviceAccount, { namespace, signal });
    const securityToken = await tokenOf(kube, account, { audience: service.spec.audience, signal });
    const { host, port } = parseAddress(service.spec.address);
    const connection = connectOverTls(
      { host, port, ca: Buffer.from(service.spec.caCert, 'base64') },
      { clock: realClock, log },
    );
    const format = given.has('o') ? flags.o : flags.output;
    try {
      const metadata = csiClient(SnapshotMetadata, connection, { timeoutMs: TIMEOUT_MS });
      const common = {
        securityToken,
        namespace,
        startingOffset: BigInt(flags.startingOffset),
        maxResults: flags.maxResults,
      };
      const stream: AsyncIterable<Part> =
        base === undefined
          ? metadata.getMetadataAllocated({ ...common, snapshotName: name }, { signal })
          : metadata.getMetadataDelta(
              { ...common, baseSnapshotId: base, targetSnapshotName: name },
              { signal },
            );
      if (format === 'json') await printJson(stream, stdout);
      else await printTable(stream, { stdout, stderr });
    } catch (error) {
      if (!(error instanceof CsiError)) throw error;
      throw new Error(`${error.code} from ${service.spec.address}: ${error.description}`);
    } finally {
      connection.close();
    }
  },
});

function nameIn(text: string, namespace: string): ObjectName & { namespace: string } {
  const [first = '', second, ...more] = text.split('/');
  if (more.length > 0 || first === '' || second === '') {
    throw new UsageError(`"${text}" is not NAME or NAMESPACE/NAME`);
  }
  return second === undefined ? { namespace, name: first } : { namespace: first, name: second };
}

async function contentOf(
  kube: KubeClient,
  at: ObjectName,
  signal: AbortSignal,
): Promise<VolumeSnapshotContent> {
  const { status } = await kube.get(volumeSnapshots, at, { signal });
  const name = status?.boundVolumeSnapshotContentName;
  if (!name)
    throw new Error(
      `VolumeSnapshot ${at.namespace}/${at.name} is not bound to a content yet; retry when it is ready`,
    );
  return kube.get(volumeSnapshotContents, { name }, { signal });
}

function handleOf({ metadata, status }: VolumeSnapshotContent): string {
  if (status?.snapshotHandle) return status.snapshotHandle;
  throw new Error(
    `VolumeSnapshotContent ${metadata.name} has no snapshot handle yet; retry when it is ready`,
  );
}

async function serviceOf(
  kube: KubeClient,
  driver: string,
  signal: AbortSignal,
): Promise<SnapshotMetadataService> {
  try {
    return await kube.get(snapshotMetadataServices, { name: driver }, { signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new Error(
      `driver ${driver} has no snapshot metadata service: there is no SnapshotMetadataService ${driver}`,
    );
  }
}

const SERVICE_ACCOUNT = /^system:serviceaccount:([^:]+):([^:]+)$/;

async function accountOf(
  kube: KubeClient,
  named: string | undefined,
  { namespace, signal }: { namespace: string; signal: AbortSignal },
): Promise<ObjectName> {
  if (named !== undefined) return nameIn(named, namespace);
  const { status } = await kube.create(selfSubjectReviews, { metadata: {} }, { signal });
  const user = status?.userInfo?.username ?? '';
  const [, ownNamespace, name] = SERVICE_ACCOUNT.exec(user) ?? [];
  if (ownNamespace !== undefined && name !== undefined) return { namespace: ownNamespace, name };
  throw new UsageError(
    `the service takes tokens of service accounts, and the kubeconfig is of ${user}; ` +
      'name an account that may get volumesnapshots with --service-account NAMESPACE/NAME',
  );
}

async function tokenOf(
  kube: KubeClient,
  account: ObjectName,
  { audience, signal }: { audience: string; signal: AbortSignal },
): Promise<string> {
  const request = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { audiences: [audience], expirationSeconds: TOKEN_SECONDS },
  };
  const answer = await kube.createSubresource<{ status: { token: string } }>(
    serviceAccounts,
    account,
    'token',
    request,
    { signal },
  );
  return answer.status.token;
}

/** The same fields as the official snapshot-metadata-lister prints. */
async function printJson(stream: AsyncIterable<Part>, stdout: Output): Promise<void> {
  let separator = '[';
  for await (const { blockMetadataType, volumeCapacityBytes, blockMetadata } of stream) {
    const record = {
      block_metadata_type: blockMetadataType,
      volume_capacity_bytes: Number(volumeCapacityBytes),
      block_metadata: blockMetadata.map(({ byteOffset, sizeBytes }) => ({
        byte_offset: Number(byteOffset),
        size_bytes: Number(sizeBytes),
      })),
    };
    stdout.write(`${separator}${JSON.stringify(record)}`);
    separator = ',\n';
  }
  stdout.write(separator === '[' ? '[]\n' : ']\n');
}

/** Rows as they come: a list may be long. */
async function printTable(
  stream: AsyncIterable<Part>,
  { stdout, stderr }: { stdout: Output; stderr: Output },
): Promise<void> {
  const row = (offset: unknown, size: unknown): void =>
    void stdout.write(`${String(offset).padStart(16)} ${String(size).padStart(16)}\n`);
  row('OFFSET', 'SIZE');
  let extents = 0;
  let bytes = 0n;
  let capacity = 0n;
  for await (const { volumeCapacityBytes, blockMetadata } of stream) {
    capacity = volumeCapacityBytes;
    for (const { byteOffset, sizeBytes } of blockMetadata) {
      row(byteOffset, sizeBytes);
      extents++;
      bytes += sizeBytes;
    }
  }
  stderr.write(`${extents} ${extents === 1 ? 'range' : 'ranges'}, ${bytes} of ${capacity} bytes\n`);
}
