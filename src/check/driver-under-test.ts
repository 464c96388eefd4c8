// The driver that is checked: its services, its capabilities, the volumes created for a check, and their cleanup. A
// failed expectation is a CheckFailure, whose message is the report.

import { type CsiClient, csiClient } from '../csi/client/csi-client.ts';
import { getPluginInfo } from '../csi/client/probe.ts';
import type { CsiStreamTransport, CsiTransport } from '../csi/client/transport.ts';
import { CsiError, codeOf } from '../csi/csi-error.ts';
import {
  Controller,
  GroupController,
  Identity,
  Node,
  SnapshotMetadata,
  type Volume,
  type VolumeCapability,
} from '../csi/generated/csi/v1/csi_pb.ts';
import {
  type ControllerCapability,
  controllerCapabilities,
  type GroupControllerCapability,
  groupControllerCapabilities,
  type NodeCapability,
  nodeCapabilities,
  type PluginCapabilities,
  pluginCapabilities,
} from '../csi/messages/capabilities.ts';
import { parseVolumeHandle, type VolumeHandle } from '../csi/names/driver-name.ts';
import type { Clock, Random } from '../runtime/ports.ts';
import type { GrpcCode } from '../wire/grpc/grpc-code.ts';
import { codeText, quoted, type Subject } from './report/reporter.ts';

/** A volume that no driver has. */
export const NOWHERE = 'berth-check-no-such-volume' as VolumeHandle;

export interface CheckOptions {
  parameters: Readonly<Record<string, string>>;
  /** By the operation's key in csi-sanity's secrets file, `CreateVolumeSecret`; empty if there are none. */
  secrets: (operation: string) => Record<string, string>;
  sizeBytes: bigint;
  capability: VolumeCapability;
  /** The directory for staging and publishing; the driver must see it at the same path. */
  mountDir: string;
  timeoutMs: number;
  /** The number of concurrent calls. */
  parallel: number;
}

export class CheckFailure extends Error {
  override readonly name = 'CheckFailure';
}

export interface Abilities {
  plugin: PluginCapabilities;
  controller: ReadonlySet<ControllerCapability>;
  /** Empty without a group controller service. */
  group: ReadonlySet<GroupControllerCapability>;
  node: ReadonlySet<NodeCapability>;
}

/** Reads the driver's capabilities before the checks. */
export async function askAbilities(
  transports: Transports,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Abilities> {
  const call = { timeoutMs, signal };
  const plugin = await pluginCapabilities(transports.controller, call);
  const hasController = plugin.services.has('CONTROLLER_SERVICE');
  return {
    plugin,
    controller: hasController ? await controllerCapabilities(transports.controller, call) : new Set(),
    group: plugin.services.has('GROUP_CONTROLLER_SERVICE')
      ? await groupControllerCapabilities(transports.controller, call)
      : new Set(),
    node: await nodeCapabilities(transports.node, call),
  };
}

/** The driver as reports name it. */
export async function subjectOf(
  transports: Transports,
  can: Abilities,
  call: { timeoutMs: number; signal: AbortSignal },
): Promise<Subject> {
  const { name, vendorVersion } = await getPluginInfo(transports.controller, call);
  return {
    driver: name,
    version: vendorVersion,
    capabilities: {
      plugin: [
        ...can.plugin.services,
        ...[...can.plugin.volumeExpansion].map((each) => `VOLUME_EXPANSION_${each}`),
      ],
      controller: [...can.controller, ...can.group],
      node: [...can.node],
    },
  };
}

export interface Transports {
  controller: CsiStreamTransport;
  node: CsiTransport;
}

export type CheckedVolume = Omit<Volume, 'volumeId'> & { readonly volumeId: VolumeHandle };

export class DriverUnderTest {
  readonly identity: CsiClient<typeof Identity>;
  readonly controller: CsiClient<typeof Controller>;
  readonly group: CsiClient<typeof GroupController>;
  readonly metadata: CsiClient<typeof SnapshotMetadata, CsiStreamTransport>;
  readonly node: CsiClient<typeof Node>;
  readonly can: Abilities;
  readonly options: CheckOptions;
  readonly clock: Clock;
  readonly #random: Random;
  readonly #undo: (() => Promise<unknown>)[] = [];

  constructor(
    transports: Transports,
    can: Abilities,
    options: CheckOptions,
    ports: { clock: Clock; random: Random },
  ) {
    const { timeoutMs } = options;
    this.identity = csiClient(Identity, transports.controller, { timeoutMs });
    this.controller = csiClient(Controller, transports.controller, { timeoutMs });
    this.group = csiClient(GroupController, transports.controller, { timeoutMs });
    this.metadata = csiClient(SnapshotMetadata, transports.controller, { timeoutMs });
    this.node = csiClient(Node, transports.node, { timeoutMs });
    this.can = can;
    this.options = options;
    this.clock = ports.clock;
    this.#random = ports.random;
  }

  /** A unique name. */
  name(kind: string): string {
    return `berth-check-${kind}-${this.#random.uuid().slice(0, 13)}`;
  }

  createRequest(name: string) {
    const { parameters, capability, sizeBytes, secrets } = this.options;
    return {
      name,
      parameters: { ...parameters },
      volumeCapabilities: [capability],
      capacityRange: { requiredBytes: sizeBytes, limitBytes: 0n },
      secrets: secrets('CreateVolumeSecret'),
    };
  }

  async createVolume(name = this.name('volume'), more: object = {}): Promise<CheckedVolume> {
    const { volume } = await this.controller.createVolume({ ...this.createRequest(name), ...more });
    if (volume === undefined || volume.volumeId === '') {
      throw new CheckFailure('CreateVolume succeeded without a volume ID: volume.volume_id is empty');
    }
    const volumeId = parseVolumeHandle(volume.volumeId);
    this.undo(() => this.deleteVolume(volumeId));
    return { ...volume, volumeId };
  }

  deleteVolume(volumeId: VolumeHandle): Promise<unknown> {
    return this.controller.deleteVolume({ volumeId, secrets: this.options.secrets('DeleteVolumeSecret') });
  }

  /** Registers a cleanup step. Steps run in reverse order after the check, whether it succeeded or not. */
  undo(step: () => Promise<unknown>): void {
    this.#undo.push(step);
  }

  /** Runs the cleanup steps and returns the errors, for the report. */
  async cleanUp(): Promise<string[]> {
    const left: string[] = [];
    for (const step of this.#undo.splice(0).reverse()) {
      await step().catch((error: Error) => {
        // A successful check has deleted some of it already.
        if (codeOf(error) !== 'NOT_FOUND') left.push(error.message);
      });
    }
    return left;
  }
}

/** The call must fail, with one of these codes. */
export async function refuses(what: string, call: Promise<unknown>, ...codes: GrpcCode[]): Promise<void> {
  const wanted = codes.map(codeText).join(' or ');
  try {
    await call;
  } catch (error) {
    if (!(error instanceof CsiError)) throw error;
    if (codes.includes(error.code)) return;
    throw new CheckFailure(`${what}: expected ${wanted}, but ${callWords(error)}`);
  }
  throw new CheckFailure(`${what}: expected ${wanted}, but the call succeeded`);
}

/** How a call failed, with the driver's own words. */
export const callWords = ({ method, code, description }: CsiError): string =>
  `${method} failed with ${codeText(code)}; ${quoted(description)}`;

export function expect(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new CheckFailure(otherwise);
}
