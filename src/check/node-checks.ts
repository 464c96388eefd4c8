// Checks of attach, stage, publish and the reverse.

import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Check } from './check.ts';
import { type DriverUnderTest, expect, NOWHERE, refuses } from './driver-under-test.ts';
import { MountedVolume } from './mounted-volume.ts';

const ATTACHES = ['CREATE_DELETE_VOLUME', 'PUBLISH_UNPUBLISH_VOLUME'] as const;
const MAKES = ['CREATE_DELETE_VOLUME'] as const;
const STAGES = ['STAGE_UNSTAGE_VOLUME'] as const;
const LONGEST_NODE_ID_BYTES = 256;

const attaching: readonly Check[] = [
  {
    group: 'ControllerPublishVolume',
    title: 'rejects requests with missing fields, an unknown volume and an unknown node',
    section: 'controllerpublishvolume-errors',
    needs: ATTACHES,
    async run(driver) {
      const { volumeId } = await driver.createVolume();
      const { nodeId } = await driver.node.nodeGetInfo({});
      const whole = { volumeId, nodeId, volumeCapability: driver.options.capability };
      const secrets = driver.options.secrets('ControllerPublishVolumeSecret');
      const ask = (request: object) => driver.controller.controllerPublishVolume({ secrets, ...request });
      await refuses('without a volume', ask({ ...whole, volumeId: '' }), 'INVALID_ARGUMENT');
      await refuses('without a node', ask({ ...whole, nodeId: '' }), 'INVALID_ARGUMENT');
      const { volumeCapability, ...incapable } = whole;
      await refuses('without a capability', ask(incapable), 'INVALID_ARGUMENT');
      await refuses('a volume that does not exist', ask({ ...whole, volumeId: NOWHERE }), 'NOT_FOUND');
      await refuses(
        'a node that does not exist',
        ask({ ...whole, nodeId: 'berth-check-no-such-node' }),
        'NOT_FOUND',
      );
    },
  },
  {
    group: 'ControllerPublishVolume',
    title: 'attaches and detaches, each idempotent',
    section: 'controllerpublishvolume',
    needs: ATTACHES,
    mounts: true,
    async run(driver) {
      const mounted = await MountedVolume.create(driver);
      for (const step of ['attach', 'attach', 'detach', 'detach'] as const) await mounted[step]();
    },
  },
  {
    group: 'ControllerUnpublishVolume',
    title: 'rejects a request without a volume',
    section: 'controllerunpublishvolume-errors',
    needs: ATTACHES,
    run: ({ controller }) =>
      refuses('without a volume', controller.controllerUnpublishVolume({ volumeId: '' }), 'INVALID_ARGUMENT'),
  },
];

