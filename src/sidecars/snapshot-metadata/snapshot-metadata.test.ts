// `berth snapshot-metadata` over real sockets: TLS to its callers, HTTPS to an API server, a unix socket to a driver.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import {
  customResourceDefinitions,
  namespaces,
  roleBindings,
  roles,
  type SnapshotMetadataService,
  secrets,
  serviceAccounts,
  snapshotMetadataServices,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../api/kinds.ts';
import { createPki } from '../../apiserver/auth/pki.ts';
import { connectOverTls } from '../../csi/client/connect-over-tls.ts';
import { csiClient } from '../../csi/client/csi-client.ts';
import { CsiError } from '../../csi/csi-error.ts';
import { BlockMetadataType, SnapshotMetadata as DriverMetadata } from '../../csi/generated/csi/v1/csi_pb.ts';
import { Health } from '../../csi/generated/grpc/health/v1/health_pb.ts';
import { SnapshotMetadata } from '../../csi/generated/snapshotmetadata/schema_pb.ts';
import { serveCsi } from '../../csi/server/serve-csi.ts';
import { implement } from '../../csi/server/service-implementation.ts';
import { ScriptedDriver } from '../../csi/testing/scripted-driver.ts';
import { silentLog } from '../../runtime/log/log.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { type SidecarProcess, type SidecarRig, sidecarRig } from '../testing/sidecar-rig.ts';
import { untilAny } from '../testing/until-any.ts';
import { withPort } from './snapshot-metadata.ts';

const DRIVER = 'scripted.csi.test';
const AUDIENCE = 'backup';
const CRDS = ['snapshot.storage.k8s.io_volumesnapshot', 'cbt.storage.k8s.io_snapshotmetadataservice'];

interface World {
  rig: SidecarRig;
  /** Requests that reached the driver. */
  asked: { snapshotId?: string; baseSnapshotId?: string; secrets: Record<string, string> }[];
  /** Called before the second part of each stream. */
  middle: { then: () => void | Promise<void> };
  driverServer: Awaited<ReturnType<typeof serveCsi>>;
  args: string[];
  token(account?: string, audience?: string, seconds?: number): Promise<string>;
  /** Of the service that this process runs. */
  clients(process: SidecarProcess): Promise<ReturnType<typeof clientsAt>>;
}

