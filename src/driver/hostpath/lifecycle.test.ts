import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { open, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { VolumeUsage_Unit as Unit } from '../../csi/index.ts';
import {
  capability,
  codeOf,
  MiB,
  needsRoot,
  release,
  startHostpath,
  use,
  volumeRequest,
} from './testing/hostpath-fixture.ts';

const hasXfs = spawnable('mkfs.xfs');

interface Kind {
  name: string;
  parameters: Record<string, string>;
  type: 'mount' | 'block';
  fsType: string;
  sizeBytes: bigint;
  skip: string | false;
}

const kinds: Kind[] = [
  {
    name: 'a directory',
    parameters: { backing: 'directory' },
    type: 'mount',
    fsType: '',
    sizeBytes: 16n * MiB,
    skip: needsRoot,
  },
  {
    name: 'an ext4 image',
    parameters: { backing: 'image' },
    type: 'mount',
    fsType: 'ext4',
    sizeBytes: 16n * MiB,
    skip: needsRoot,
  },
  {
    name: 'an xfs image',
    parameters: { backing: 'image' },
    type: 'mount',
    fsType: 'xfs',
    sizeBytes: 320n * MiB,
    skip: needsRoot || (hasXfs ? false : 'mkfs.xfs is not installed'),
  },
  {
    name: 'a raw block image',
    parameters: {},
    type: 'block',
    fsType: '',
    sizeBytes: 16n * MiB,
    skip: needsRoot,
  },
];

for (const { name, parameters, type, fsType, sizeBytes, skip } of kinds) {
  describe(`hostpath with ${name}`, { skip }, () => {
    const volumeCapability = capability({ type, fsType });
    const request = volumeRequest({
      parameters,
      volumeCapabilities: [volumeCapability],
      capacityRange: { requiredBytes: sizeBytes },
    });
    const put = (target: string, text: string) =>
      type === 'block' ? writeStart(target, text) : writeFile(join(target, 'file'), text);
    const get = (target: string, length: number) =>
      type === 'block' ? readStart(target, length) : readFile(join(target, 'file'), 'utf8');

    it('keeps data through its whole life, each call repeated', async (t) => {
      const driver = await startHostpath(t);
      const { controller, node } = driver;
      const { volume } = await controller.createVolume(request);
      const volumeId = volume?.volumeId ?? '';
      assert.equal(volume?.capacityBytes, sizeBytes);
      assert.equal((await controller.createVolume(request)).volume?.volumeId, volumeId);
      const place = {
        volumeId,
        staging: driver.path('staging'),
        target: driver.path('pods/target'),
        capability: volumeCapability,
      };
      await use(driver, place);
      await use(driver, place);
      await put(place.target, 'hello');

      const second = driver.path('pods/read-only');
      await node.nodePublishVolume({
        volumeId,
        stagingTargetPath: place.staging,
        targetPath: second,
        volumeCapability,
        readonly: true,
      });
      assert.equal(await get(second, 5), 'hello');
      await node.nodeUnpublishVolume({ volumeId, targetPath: second });

      await release(driver, place);
      await release(driver, place);
      await assert.rejects(stat(place.target), { code: 'ENOENT' });
      await use(driver, place);
      assert.equal(await get(place.target, 5), 'hello');
      await release(driver, place);
      await controller.deleteVolume({ volumeId });
      await controller.deleteVolume({ volumeId });
    });

    it('[NOD-5] cannot be written where it is read-only, and shows there what is written elsewhere', async (t) => {
      const driver = await startHostpath(t);
      const { controller, node } = driver;
      const volumeId = (await controller.createVolume(request)).volume?.volumeId ?? '';
      const place = {
        volumeId,
        staging: driver.path('staging'),
        target: driver.path('pods/target'),
        capability: volumeCapability,
      };
      await use(driver, place);
      await put(place.target, 'hello');
      const readers = ['pods/reader', 'pods/another'].map((name) => driver.path(name));
      for (const targetPath of readers) {
        const paths = { stagingTargetPath: place.staging, targetPath };
        await node.nodePublishVolume({ volumeId, ...paths, volumeCapability, readonly: true });
        await assert.rejects(put(targetPath, 'WRONG'));
        assert.equal(await get(targetPath, 5), 'hello');
      }
      await put(place.target, 'later');
      for (const targetPath of readers) assert.equal(await get(targetPath, 5), 'later');
      if (type === 'block') {
        // The loop device is read-only too, even after `blockdev --setrw`.
        const [reader = ''] = readers;
        execFileSync('blockdev', ['--setrw', reader]);
        await assert.rejects(put(reader, 'WRONG'));
        assert.equal(await get(place.target, 5), 'later');
        const { snapshot } = await controller.createSnapshot({ name: 's', sourceVolumeId: volumeId });
        await controller.deleteSnapshot({ snapshotId: snapshot?.snapshotId ?? '' });
        const capacityRange = { requiredBytes: 2n * sizeBytes };
        await controller.controllerExpandVolume({ volumeId, capacityRange, volumeCapability });
        await node.nodeExpandVolume({ volumeId, volumePath: place.target, capacityRange });
        for (const path of [place.target, ...readers])
          assert.equal(await totalBytes(driver, volumeId, path), 2n * sizeBytes);
      }
      for (const targetPath of readers) await node.nodeUnpublishVolume({ volumeId, targetPath });
      await release(driver, place);
      await controller.deleteVolume({ volumeId });
    });

    it('grows while it is in use', { skip: fsType === 'ext4' && noResourceCapability() }, async (t) => {
      const driver = await startHostpath(t);
      const { controller, node } = driver;
      const volumeId = (await controller.createVolume(request)).volume?.volumeId ?? '';
      const place = {
        volumeId,
        staging: driver.path('staging'),
        target: driver.path('pods/target'),
        capability: volumeCapability,
      };
      await use(driver, place);
      await put(place.target, 'hello');
      const before = await totalBytes(driver, volumeId, place.target);
      const capacityRange = { requiredBytes: 2n * sizeBytes };
      for (const _ of ['once', 'again']) {
        const grown = await controller.controllerExpandVolume({ volumeId, capacityRange, volumeCapability });
        assert.equal(grown.capacityBytes, 2n * sizeBytes);
        assert.equal(grown.nodeExpansionRequired, parameters.backing !== 'directory');
        const onNode = await node.nodeExpandVolume({ volumeId, volumePath: place.target, capacityRange });
        assert.equal(onNode.capacityBytes, 2n * sizeBytes);
      }
      if (parameters.backing !== 'directory') {
        const after = await totalBytes(driver, volumeId, place.target);
        assert.ok(after > before + sizeBytes / 2n, `${before} → ${after}`);
      }
      assert.equal(await get(place.target, 5), 'hello');
      await release(driver, place);
      await controller.deleteVolume({ volumeId });
    });

    it('grows while it is not in use, or when it is staged next', async (t) => {
      const driver = await startHostpath(t, { capabilities: { onlineExpansion: false } });
      const { controller } = driver;
      const volumeId = (await controller.createVolume(request)).volume?.volumeId ?? '';
      const place = {
        volumeId,
        staging: driver.path('staging'),
        target: driver.path('pods/target'),
        capability: volumeCapability,
      };
      await use(driver, place);
      await put(place.target, 'hello');
      const before = await totalBytes(driver, volumeId, place.target);
      const expansion = { volumeId, capacityRange: { requiredBytes: 2n * sizeBytes }, volumeCapability };
      assert.equal(await codeOf(controller.controllerExpandVolume(expansion)), 'FAILED_PRECONDITION');
      await release(driver, place);
      await controller.controllerExpandVolume(expansion);
      await use(driver, place);
      const after = await totalBytes(driver, volumeId, place.target);
      if (parameters.backing !== 'directory')
        assert.ok(after > before + sizeBytes / 2n, `${before} → ${after}`);
      assert.equal(await get(place.target, 5), 'hello');
      await release(driver, place);
      await controller.deleteVolume({ volumeId });
    });

    it('is snapshotted while in use, restored larger, and cloned', async (t) => {
      const driver = await startHostpath(t);
      const { controller } = driver;
      const volumeId = (await controller.createVolume(request)).volume?.volumeId ?? '';
      const place = {
        volumeId,
        staging: driver.path('staging'),
        target: driver.path('pods/target'),
        capability: volumeCapability,
      };
      await use(driver, place);
      await put(place.target, 'before');
      const snapshot = (await controller.createSnapshot({ name: 'snapshot', sourceVolumeId: volumeId }))
        .snapshot;
      const again = (await controller.createSnapshot({ name: 'snapshot', sourceVolumeId: volumeId }))
        .snapshot;
      assert.equal(again?.snapshotId, snapshot?.snapshotId);
      assert.equal(snapshot?.readyToUse, true);
      // The filesystem is thawed: writes succeed.
      await put(place.target, 'after!');

      const snapshotId = snapshot?.snapshotId ?? '';
      const sources = [
        { source: { case: 'snapshot' as const, value: { snapshotId } }, expected: 'before' },
        { source: { case: 'volume' as const, value: { volumeId } }, expected: 'after!' },
      ];
      const made: string[] = [];
      for (const { source, expected } of sources) {
        const restored = await controller.createVolume({
          ...request,
          name: `from ${source.case}`,
          capacityRange: { requiredBytes: 2n * sizeBytes },
          volumeContentSource: { type: source },
        });
        const restoredId = restored.volume?.volumeId ?? '';
        made.push(restoredId);
        assert.deepEqual(restored.volume?.contentSource?.type.case, source.case);
        const other = {
          volumeId: restoredId,
          staging: driver.path('staging2'),
          target: driver.path('pods/target2'),
          capability: volumeCapability,
        };
        await use(driver, other);
        assert.equal(await get(other.target, 6), expected);
        if (parameters.backing !== 'directory') {
          assert.ok(
            (await totalBytes(driver, restoredId, other.target)) > sizeBytes,
            'the filesystem fills its device',
          );
        }
        await release(driver, other);
      }
      const tooSmall = controller.createVolume({
        ...request,
        name: 'too small',
        capacityRange: { requiredBytes: 1n, limitBytes: sizeBytes - MiB },
        volumeContentSource: { type: { case: 'snapshot', value: { snapshotId } } },
      });
      assert.equal(await codeOf(tooSmall), 'OUT_OF_RANGE');
      await release(driver, place);
      await controller.deleteVolume({ volumeId });
      // Neither the snapshot nor the volumes restored from it depend on their source.
      assert.equal((await driver.contents()).snapshots.length, 1);
      await controller.deleteSnapshot({ snapshotId });
      await controller.deleteSnapshot({ snapshotId });
      for (const id of made) await controller.deleteVolume({ volumeId: id });
    });

    it('tells usage, and an abnormal condition when its storage is gone', async (t) => {
      const driver = await startHostpath(t, { keepsContent: true });
      const { controller, node } = driver;
      const volumeId = (await controller.createVolume(request)).volume?.volumeId ?? '';
      const place = {
        volumeId,
        staging: driver.path('staging'),
        target: driver.path('pods/target'),
        capability: volumeCapability,
      };
      await use(driver, place);
      const healthy = await node.nodeGetVolumeStats({ volumeId, volumePath: place.target });
      assert.equal(healthy.volumeCondition?.abnormal, false);
      assert.ok((healthy.usage.find(({ unit }) => unit === Unit.BYTES)?.total ?? 0n) > 0n);
      // Made ill on purpose, for those who test what watches over volumes.
      const mark = join(driver.stateDir, 'ill', volumeId);
      execFileSync('install', ['-D', '/dev/null', mark]);
      const ill = await node.nodeGetVolumeStats({ volumeId, volumePath: place.target });
      assert.match(ill.volumeCondition?.message ?? '', /marked as ill/);
      execFileSync('rm', [mark]);
      await release(driver, place);
      execFileSync('rm', ['-r', join(driver.stateDir, 'volumes', volumeId)]);
      const listed = (await controller.listVolumes({})).entries[0];
      assert.equal(listed?.status?.volumeCondition?.abnormal, true);
      assert.match(listed?.status?.volumeCondition?.message ?? '', /is gone/);
      await controller.deleteVolume({ volumeId });
    });
  });
}

/** Resizing a mounted ext4 needs CAP_SYS_RESOURCE. */
function noResourceCapability(): string | false {
  const effective = /CapEff:\s*(\w+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
  return (BigInt(`0x${effective}`) >> 24n) & 1n ? false : 'this process lacks CAP_SYS_RESOURCE';
}

async function totalBytes(
  driver: Awaited<ReturnType<typeof startHostpath>>,
  volumeId: string,
  volumePath: string,
): Promise<bigint> {
  const { usage } = await driver.node.nodeGetVolumeStats({ volumeId, volumePath });
  return usage.find(({ unit }) => unit === Unit.BYTES)?.total ?? 0n;
}

async function writeStart(path: string, text: string): Promise<void> {
  const handle = await open(path, 'r+');
  try {
    await handle.write(Buffer.from(text), 0, text.length, 0);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function readStart(path: string, length: number): Promise<string> {
  const handle = await open(path, 'r');
  try {
    const buffer = Buffer.alloc(length);
    await handle.read(buffer, 0, length, 0);
    return buffer.toString();
  } finally {
    await handle.close();
  }
}

function spawnable(program: string): boolean {
  try {
    execFileSync(program, ['-V'], { stdio: 'ignore', env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin` } });
    return true;
  } catch {
    return false;
  }
}
