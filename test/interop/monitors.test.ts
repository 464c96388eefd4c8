// The health monitor, the data source validator and the snapshot metadata service as processes, with the published roles only,
// on our server and on a real kube-apiserver; and the official health monitor in the place of ours.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  type Event,
  events,
  persistentVolumeClaims,
  persistentVolumes,
  roleBindings,
  roles,
  serviceAccounts,
  snapshotMetadataServices,
  volumePopulators,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../src/api/kinds.ts';
import { createPki } from '../../src/apiserver/auth/pki.ts';
import { connectCsi } from '../../src/csi/client/connect-csi.ts';
import { csiClient } from '../../src/csi/client/csi-client.ts';
import { Controller } from '../../src/csi/generated/csi/v1/csi_pb.ts';
import { volumeCapability } from '../../src/csi/messages/volume-capability.ts';
import type { RbacComponent } from '../../src/manifests/published-rbac.ts';
import { createInformers } from '../../src/runtime/informer/create-informers.ts';
import { createHttpKubeClient } from '../../src/runtime/kube/http-kube-client.ts';
import { loadKubeConfig } from '../../src/runtime/kube/load-kube-config.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { realRandom } from '../../src/runtime/random.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { startServer } from '../apiserver/server-process.ts';
import { missingPeers, peerPath } from '../capabilities.ts';
import { runBerth } from '../run-berth.ts';
import { componentKubeconfig, installDefinitions, installRoles } from './component-access.ts';
import { startKubeApiserver } from './kube-apiserver.ts';
import { berth, type Program, processes } from './processes.ts';

const DRIVER = 'hostpath.interop.test';
const LIMIT_MS = 60_000;
/** Three worlds, one after the other, on a busy machine. */
const TEST_LIMIT_MS = 200_000;
const REAL_SERVER = ['etcd', 'kube-apiserver'];
const MONITOR = 'csi-external-health-monitor-controller';
const statusPatch = { type: 'merge', subresource: 'status' } as const;

type Server = 'ours' | 'kube-apiserver';

/** A server, hostpath, and an administrator; programs are started with their component's rights. */
async function world(t: TestContext, kind: Server) {
  const directory = await mkdtemp(join(tmpdir(), 'im-'));
  const undo: (() => unknown)[] = [() => rm(directory, { recursive: true, force: true })];
  t.after(async () => {
    for (const step of undo.reverse()) await step();
  });
  let kubeconfig: string;
  if (kind === 'ours') {
    const server = await startServer({ dir: directory });
    undo.push(() => server.end('SIGTERM'));
    kubeconfig = server.kubeconfig;
  } else {
    const server = await startKubeApiserver(directory);
    undo.push(() => server.stop());
    kubeconfig = server.kubeconfig;
  }
  const ports = { clock: realClock, random: realRandom, log: silentLog };
  const kube = createHttpKubeClient({
    ...ports,
    config: await loadKubeConfig({ path: kubeconfig, env: {} }),
  });
  undo.push(() => kube.close());
  const running = processes();
  undo.push(() => running.stop());
  const stop = new AbortController();
  undo.push(() => stop.abort());
  const seen = createInformers({ ...ports, kube });
  const seenEvents = seen.of(events);
  const state = join(directory, 'state');
  const socket = join(directory, 'csi.sock');
  await mkdir(join(state, 'ill'), { recursive: true });
  const driver = running.start(berth('driver hostpath'), [
    `--endpoint=unix://${socket}`,
    `--driver-name=${DRIVER}`,
    '--node-id=node-a',
    `--state-dir=${state}`,
  ]);
  await once(driver.stdout as NodeJS.ReadableStream, 'data');
  const connection = connectCsi({ address: socket, clock: realClock, log: silentLog });
  undo.push(() => connection.close());
  seen.start(stop.signal);
  return {
    kube,
    kubeconfig,
    directory,
    state,
    controller: csiClient(Controller, connection, { timeoutMs: 20_000 }),
    output: () => running.output(),
    async start(component: RbacComponent, program: Program, argv: string[]) {
      await installRoles(kube, [component]);
      const own = await componentKubeconfig(kube, { kubeconfig, directory }, component);
      return running.start(program, [`--kubeconfig=${own}`, `--csi-address=${socket}`, ...argv]);
    },
    async startPlain(component: RbacComponent, program: Program, argv: string[]) {
      await installRoles(kube, [component]);
      const own = await componentKubeconfig(kube, { kubeconfig, directory }, component);
      return running.start(program, [`--kubeconfig=${own}`, ...argv]);
    },
    /** Resolves with the first event of this reason. */
    async event(reason: string): Promise<Event> {
      const { promise, resolve, reject } = Promise.withResolvers<Event>();
      const look = (event: Event): void => {
        if (event.reason === reason) resolve(event);
      };
      const unsubscribe = seenEvents.subscribe({ added: look, updated: (_, event) => look(event) });
      const late = realClock.setTimeout(
        () => reject(new Error(`no event ${reason}\n${running.output()}`)),
        LIMIT_MS,
      );
      return promise.finally(() => {
        late.cancel();
        unsubscribe();
      });
    },
  };
}

