import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { lacking } from '../../../test/capabilities.ts';
import { type CSIDriver, namespaces, type Pod, pods, secrets, serviceAccounts } from '../../api/kinds.ts';
import { draft, testServer } from '../../apiserver/testing/test-server.ts';
import { loopbackTransport } from '../../csi/client/loopback-transport.ts';
import type {
  NodeExpandVolumeRequest,
  NodePublishVolumeRequest,
  NodeStageVolumeRequest,
  NodeUnpublishVolumeRequest,
  NodeUnstageVolumeRequest,
} from '../../csi/generated/csi/v1/csi_pb.ts';
import type { NodeCapability } from '../../csi/messages/capabilities.ts';
import { parseDriverName, parseVolumeHandle } from '../../csi/names/driver-name.ts';
import type { Interceptor } from '../../csi/server/serve-call.ts';
import { ScriptedDriver } from '../../csi/testing/scripted-driver.ts';
import { silentLog } from '../../runtime/log/log.ts';
import { memoryMounter } from '../../runtime/mount/memory-mounter.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { diskFiles } from './disk-files.ts';
import { expandVolume } from './expand-volume.ts';
import { mountDevice } from './mount-device.ts';
import { MountMissingError, type MountPorts, type NodeDriver } from './mount-plugin.ts';
import type { MountableVolume } from './mountable-volume.ts';
import { createServiceAccountTokens } from './service-account-tokens.ts';
import { type SetUpRequest, setUp } from './set-up.ts';
import { tearDown } from './tear-down.ts';
import { unmountDevice } from './unmount-device.ts';
import { UnsafePathError } from './volume-files.ts';
import { RECORD_FILE, volumePaths } from './volume-paths.ts';
import { parseRecord } from './volume-record.ts';

const TOKENS = 'csi.storage.k8s.io/serviceAccount.tokens';
const signal = new AbortController().signal;

const volume = (over: Partial<MountableVolume> = {}): MountableVolume => ({
  driver: parseDriverName('scripted.csi.test'),
  handle: parseVolumeHandle('h'),
  specName: 'pv-1',
  lifecycle: 'Persistent',
  block: false,
  attributes: { a: 'b', 'csi.storage.k8s.io/pod.name': 'forged' },
  fsType: 'ext4',
  accessModes: ['ReadWriteOnce'],
  mountOptions: [],
  readOnly: false,
  secrets: {},
  ...over,
});
const pod = (spec: Partial<Pod['spec']> = {}, uid = 'u-1'): Pod =>
  ({ metadata: { name: 'p', namespace: 'default', uid }, spec }) as unknown as Pod;
const driverObject = (spec: Partial<CSIDriver['spec']>): CSIDriver =>
  ({ metadata: { name: 'scripted.csi.test' }, spec }) as unknown as CSIDriver;

/** What the driver leaves at a target path that it published; `nothing`: it reports success without a mount. */
type Leaves = 'a mount' | 'nothing' | 'a broken mount' | 'a device' | 'a file';

