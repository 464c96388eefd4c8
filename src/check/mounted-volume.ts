// Attach, stage, publish and the reverse for one volume, in the order of the specification; steps that the driver does
// not have are skipped. Each step may be repeated, as after a lost response.

import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type NodeId, parseNodeId, type VolumeHandle } from '../csi/names/driver-name.ts';
import type { CheckedVolume, DriverUnderTest } from './driver-under-test.ts';

export class MountedVolume {
  readonly volumeId: VolumeHandle;
  readonly stagingPath: string;
  readonly targetPath: string;
  readonly #driver: DriverUnderTest;
  readonly #volume: CheckedVolume;
  readonly #directory: string;
  #nodeId: NodeId | undefined;
  #publishContext: Record<string, string> = {};

  private constructor(driver: DriverUnderTest, volume: CheckedVolume, directory: string) {
    this.#driver = driver;
    this.#volume = volume;
    this.#directory = directory;
    this.volumeId = volume.volumeId;
    this.stagingPath = join(directory, 'staging');
    this.targetPath = join(directory, 'target');
  }

  static async create(driver: DriverUnderTest): Promise<MountedVolume> {
    const volume = await driver.createVolume();
    const mounted = new MountedVolume(driver, volume, join(driver.options.mountDir, driver.name('mount')));
    // By the specification the caller creates the parent directory of the target, and the driver the target.
    await mkdir(mounted.stagingPath, { recursive: true });
    driver.undo(() => rm(mounted.#directory, { recursive: true, force: true }));
    return mounted;
  }

  get #isAttached(): boolean {
    return this.#driver.can.controller.has('PUBLISH_UNPUBLISH_VOLUME');
  }

  get isStaged(): boolean {
    return this.#driver.can.node.has('STAGE_UNSTAGE_VOLUME');
  }

  async attach(): Promise<void> {
    if (!this.#isAttached) return;
    const { controller, node, options } = this.#driver;
    this.#nodeId = parseNodeId((await node.nodeGetInfo({})).nodeId);
    this.#driver.undo(() => this.detach());
    const { publishContext } = await controller.controllerPublishVolume({
      ...this.#common('ControllerPublishVolumeSecret'),
      nodeId: this.#nodeId,
      volumeCapability: options.capability,
    });
    this.#publishContext = { ...publishContext };
  }

  async detach(): Promise<void> {
    if (!this.#isAttached) return;
    const secrets = this.#driver.options.secrets('ControllerUnpublishVolumeSecret');
    await this.#driver.controller.controllerUnpublishVolume({
      volumeId: this.volumeId,
      nodeId: this.#nodeId ?? '',
      secrets,
    });
  }

  async stage(timeoutMs?: number): Promise<void> {
    if (!this.isStaged) return;
    this.#driver.undo(() => this.unstage());
    await this.#driver.node.nodeStageVolume(
      {
        ...this.#common('NodeStageVolumeSecret'),
        publishContext: this.#publishContext,
        stagingTargetPath: this.stagingPath,
        volumeCapability: this.#driver.options.capability,
      },
      timeoutMs === undefined ? {} : { timeoutMs },
    );
  }

  async unstage(): Promise<void> {
    if (!this.isStaged) return;
    const { volumeId } = this;
    await this.#driver.node.nodeUnstageVolume({ volumeId, stagingTargetPath: this.stagingPath });
  }

  async publish(timeoutMs?: number): Promise<void> {
    this.#driver.undo(() => this.unpublish());
    await this.#driver.node.nodePublishVolume(
      {
        ...this.#common('NodePublishVolumeSecret'),
        publishContext: this.#publishContext,
        ...(this.isStaged && { stagingTargetPath: this.stagingPath }),
        targetPath: this.targetPath,
        volumeCapability: this.#driver.options.capability,
      },
      timeoutMs === undefined ? {} : { timeoutMs },
    );
  }

  async unpublish(): Promise<void> {
    await this.#driver.node.nodeUnpublishVolume({ volumeId: this.volumeId, targetPath: this.targetPath });
  }

  #common(secret: string) {
    return {
      volumeId: this.volumeId,
      volumeContext: { ...this.#volume.volumeContext },
      secrets: this.#driver.options.secrets(secret),
    };
  }
}