const capability = (volumeMode: 'Block' | 'Filesystem') =>
  volumeCapability({
    accessModes: ['ReadWriteOnce'],
    volumeMode,
    fsType: undefined,
    singleNodeMultiWriter: false,
  });

/** What a claim's owner is told of an illness and its end. */
async function illness(t: TestContext, kind: Server, program: Program): Promise<object[]> {
  const { kube, controller, state, ...rest } = await world(t, kind);
  const { volume } = await controller.createVolume({
    name: 'v',
    volumeCapabilities: [capability('Filesystem')],
    capacityRange: { requiredBytes: 1n << 20n },
  });
  const volumeHandle = volume?.volumeId ?? '';
  const storage = { accessModes: ['ReadWriteOnce'], storageClassName: '' };
  const claim = await kube.create(persistentVolumeClaims, {
    metadata: { name: 'data', namespace: 'default' },
    spec: { ...storage, volumeName: 'pv', resources: { requests: { storage: '1Mi' } } },
  });
  const { uid } = claim.metadata;
  await kube.create(persistentVolumes, {
    metadata: { name: 'pv' },
    spec: {
      ...storage,
      capacity: { storage: '1Mi' },
      csi: { driver: DRIVER, volumeHandle },
      claimRef: { kind: 'PersistentVolumeClaim', name: 'data', namespace: 'default', uid },
    },
  });
  await kube.patch(persistentVolumes, { name: 'pv' }, { status: { phase: 'Bound' } }, statusPatch);
  const ill = join(state, 'ill', volumeHandle);
  await writeFile(ill, '');
  await rest.start('health-monitor', program, ['--list-volumes-interval=200ms', '--v=4']);
  const began = await rest.event('VolumeConditionAbnormal');
  await rm(ill);
  const ended = await rest.event('VolumeConditionNormal');
  return [began, ended].map(({ type, reason, message, involvedObject, source }) => ({
    type,
    reason,
    // The end has words of its own.
    ...(reason === 'VolumeConditionAbnormal' && { message: message?.replace(ill, 'FILE') }),
    about: `${involvedObject.kind} ${involvedObject.namespace}/${involvedObject.name}`,
    isOfThisClaim: involvedObject.uid === uid,
    component: source?.component,
  }));
}

test('[HLT-1] [DEP-2] the health monitor has the rights it needs, and the official one tells the same of the same illness', {
  timeout: TEST_LIMIT_MS,
}, async (t) => {
  const ours = await illness(t, 'ours', berth('health-monitor'));
  const common = {
    about: 'PersistentVolumeClaim default/data',
    isOfThisClaim: true,
    component: `csi-pv-monitor-controller-${DRIVER}`,
  };
  const message = 'the volume is marked as ill; remove FILE to end that';
  assert.deepEqual(ours, [
    { type: 'Warning', reason: 'VolumeConditionAbnormal', message, ...common },
    { type: 'Normal', reason: 'VolumeConditionNormal', ...common },
  ]);
  await t.test(
    'ours, on kube-apiserver',
    { skip: missingPeers(...REAL_SERVER), timeout: TEST_LIMIT_MS },
    async (part) => {
      assert.deepEqual(await illness(part, 'kube-apiserver', berth('health-monitor')), ours);
    },
  );
  await t.test(
    'the official one, on our server',
    { skip: missingPeers(MONITOR), timeout: TEST_LIMIT_MS },
    async (part) => {
      assert.deepEqual(await illness(part, 'ours', [peerPath(MONITOR) ?? '']), ours);
    },
  );
});

async function unknownSource(t: TestContext, kind: Server): Promise<void> {
  const { kube, startPlain, event } = await world(t, kind);
  await installDefinitions(kube, [volumePopulators]);
  await kube.create(persistentVolumeClaims, {
    metadata: { name: 'filled', namespace: 'default' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      dataSourceRef: { apiGroup: 'hello.example', kind: 'Hello', name: 'h' },
      resources: { requests: { storage: '1Mi' } },
    },
  } as never);
  const election = ['--leader-election', '--leader-election-namespace=kube-system'];
  await startPlain('data-source-validator', berth('data-source-validator'), election);
  const told = await event('UnrecognizedDataSourceKind');
  assert.equal(told.involvedObject.name, 'filled');
}