async function start(
  t: TestContext,
  given: {
    capabilities?: NodeCapability[];
    leaves?: Leaves;
    unmounts?: boolean;
    wantsPodInfo?: boolean;
  } = {},
) {
  const { capabilities = ['STAGE_UNSTAGE_VOLUME'], leaves = 'a mount', unmounts = true } = given;
  const root = await mkdtemp(join(tmpdir(), 'mc-'));
  t.after(() => rm(root, { recursive: true }));
  const server = await testServer(t);
  const kube = server.client(server.adminUser);
  await kube.create(namespaces, draft({ metadata: { name: 'default' } })).catch(() => {});
  for (const name of ['stage', 'publish', 'expand']) {
    const data = { key: Buffer.from(name).toString('base64') };
    await kube.create(secrets, draft({ metadata: { name, namespace: 'default' }, data }));
  }
  const mounter = memoryMounter();
  const scripted = new ScriptedDriver();
  const mounts: Interceptor = async (call, next) => {
    const answer = await next();
    const { targetPath = '', stagingTargetPath = '' } = call.request as {
      targetPath?: string;
      stagingTargetPath?: string;
    };
    if (call.method.name === 'NodePublishVolume') {
      if (!existsSync(targetPath)) {
        if (leaves === 'a file') await writeFile(targetPath, '');
        else if (leaves === 'a device') execFileSync('mknod', [targetPath, 'b', '7', '250']);
        else await mkdir(targetPath);
      }
      if (leaves === 'a mount') await mounter.bind('/source', targetPath);
      if (leaves === 'a broken mount') mounter.corrupt(targetPath);
    }
    if (call.method.name === 'NodeUnpublishVolume' && unmounts) await mounter.unmount(targetPath);
    if (call.method.name === 'NodeUnstageVolume' && unmounts) await mounter.unmount(stagingTargetPath);
    return answer;
  };
  const transport = loopbackTransport(scripted.services, {
    clock: realClock,
    log: silentLog,
    interceptors: [scripted.interceptor, mounts],
  });
  const ports: MountPorts = {
    nodeName: 'n1',
    paths: volumePaths(root),
    files: diskFiles(root, realClock),
    mounter,
    kube,
    tokens: createServiceAccountTokens({ kube, clock: realClock }),
  };
  const driver: NodeDriver = {
    name: parseDriverName('scripted.csi.test'),
    transport,
    capabilities: new Set(capabilities),
    wantsPodInfo: given.wantsPodInfo ?? false,
  };
  const publish = (over: Partial<SetUpRequest> = {}) =>
    setUp(
      ports,
      {
        pod: pod(),
        volume: volume(),
        readOnly: false,
        driver,
        driverObject: undefined,
        publishContext: {},
        again: false,
        begins: () => {},
        ...over,
      },
      signal,
    );
  const stage = (over: Partial<MountableVolume> = {}, of: Pod = pod()) =>
    mountDevice(
      ports,
      { volume: volume(over), pod: of, driver, publishContext: { device: 'sdb' }, begins: () => {} },
      signal,
    );
  const published = () => scripted.callsOf<NodePublishVolumeRequest>('NodePublishVolume').at(-1);
  return { root, kube, mounter, scripted, ports, driver, publish, published, stage };
}

const recordAt = async (directory: string) =>
  parseRecord(await readFile(join(directory, RECORD_FILE), 'utf8').catch(() => undefined));
const filesBelow = async (root: string) =>
  (await readdir(root, { recursive: true, withFileTypes: true })).filter((entry) => !entry.isDirectory());

test('staging tells the driver what the volume is, and leaves a record of it', async (t) => {
  const { ports, scripted, stage } = await start(t);
  await stage({ secrets: { stage: { name: 'stage', namespace: 'default' } } });
  const [request] = scripted.callsOf<NodeStageVolumeRequest>('NodeStageVolume');
  const { staging, recordDir } = ports.paths.device(volume());
  assert.deepEqual(
    {
      volumeId: request?.volumeId,
      staging: request?.stagingTargetPath,
      context: request?.volumeContext,
      publishContext: request?.publishContext,
      secrets: request?.secrets,
    },
    {
      volumeId: 'h',
      staging,
      context: { a: 'b' },
      publishContext: { device: 'sdb' },
      secrets: { key: 'stage' },
    },
  );
  assert.equal((await lstat(staging)).isDirectory(), true);
  const record = await recordAt(recordDir);
  assert.equal(record?.volumeHandle, 'h');
  assert.equal(record?.podUid, undefined);
});

test('a volume without a secret is staged without one, and a directory below a mount is not made', async (t) => {
  const { ports, mounter, scripted, stage } = await start(t);
  const { staging } = ports.paths.device(volume());
  await mounter.bind('/source', staging);
  await stage();
  assert.deepEqual(scripted.callsOf<NodeStageVolumeRequest>('NodeStageVolume')[0]?.secrets, {});
  assert.equal(existsSync(staging), false);
});