async function metadataWorld(t: TestContext): Promise<World> {
  const rig = await sidecarRig(t);
  const { admin } = rig;
  for (const prefix of CRDS) {
    const plurals = prefix.startsWith('cbt') ? ['s'] : ['s', 'contents', 'classes'];
    for (const plural of plurals) {
      const file = new URL(`../../../deploy/crds/${prefix}${plural}.yaml`, import.meta.url);
      await admin.create(customResourceDefinitions, parse(await readFile(file, 'utf8')));
    }
  }
  const asked: World['asked'] = [];
  const middle: World['middle'] = { then: () => {} };
  async function* parts(request: World['asked'][number]) {
    asked.push(request);
    const common = { blockMetadataType: BlockMetadataType.FIXED_LENGTH, volumeCapacityBytes: 1n << 30n };
    yield { ...common, blockMetadata: [{ byteOffset: 0n, sizeBytes: 4096n }] };
    await middle.then();
    yield { ...common, blockMetadata: [{ byteOffset: 8192n, sizeBytes: 4096n }] };
  }
  const driver = new ScriptedDriver({
    name: DRIVER,
    plugin: ['CONTROLLER_SERVICE', 'SNAPSHOT_METADATA_SERVICE'],
  });
  const metadata = implement(DriverMetadata, { getMetadataAllocated: parts, getMetadataDelta: parts });
  const ports = { clock: realClock, log: silentLog };
  const services = [...driver.services, metadata];
  const driverServer = await serveCsi({ ...ports, address: rig.socket, services });
  t.after(() => driverServer.stop(0));

  await admin.create(namespaces, { metadata: { name: 'other' } });
  await admin.create(serviceAccounts, { metadata: { name: 'agent', namespace: 'default' } });
  await admin.create(serviceAccounts, { metadata: { name: 'stranger', namespace: 'default' } });
  await admin.create(roles, {
    metadata: { name: 'snapshots', namespace: 'default' },
    rules: [{ apiGroups: ['snapshot.storage.k8s.io'], resources: ['volumesnapshots'], verbs: ['get'] }],
  } as never);
  await admin.create(roleBindings, {
    metadata: { name: 'agent', namespace: 'default' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'snapshots' },
    subjects: [{ kind: 'ServiceAccount', name: 'agent', namespace: 'default' }],
  } as never);
  await admin.create(secrets, {
    metadata: { name: 'snap', namespace: 'default' },
    data: { key: Buffer.from('hunter2').toString('base64') },
  });
  await admin.create(volumeSnapshotClasses, {
    metadata: { name: 'snaps' },
    driver: DRIVER,
    deletionPolicy: 'Delete',
    parameters: {
      'csi.storage.k8s.io/snapshotter-secret-name': 'snap',
      'csi.storage.k8s.io/snapshotter-secret-namespace': 'default',
    },
  } as never);

  const pki = await createPki({ clock: realClock });
  const path = (name: string): string => join(rig.directory, name);
  const { certificatePem, keyPem } = await pki.serving();
  await writeFile(path('tls.crt'), certificatePem);
  await writeFile(path('tls.key'), keyPem);
  await writeFile(path('ca.crt'), pki.caPem);
  return {
    rig,
    asked,
    middle,
    driverServer,
    args: [
      `--tls-cert=${path('tls.crt')}`,
      `--tls-key=${path('tls.key')}`,
      '--port=0',
      '--http-endpoint=127.0.0.1:0',
      `--audience=${AUDIENCE}`,
    ],
    async token(account = 'agent', audience = AUDIENCE, seconds = 600) {
      const { status } = await admin.createSubresource<{ status: { token: string } }>(
        serviceAccounts,
        { name: account, namespace: 'default' },
        'token',
        {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenRequest',
          spec: { audiences: [audience], expirationSeconds: seconds },
        },
      );
      return status.token;
    },
    async clients(process) {
      await process.said('Serving snapshot metadata');
      const port = Number(/Serving snapshot metadata.*port="?(\d+)/.exec(process.output())?.[1]);
      return clientsAt(t, port, pki.caPem);
    },
  };
}

function clientsAt(t: TestContext, port: number, ca: string) {
  const connection = connectOverTls({ host: 'localhost', port, ca }, { clock: realClock, log: silentLog });
  t.after(() => connection.close());
  const defaults = { timeoutMs: 20_000 };
  return {
    metadata: csiClient(SnapshotMetadata, connection, defaults),
    health: csiClient(Health, connection, defaults),
  };
}

/** A snapshot with its content, ready unless told otherwise. */
async function snapshot(
  { rig: { admin } }: World,
  name: string,
  given: { namespace?: string; driver?: string; ready?: boolean; className?: string; boundTo?: string } = {},
): Promise<void> {
  const { namespace = 'default', driver = DRIVER, ready = true, className = 'snaps' } = given;
  const contentName = `content-${namespace}-${name}`;
  const status = { type: 'merge', subresource: 'status' } as const;
  const { metadata } = await admin.create(volumeSnapshots, {
    metadata: { name, namespace },
    spec: { source: { persistentVolumeClaimName: 'data' }, volumeSnapshotClassName: className },
  });
  await admin.create(volumeSnapshotContents, {
    metadata: { name: contentName },
    spec: {
      driver,
      deletionPolicy: 'Delete',
      source: { volumeHandle: 'volume' },
      volumeSnapshotRef: { name, namespace, uid: metadata.uid },
    },
  } as never);
  await admin.patch(
    volumeSnapshotContents,
    { name: contentName },
    { status: { readyToUse: ready, snapshotHandle: `handle-${name}` } },
    status,
  );
  await admin.patch(
    volumeSnapshots,
    { name, namespace },
    { status: { readyToUse: ready, boundVolumeSnapshotContentName: given.boundTo ?? contentName } },
    status,
  );
}

type Part = { blockMetadata: readonly { byteOffset: bigint }[] };

async function offsets(stream: AsyncIterable<Part>): Promise<bigint[]> {
  const all: bigint[] = [];
  for await (const { blockMetadata } of stream)
    all.push(...blockMetadata.map(({ byteOffset }) => byteOffset));
  return all;
}

const failure = (stream: AsyncIterable<Part>): Promise<CsiError> =>
  offsets(stream).then(
    () => assert.fail('the call succeeded'),
    (error: unknown) => {
      assert.ok(error instanceof CsiError, String(error));
      return error;
    },
  );

test('[CBT-1] a caller with a token gets the driver’s streams, for handles and secrets of the snapshot’s class', async (t) => {
  const world = await metadataWorld(t);
  await snapshot(world, 'friday');
  const process = world.rig.spawn('snapshot-metadata', [...world.args, '-v=5']);
  const { metadata, health } = await world.clients(process);
  const securityToken = await world.token();
  const common = { securityToken, namespace: 'default', startingOffset: 5n, maxResults: 7 };
  assert.deepEqual(await offsets(metadata.getMetadataAllocated({ ...common, snapshotName: 'friday' })), [
    0n,
    8192n,
  ]);
  const delta = metadata.getMetadataDelta({
    ...common,
    baseSnapshotId: 'handle-thursday',
    targetSnapshotName: 'friday',
  });
  assert.deepEqual(await offsets(delta), [0n, 8192n]);
  const wanted = { startingOffset: 5n, maxResults: 7, secrets: { key: 'hunter2' } };
  assert.deepEqual(
    world.asked.map(({ $typeName: _, ...request }: object & { $typeName?: string }) => request),
    [
      { ...wanted, snapshotId: 'handle-friday' },
      { ...wanted, baseSnapshotId: 'handle-thursday', targetSnapshotId: 'handle-friday' },
    ],
  );
  assert.equal((await health.check({})).status, 1);
  for (const secret of ['hunter2', securityToken]) assert.ok(!process.output().includes(secret));
});

test('[CBT-1] each request that cannot be answered has a code and a sentence', async (t) => {
  const world = await metadataWorld(t);
  await snapshot(world, 'ready');
  await snapshot(world, 'young', { ready: false });
  await snapshot(world, 'theirs', { driver: 'other.csi.test' });
  await snapshot(world, 'secret', { namespace: 'other' });
  await snapshot(world, 'classless', { className: 'gone' });
  await snapshot(world, 'stolen', { boundTo: 'content-other-secret' });
  const { metadata } = await world.clients(world.rig.spawn('snapshot-metadata', world.args));
  const securityToken = await world.token();
  const cases: [code: string, says: RegExp, request: Record<string, string>][] = [
    ['INVALID_ARGUMENT', /security_token is required/, { securityToken: '' }],
    ['INVALID_ARGUMENT', /namespace is required/, { namespace: '' }],
    ['INVALID_ARGUMENT', /snapshot_name is required/, { snapshotName: '' }],
    ['UNAUTHENTICATED', /not valid for audience backup/, { securityToken: 'made.up.token' }],
    [
      'UNAUTHENTICATED',
      /not valid for audience backup/,
      { securityToken: await world.token('agent', 'https://kubernetes.default.svc') },
    ],
    [
      'PERMISSION_DENIED',
      /stranger may not get volumesnapshots in namespace default/,
      { securityToken: await world.token('stranger') },
    ],
    ['PERMISSION_DENIED', /in namespace other/, { namespace: 'other', snapshotName: 'secret' }],
    ['UNAVAILABLE', /default\/none/, { snapshotName: 'none' }],
    ['UNAVAILABLE', /default\/young is not ready/, { snapshotName: 'young' }],
    ['UNAVAILABLE', /VolumeSnapshotClass gone/, { snapshotName: 'classless' }],
    ['UNAVAILABLE', /belongs to another VolumeSnapshot/, { snapshotName: 'stolen' }],
    ['INVALID_ARGUMENT', /belongs to driver other.csi.test/, { snapshotName: 'theirs' }],
  ];
  for (const [code, says, request] of cases) {
    const asked = { securityToken, namespace: 'default', snapshotName: 'ready', ...request };
    const error = await failure(metadata.getMetadataAllocated(asked));
    assert.equal(error.code, code, error.message);
    assert.match(error.description, says);
    assert.ok(!error.message.includes(asked.securityToken) || asked.securityToken === '');
  }
  const noBase = metadata.getMetadataDelta({
    securityToken,
    namespace: 'default',
    targetSnapshotName: 'ready',
  });
  assert.match((await failure(noBase)).description, /base_snapshot_id is required/);
  assert.deepEqual(world.asked, []);
});

test('[CBT-1] an error of the driver, or its end in the middle of a stream, says where to continue', async (t) => {
  const world = await metadataWorld(t);
  await snapshot(world, 'friday');
  const { metadata } = await world.clients(world.rig.spawn('snapshot-metadata', world.args));
  const asked = { securityToken: await world.token(), namespace: 'default', snapshotName: 'friday' };
  world.middle.then = () => {
    throw new CsiError({ code: 'OUT_OF_RANGE', message: 'starting_offset is beyond the end' });
  };
  const refused = await failure(metadata.getMetadataAllocated(asked));
  assert.equal(refused.code, 'OUT_OF_RANGE');
  assert.match(refused.description, /driver scripted.csi.test: starting_offset is beyond the end/);
  world.middle.then = () => world.driverServer.stop(0);
  const died = await failure(metadata.getMetadataAllocated(asked));
  assert.equal(died.code, 'UNAVAILABLE');
  assert.match(died.description, /to continue, ask again with starting_offset 4096/);
});

test('[CBT-1] with --service-address it publishes the object and takes tokens for the audience that it names there', async (t) => {
  const world = await metadataWorld(t);
  await snapshot(world, 'friday');
  const args = world.args.filter((arg) => !arg.startsWith('--audience'));
  const publish = ['--service-address=localhost', `--tls-ca=${join(world.rig.directory, 'ca.crt')}`];
  const process = world.rig.spawn('snapshot-metadata', [...args, ...publish]);
  const { metadata } = await world.clients(process);
  const isThere = ({ spec }: SnapshotMetadataService): boolean => spec.audience === DRIVER;
  const { spec } = await untilAny(world.rig.admin, snapshotMetadataServices, isThere);
  assert.match(spec.address, /^localhost:\d+$/);
  assert.match(Buffer.from(spec.caCert, 'base64').toString(), /BEGIN CERTIFICATE/);
  const asked = {
    securityToken: await world.token('agent', DRIVER),
    namespace: 'default',
    snapshotName: 'friday',
  };
  assert.equal((await offsets(metadata.getMetadataAllocated(asked))).length, 2);
});

test('[CBT-1] [SIDE-6] beside sidecars that elect a leader, every replica serves', async (t) => {
  const world = await metadataWorld(t);
  await snapshot(world, 'friday');
  const controllers = '--controllers=attacher,snapshot-metadata';
  const asked = { securityToken: await world.token(), namespace: 'default', snapshotName: 'friday' };
  for (const _ of ['leader', 'follower']) {
    const process = world.rig.spawn('sidecars', [controllers, '--leader-election', ...world.args]);
    const { metadata } = await world.clients(process);
    assert.equal((await offsets(metadata.getMetadataAllocated(asked))).length, 2);
  }
});

test('[CBT-1] it is refused beside a driver without the service, and without a certificate', async (t) => {
  const rig = await sidecarRig(t);
  await rig.serve(new ScriptedDriver({ name: DRIVER }));
  const withoutTls = rig.spawn('snapshot-metadata', ['--http-endpoint=127.0.0.1:0']);
  assert.equal((await withoutTls.exit).code, 1);
  assert.match(withoutTls.output(), /--tls-cert and --tls-key are needed/);
  const unfit = rig.spawn('snapshot-metadata', [
    '--tls-cert=a',
    '--tls-key=b',
    '--http-endpoint=127.0.0.1:0',
  ]);
  assert.equal((await unfit.exit).code, 1);
  assert.match(unfit.output(), /does not have the capability SNAPSHOT_METADATA_SERVICE/);
  const unknown = rig.spawn('snapshot-metadata', ['--tls-cipher-suites=TLS_RSA_WITH_RC4_128_SHA']);
  assert.equal((await unknown.exit).code, 2);
  assert.match(unknown.output(), /TLS_RSA_WITH_RC4_128_SHA" is not supported/);
});

for (const [address, wanted] of [
  ['backup.storage.svc', 'backup.storage.svc:50051'],
  ['backup.storage.svc:443', 'backup.storage.svc:443'],
  ['127.0.0.1', '127.0.0.1:50051'],
  ['::1', '[::1]:50051'],
  ['[::1]', '[::1]:50051'],
  ['[::1]:443', '[::1]:443'],
] as const) {
  test(`[CBT-1] --service-address=${address} is published as ${wanted}`, () => {
    assert.equal(withPort(address, 50051), wanted);
  });
}