async function blocks(t: TestContext, kind: Server): Promise<void> {
  const { kube, controller, state, directory, kubeconfig, start, output } = await world(t, kind);
  await installDefinitions(kube, [
    volumeSnapshots,
    volumeSnapshotContents,
    volumeSnapshotClasses,
    snapshotMetadataServices,
  ]);
  const { volume } = await controller.createVolume({
    name: 'v',
    volumeCapabilities: [capability('Block')],
    capacityRange: { requiredBytes: 1n << 20n },
  });
  const sourceVolumeId = volume?.volumeId ?? '';
  const image = await open(join(state, 'volumes', sourceVolumeId), 'r+');
  await image.write('data', 8192);
  await image.close();
  const { snapshot } = await controller.createSnapshot({ name: 's', sourceVolumeId });
  await kube.create(volumeSnapshotClasses, {
    metadata: {
      name: 'usual',
      annotations: { 'snapshot.storage.kubernetes.io/is-default-class': 'true' },
    },
    driver: DRIVER,
    deletionPolicy: 'Delete',
  });
  const { metadata } = await kube.create(volumeSnapshots, {
    metadata: { name: 'friday', namespace: 'default' },
    spec: { source: { persistentVolumeClaimName: 'data' } },
  });
  await kube.create(volumeSnapshotContents, {
    metadata: { name: 'content' },
    spec: {
      driver: DRIVER,
      deletionPolicy: 'Delete',
      source: { volumeHandle: sourceVolumeId },
      volumeSnapshotRef: { name: 'friday', namespace: 'default', uid: metadata.uid },
    },
  } as never);
  const snapshotHandle = snapshot?.snapshotId ?? '';
  const ready = { readyToUse: true, snapshotHandle };
  await kube.patch(volumeSnapshotContents, { name: 'content' }, { status: ready }, statusPatch);
  const bound = { readyToUse: true, boundVolumeSnapshotContentName: 'content' };
  const at = { name: 'friday', namespace: 'default' };
  await kube.patch(volumeSnapshots, at, { status: bound }, statusPatch);
  await kube.create(serviceAccounts, { metadata: { name: 'agent', namespace: 'default' } });
  await kube.create(roles, {
    metadata: { name: 'snapshots', namespace: 'default' },
    rules: [{ apiGroups: ['snapshot.storage.k8s.io'], resources: ['volumesnapshots'], verbs: ['get'] }],
  });
  await kube.create(roleBindings, {
    metadata: { name: 'agent', namespace: 'default' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'snapshots' },
    subjects: [{ kind: 'ServiceAccount', name: 'agent', namespace: 'default' }],
  });
  const pki = await createPki({ clock: realClock });
  const { certificatePem, keyPem } = await pki.serving();
  const file = async (name: string, text: string): Promise<string> => {
    await writeFile(join(directory, name), text, { mode: 0o600 });
    return join(directory, name);
  };
  await start('snapshot-metadata', berth('snapshot-metadata'), [
    `--tls-cert=${await file('tls.crt', certificatePem)}`,
    `--tls-key=${await file('tls.key', keyPem)}`,
    `--tls-ca=${await file('ca.crt', pki.caPem)}`,
    '--port=0',
    '--bind-address=127.0.0.1',
    '--service-address=127.0.0.1',
    '--http-endpoint=127.0.0.1:0',
  ]);
  const limitMs = realClock.monotonicMs() + LIMIT_MS;
  while ((await kube.list(snapshotMetadataServices)).items.length === 0) {
    assert.ok(realClock.monotonicMs() < limitMs, output());
    await realClock.sleep(50);
  }
  const asked = [
    'changed-blocks',
    'friday',
    '--service-account=agent',
    '-o=json',
    `--kubeconfig=${kubeconfig}`,
  ];
  const { stdout, stderr } = await runBerth(asked);
  assert.deepEqual(
    JSON.parse(stdout || 'null')?.[0]?.block_metadata,
    [{ byte_offset: 8192, size_bytes: 4096 }],
    stderr,
  );
}

for (const kind of ['ours', 'kube-apiserver'] as const) {
  const skip = kind === 'ours' ? false : missingPeers(...REAL_SERVER);
  test(
    `[POP-1] [DEP-2] the data source validator has the rights it needs, on ${kind}`,
    { skip, timeout: TEST_LIMIT_MS },
    (t) => unknownSource(t, kind),
  );
  test(
    `[CBT-1] [DEP-2] the snapshot metadata service has the rights it needs, on ${kind}`,
    { skip, timeout: TEST_LIMIT_MS },
    (t) => blocks(t, kind),
  );
}