test('[NOD-3] the group of a pod goes to drivers that apply it, and only to them', async (t) => {
  const groups = async (capabilities: NodeCapability[], of: Pod) => {
    const { scripted, stage, publish, published } = await start(t, { capabilities });
    await stage({}, of);
    await publish({ pod: of, again: true });
    const staged = scripted.callsOf<NodeStageVolumeRequest>('NodeStageVolume')[0];
    return [staged, published()].map((request) => {
      const type = request?.volumeCapability?.accessType;
      return type?.case === 'mount' ? type.value.volumeMountGroup : undefined;
    });
  };
  const grouped = pod({ securityContext: { fsGroup: 7 } });
  assert.deepEqual(await groups(['STAGE_UNSTAGE_VOLUME', 'VOLUME_MOUNT_GROUP'], grouped), ['7', '7']);
  assert.deepEqual(await groups(['STAGE_UNSTAGE_VOLUME', 'VOLUME_MOUNT_GROUP'], pod()), ['', '']);
  assert.deepEqual(await groups(['STAGE_UNSTAGE_VOLUME'], grouped), ['', '']);
});

test('publishing tells the driver where, and leaves a record of the pod', async (t) => {
  const { ports, publish, published } = await start(t);
  const publishContext = { device: 'sdb' };
  const secret = { publish: { name: 'publish', namespace: 'default' } };
  const { target, recordDir } = ports.paths.mount('u-1', volume());
  assert.equal(await publish({ volume: volume({ secrets: secret }), publishContext }), target);
  const request = published();
  assert.equal(request?.targetPath, target);
  assert.equal(request?.stagingTargetPath, ports.paths.device(volume()).staging);
  assert.equal(request?.volumeCapability?.accessType.case, 'mount');
  assert.deepEqual(request?.publishContext, publishContext);
  assert.deepEqual(request?.secrets, { key: 'publish' });
  assert.deepEqual(request?.volumeContext, { a: 'b' });
  assert.equal((await recordAt(recordDir))?.podUid, 'u-1');
});

test('a volume that is not staged is published without a staging path', async (t) => {
  const plain = await start(t, { capabilities: [] });
  await plain.publish();
  assert.equal(plain.published()?.stagingTargetPath, '');
  const staging = await start(t);
  await staging.publish({ volume: volume({ lifecycle: 'Ephemeral' }) });
  assert.equal(staging.published()?.stagingTargetPath, '');
  assert.equal(staging.published()?.volumeContext['csi.storage.k8s.io/ephemeral'], 'true');
});

test('a volume is read-only where the pod or the volume says so', async (t) => {
  const { publish, published } = await start(t);
  for (const [byPod, byVolume, expected] of [
    [false, false, false],
    [true, false, true],
    [false, true, true],
  ] as const) {
    await publish({ readOnly: byPod, volume: volume({ readOnly: byVolume }) });
    assert.equal(published()?.readonly, expected);
  }
});

test('pod information is sent where the registrar or the CSIDriver object asks for it', async (t) => {
  for (const [wantsPodInfo, podInfoOnMount, expected] of [
    [false, undefined, undefined],
    [false, false, undefined],
    [true, false, 'p'],
    [false, true, 'p'],
  ] as const) {
    const { publish, published } = await start(t, { wantsPodInfo });
    await publish(podInfoOnMount === undefined ? {} : { driverObject: driverObject({ podInfoOnMount }) });
    const context = published()?.volumeContext ?? {};
    assert.equal(context['csi.storage.k8s.io/pod.name'], expected);
    assert.equal(context['csi.storage.k8s.io/ephemeral'], expected && 'false');
  }
});