const onNode: readonly Check[] = [
  {
    group: 'NodeGetInfo',
    title: 'returns a valid node ID',
    section: 'nodegetinfo',
    async run({ node }) {
      const { nodeId } = await node.nodeGetInfo({});
      const bytes = Buffer.byteLength(nodeId);
      expect(bytes > 0 && bytes <= LONGEST_NODE_ID_BYTES, `node_id has ${bytes} bytes, 1 to 256 are allowed`);
    },
  },
  {
    group: 'NodeStageVolume',
    title: 'rejects requests with missing fields',
    section: 'nodestagevolume-errors',
    needsOfNode: STAGES,
    async run({ node, options }) {
      const whole = { volumeId: 'v', stagingTargetPath: '/nowhere', volumeCapability: options.capability };
      const secrets = options.secrets('NodeStageVolumeSecret');
      const ask = (request: object) => node.nodeStageVolume({ secrets, ...request });
      await refuses('without a volume', ask({ ...whole, volumeId: '' }), 'INVALID_ARGUMENT');
      await refuses('without a path', ask({ ...whole, stagingTargetPath: '' }), 'INVALID_ARGUMENT');
      const { volumeCapability, ...incapable } = whole;
      await refuses('without a capability', ask(incapable), 'INVALID_ARGUMENT');
    },
  },
  {
    group: 'NodeUnstageVolume',
    title: 'rejects requests without a volume or a path',
    section: 'nodeunstagevolume-errors',
    needsOfNode: STAGES,
    async run({ node }) {
      const ask = (volumeId: string, stagingTargetPath: string) =>
        node.nodeUnstageVolume({ volumeId, stagingTargetPath });
      await refuses('without a volume', ask('', '/nowhere'), 'INVALID_ARGUMENT');
      await refuses('without a path', ask('v', ''), 'INVALID_ARGUMENT');
    },
  },
  {
    group: 'NodePublishVolume',
    title: 'rejects requests with missing fields',
    section: 'nodepublishvolume-errors',
    async run({ node, options }) {
      const whole = { volumeId: 'v', targetPath: '/nowhere/v', volumeCapability: options.capability };
      const secrets = options.secrets('NodePublishVolumeSecret');
      const ask = (request: object) => node.nodePublishVolume({ secrets, ...request });
      await refuses('without a volume', ask({ ...whole, volumeId: '' }), 'INVALID_ARGUMENT');
      await refuses('without a path', ask({ ...whole, targetPath: '' }), 'INVALID_ARGUMENT');
      const { volumeCapability, ...incapable } = whole;
      await refuses('without a capability', ask(incapable), 'INVALID_ARGUMENT');
    },
  },
  {
    group: 'NodeUnpublishVolume',
    title: 'rejects requests without a volume or a path',
    section: 'nodeunpublishvolume-errors',
    async run({ node }) {
      const ask = (volumeId: string, targetPath: string) =>
        node.nodeUnpublishVolume({ volumeId, targetPath });
      await refuses('without a volume', ask('', '/nowhere'), 'INVALID_ARGUMENT');
      await refuses('without a path', ask('v', ''), 'INVALID_ARGUMENT');
    },
  },
  {
    group: 'Lifecycle',
    title: 'attach, stage, publish and back, each step called twice',
    section: 'volume-lifecycle',
    needs: MAKES,
    mounts: true,
    async run(driver) {
      const mounted = await MountedVolume.create(driver);
      const there = ['attach', 'stage', 'publish'] as const;
      const back = ['unpublish', 'unstage', 'detach'] as const;
      for (const step of [...there, ...back].flatMap((each) => [each, each])) await mounted[step]();
    },
  },
  {
    group: 'Lifecycle',
    title: 'data persists across unpublish and publish',
    section: 'volume-lifecycle',
    needs: MAKES,
    mounts: true,
    notFor: ({ options }) =>
      options.capability.accessType.case === 'block' ? 'a block device has no files' : undefined,
    async run(driver) {
      const mounted = await MountedVolume.create(driver);
      const file = join(mounted.targetPath, 'berth-check');
      for (const step of ['attach', 'stage', 'publish'] as const) await mounted[step]();
      await writeFile(file, mounted.volumeId);
      await mounted.unpublish();
      const still = await stat(file).catch(() => undefined);
      expect(still === undefined, 'the file is visible after unpublish: nothing was mounted');
      await mounted.publish();
      const text = await readFile(file, 'utf8').catch((error: Error) => error.message);
      expect(text === mounted.volumeId, `wrote ${mounted.volumeId}, read: ${text}`);
    },
  },
  {
    group: 'NodeGetVolumeStats',
    title: 'reports the usage of a volume, and rejects one that does not exist',
    section: 'nodegetvolumestats',
    needs: MAKES,
    needsOfNode: ['GET_VOLUME_STATS'],
    mounts: true,
    async run(driver) {
      const { node } = driver;
      const mounted = await published(driver);
      const { usage } = await node.nodeGetVolumeStats({
        volumeId: mounted.volumeId,
        volumePath: mounted.targetPath,
      });
      expect(usage.length > 0, 'the response has no usage');
      const volumePath = mounted.targetPath;
      await refuses(
        'without a volume',
        node.nodeGetVolumeStats({ volumeId: '', volumePath }),
        'INVALID_ARGUMENT',
      );
      await refuses(
        'without a path',
        node.nodeGetVolumeStats({ volumeId: mounted.volumeId }),
        'INVALID_ARGUMENT',
      );
      await refuses(
        'a volume that does not exist',
        node.nodeGetVolumeStats({ volumeId: NOWHERE, volumePath: '/nowhere' }),
        'NOT_FOUND',
      );
    },
  },
  {
    group: 'NodeExpandVolume',
    title: 'expands the filesystem after the volume',
    section: 'nodeexpandvolume',
    needs: [...MAKES, 'EXPAND_VOLUME'],
    needsOfNode: ['EXPAND_VOLUME'],
    mounts: true,
    notFor: ({ can }) =>
      can.plugin.volumeExpansion.has('ONLINE') ? undefined : 'the driver does not expand volumes in use',
    async run(driver) {
      const mounted = await published(driver);
      const { capability, secrets, sizeBytes } = driver.options;
      const capacityRange = { requiredBytes: sizeBytes * 2n, limitBytes: 0n };
      const { volumeId } = mounted;
      await driver.controller.controllerExpandVolume({
        volumeId,
        capacityRange,
        volumeCapability: capability,
        secrets: secrets('ControllerExpandVolumeSecret'),
      });
      const grow = () =>
        driver.node.nodeExpandVolume({
          volumeId,
          capacityRange,
          volumePath: mounted.targetPath,
          ...(mounted.isStaged && { stagingTargetPath: mounted.stagingPath }),
          volumeCapability: capability,
        });
      await grow();
      await grow();
      await refuses(
        'without a volume',
        driver.node.nodeExpandVolume({ volumePath: '/nowhere' }),
        'INVALID_ARGUMENT',
      );
    },
  },
];

export const nodeChecks: readonly Check[] = [...attaching, ...onNode];

async function published(driver: DriverUnderTest): Promise<MountedVolume> {
  const mounted = await MountedVolume.create(driver);
  for (const step of ['attach', 'stage', 'publish'] as const) await mounted[step]();
  return mounted;
}