test('service account tokens are sent in the context, or with the secrets where the object says so', async (t) => {
  const { kube, publish, published } = await start(t);
  await kube.create(serviceAccounts, draft({ metadata: { name: 'sa', namespace: 'default' } }));
  const made = await kube.create(
    pods,
    draft<Pod>({
      metadata: { name: 'p', namespace: 'default' },
      spec: { serviceAccountName: 'sa', containers: [{ name: 'c', image: 'i' }] },
    }),
  );
  const volumeWithSecret = volume({ secrets: { publish: { name: 'publish', namespace: 'default' } } });
  const tokenRequests = [{ audience: 'vault' }];
  await publish({ pod: made, volume: volumeWithSecret, driverObject: driverObject({ tokenRequests }) });
  assert.deepEqual(Object.keys(JSON.parse(published()?.volumeContext[TOKENS] ?? '{}')), ['vault']);
  assert.deepEqual(published()?.secrets, { key: 'publish' });
  const inSecrets = { tokenRequests, serviceAccountTokenInSecrets: true };
  await publish({ pod: made, volume: volumeWithSecret, driverObject: driverObject(inSecrets) });
  assert.equal(published()?.volumeContext[TOKENS], undefined);
  assert.deepEqual(Object.keys(JSON.parse(published()?.secrets[TOKENS] ?? '{}')), ['vault']);
  assert.equal(published()?.secrets.key, 'publish');
  const none = { serviceAccountTokenInSecrets: true };
  await publish({ pod: made, volume: volumeWithSecret, driverObject: driverObject(none) });
  assert.deepEqual(published()?.secrets, { key: 'publish' });
});

test('what the driver did not mount is not reported as mounted', async (t) => {
  const table: [Leaves, boolean, RegExp][] = [
    ['nothing', false, /but nothing is mounted at \S+\/mount; it is asked again/],
    ['a broken mount', false, /but what is mounted at \S+\/mount cannot be used; it is asked again/],
    ['a file', true, /but nothing is mounted at/],
    ['a broken mount', true, /but what is mounted at/],
  ];
  for (const [leaves, block, message] of table) {
    const { publish, ports } = await start(t, { leaves });
    await assert.rejects(
      publish({ volume: volume({ block }) }),
      (error) => error instanceof MountMissingError && message.test(error.message),
      leaves,
    );
    const { recordDir } = ports.paths.mount('u-1', volume({ block }));
    assert.ok(await recordAt(recordDir), 'what may be published is known to a restarted node');
  }
});

test('a raw block volume may be a device node instead of a mount; a file system may not', {
  skip: lacking('root'),
}, async (t) => {
  const { ports, publish, published } = await start(t, { leaves: 'a device' });
  const block = volume({ block: true });
  const { target, recordDir } = ports.paths.mount('u-1', block);
  assert.equal(await publish({ volume: block }), target);
  assert.equal(published()?.volumeCapability?.accessType.case, 'block');
  assert.equal((await recordAt(recordDir))?.volumeMode, 'Block');
  assert.equal(await publish({ volume: block }), target, 'and again, now that the device is there');
  await assert.rejects(publish({ volume: volume() }), MountMissingError);
});

test('what is in the way at the target is left alone, and the driver is not asked', async (t) => {
  const make: Record<string, (path: string) => Promise<unknown>> = {
    file: (path) => writeFile(path, 'data'),
    directory: (path) => mkdir(path),
    symlink: (path) => symlink('/etc', path),
  };
  const table: [string, boolean, RegExp | undefined][] = [
    ['file', false, /should be a directory or not exist, and is a file/],
    ['symlink', false, /should be a directory or not exist, and is a symlink/],
    ['directory', false, undefined],
    ['file', true, undefined],
    ['directory', true, /should be a file or not exist, and is a directory/],
    ['symlink', true, /should be a file or not exist, and is a symlink/],
  ];
  for (const broken of [false, true]) {
    for (const [kind, block, refusal] of table) {
      const { ports, mounter, scripted, publish } = await start(t);
      const { target } = ports.paths.mount('u-1', volume({ block }));
      await mkdir(dirname(target), { recursive: true });
      await make[kind]?.(target);
      if (broken) mounter.corrupt(target);
      const publishing = publish({ volume: volume({ block }) });
      if (refusal) {
        await assert.rejects(
          publishing,
          (error) => error instanceof UnsafePathError && refusal.test(error.message),
        );
        assert.deepEqual(scripted.calls, []);
        assert.equal(existsSync(target), true);
      } else if (broken) await assert.rejects(publishing, MountMissingError);
      else await publishing;
    }
  }
});

test('a volume that is mounted already is published again, whatever its path looks like', async (t) => {
  const { ports, mounter, scripted, publish } = await start(t);
  const { target } = ports.paths.mount('u-1', volume());
  await mounter.bind('/source', target);
  await publish({ again: true });
  assert.equal(scripted.calls.length, 1);
});

test('fsGroup is applied once, not at each republish', {
  skip: lacking('root'),
}, async (t) => {
  for (const [again, expected] of [
    [false, 4711],
    [true, 0],
  ] as const) {
    const { publish } = await start(t);
    const target = await publish({ pod: pod({ securityContext: { fsGroup: 4711 } }), again });
    assert.equal((await lstat(target)).gid, expected);
  }
});

test('a call that is cancelled before it reaches the driver leaves nothing to unmount', async (t) => {
  const { ports, driver, scripted } = await start(t);
  const aborted = AbortSignal.abort(new Error('enough'));
  let begun = 0;
  const begins = () => {
    begun += 1;
  };
  // No secret and no token is read, so that the signal is met where the driver would be called.
  const request = { volume: volume(), pod: pod(), driver, publishContext: {}, begins };
  await assert.rejects(mountDevice(ports, request, aborted), /enough/);
  const publishing = setUp(
    ports,
    { ...request, readOnly: false, driverObject: undefined, again: false },
    aborted,
  );
  await assert.rejects(publishing, /enough/);
  assert.equal(begun, 0);
  assert.deepEqual(scripted.calls, []);
});

test('tearing down leaves nothing of a file system on disk', async (t) => {
  const { root, ports, driver, scripted, publish } = await start(t);
  const target = await publish();
  await tearDown(ports, { podUid: 'u-1', volume: volume(), driver }, signal);
  const [request] = scripted.callsOf<NodeUnpublishVolumeRequest>('NodeUnpublishVolume');
  assert.equal(request?.volumeId, 'h');
  assert.equal(request?.targetPath, target);
  assert.deepEqual(await filesBelow(root), []);
  assert.equal(existsSync(ports.paths.mount('u-1', volume()).recordDir), false);
  await tearDown(ports, { podUid: 'u-1', volume: volume(), driver }, signal);
});

test('what is still mounted after the driver’s answer is kept, with its record', async (t) => {
  const { ports, driver, publish, stage, mounter } = await start(t, { unmounts: false });
  const target = await publish();
  await stage();
  const { staging, recordDir } = ports.paths.device(volume());
  await mounter.bind('/source', staging);
  await assert.rejects(
    tearDown(ports, { podUid: 'u-1', volume: volume(), driver }, signal),
    (error) => error instanceof MountMissingError && /any more, but something is/.test(error.message),
  );
  await assert.rejects(unmountDevice(ports, { volume: volume(), driver }, signal), MountMissingError);
  assert.equal(existsSync(target), true);
  assert.ok(await recordAt(dirname(target)));
  assert.ok(await recordAt(recordDir));
});

test('a raw block volume of two pods is torn down for one, then for the other', async (t) => {
  const { root, ports, driver } = await start(t);
  const block = volume({ block: true });
  // As a driver leaves them that bind-mounted a device on a file of its own.
  for (const uid of ['u-1', 'u-2']) {
    const { target, parent, recordDir } = ports.paths.mount(uid, block);
    for (const directory of [parent, recordDir]) await mkdir(directory, { recursive: true });
    await writeFile(target, '');
    await writeFile(join(recordDir, RECORD_FILE), '{}');
  }
  const { parent } = ports.paths.mount('u-1', block);
  await tearDown(ports, { podUid: 'u-1', volume: block, driver }, signal);
  assert.deepEqual(await readdir(parent), ['u-2']);
  assert.equal(existsSync(ports.paths.mount('u-1', block).recordDir), false);
  await tearDown(ports, { podUid: 'u-2', volume: block, driver }, signal);
  assert.equal(existsSync(parent), false);
  assert.deepEqual(await filesBelow(root), []);
});

test('a target of the other kind is removed only when it is empty', async (t) => {
  const { ports, driver } = await start(t);
  const block = volume({ block: true });
  const { target } = ports.paths.mount('u-1', block);
  await mkdir(target, { recursive: true });
  await tearDown(ports, { podUid: 'u-1', volume: block, driver }, signal);
  assert.equal(existsSync(target), false);
  const filesystem = ports.paths.mount('u-1', volume());
  await mkdir(filesystem.recordDir, { recursive: true });
  await writeFile(filesystem.target, '');
  await assert.rejects(tearDown(ports, { podUid: 'u-1', volume: volume(), driver }, signal), UnsafePathError);
  assert.equal(existsSync(filesystem.target), true);
});

test('a path that the kernel knows as absent is not touched', async (t) => {
  const { ports, driver, mounter } = await start(t);
  const { target } = ports.paths.mount('u-1', volume());
  mounter.setAbsent(target, true);
  await tearDown(ports, { podUid: 'u-1', volume: volume(), driver }, signal);
});

test('unstaging leaves nothing on disk; drivers that do not stage are not asked', async (t) => {
  for (const block of [false, true]) {
    for (const capabilities of [['STAGE_UNSTAGE_VOLUME'], []] satisfies NodeCapability[][]) {
      const { root, ports, driver, scripted, stage } = await start(t, { capabilities });
      await stage({ block });
      const { staging, recordDir } = ports.paths.device(volume({ block }));
      await unmountDevice(ports, { volume: volume({ block }), driver }, signal);
      const asked = scripted.callsOf<NodeUnstageVolumeRequest>('NodeUnstageVolume');
      assert.deepEqual(
        asked.map(({ volumeId, stagingTargetPath }) => [volumeId, stagingTargetPath]),
        capabilities.length > 0 ? [['h', staging]] : [],
      );
      assert.deepEqual(await filesBelow(root), []);
      assert.equal(existsSync(staging), false);
      assert.equal(existsSync(block ? dirname(recordDir) : recordDir), false);
      assert.equal(existsSync(dirname(dirname(recordDir))), true, 'directories of the driver stay');
    }
  }
});

test('expansion tells the driver where the volume is and how large it shall be', async (t) => {
  for (const [capabilities, isStaged] of [
    [['STAGE_UNSTAGE_VOLUME'], true],
    [[], false],
  ] satisfies [NodeCapability[], boolean][]) {
    const { ports, driver, scripted } = await start(t, { capabilities });
    const expand = { name: 'expand', namespace: 'default' };
    for (const [of, expected] of [
      [volume({ secrets: { expand } }), { key: 'expand' }],
      [volume(), {}],
    ] as const) {
      await expandVolume(ports, { volume: of, driver, podUid: 'u-1', capacity: '2Gi' }, signal);
      const request = scripted.callsOf<NodeExpandVolumeRequest>('NodeExpandVolume').at(-1);
      assert.equal(request?.volumeId, 'h');
      assert.equal(request?.volumePath, ports.paths.mount('u-1', of).target);
      assert.equal(request?.capacityRange?.requiredBytes, 2n << 30n);
      assert.equal(request?.stagingTargetPath, isStaged ? ports.paths.device(of).staging : '');
      assert.deepEqual(request?.secrets, expected);
    }
  }
});
