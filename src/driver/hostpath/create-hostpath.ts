// Assembles hostpath: one core over one state directory, and drivers on it for the controller, for each node of the
// machine, or for both in one.

import { mkdirSync } from 'node:fs';
import type { DriverName, NodeId } from '../../csi/names/driver-name.ts';
import { openSystemCalls } from '../../runtime/mount/linux-mounter.ts';
import { type ControllerOperations, type Driver, type DriverFeatures, defineDriver } from '../driver.ts';
import { linuxFilesystemTools } from '../filesystem/filesystem-tools.ts';
import { openStateStore } from '../state/state-store.ts';
import { controllerExpandVolume } from './controller/expand-operations.ts';
import { groupSnapshotOperations } from './controller/group-snapshot-operations.ts';
import { metadataOperations } from './controller/metadata-operations.ts';
import { modifyVolume } from './controller/modify-operation.ts';
import { publishOperations } from './controller/publish-operations.ts';
import { snapshotOperations } from './controller/snapshot-operations.ts';
import { volumeOperations } from './controller/volume-operations.ts';
import { type HostpathCore, layoutOf } from './core.ts';
import { nodeOperations } from './node/node-operations.ts';
import {
  allCapabilities,
  DEFAULT_DRIVER_NAME,
  type HostpathNodeOptions,
  type HostpathOptions,
} from './options.ts';
import { fileLocks } from './state/host-locks.ts';
import { openRecords } from './state/records.ts';
import { recover } from './state/recover.ts';
import { diskFiles } from './state/volume-files.ts';

export interface Hostpath {
  /**
   * A driver to serve, with the node service of `node`, the controller service, or both. Serve one with both for a
   * single node, or one controller and any number of nodes.
   */
  driver(parts: { controller?: boolean; node?: HostpathNodeOptions }): Driver;
  /** Removes the record of a node that will not come back. */
  removeNode(nodeId: string): void;
  /** Call it after the drivers are stopped. */
  close(): void;
}

/** Resolves after crash recovery. */
export async function createHostpath(options: HostpathOptions): Promise<Hostpath> {
  const core = await openCore(options);
  await recover(core);
  return {
    driver: ({ controller = false, node }) => {
      if (node !== undefined) registerNode(core, node);
      return defineDriver({
        name: core.driverName,
        version: options.version ?? '0.1.0',
        accessTypes: core.can.block ? ['mount', 'block'] : ['mount'],
        features: features(core, { controller, node }),
        ...(controller && { controller: controllerOperations(core) }),
        ...(controller &&
          core.can.snapshots &&
          core.can.groupSnapshots && { groupController: groupSnapshotOperations(core) }),
        ...(controller &&
          core.can.snapshots &&
          core.can.snapshotMetadata && { snapshotMetadata: metadataOperations(core) }),
        ...(node && { node: nodeOperations({ core, nodeId: node.nodeId as NodeId, options: node }) }),
      });
    },
    removeNode: (nodeId) => core.records.nodes.delete(nodeId),
    close() {
      core.locks.close();
      core.store.close();
    },
  };
}

async function openCore(options: HostpathOptions): Promise<HostpathCore> {
  const layout = layoutOf(options);
  if (options.files === undefined) {
    for (const path of [layout.volumes, layout.snapshots, layout.mounts]) {
      mkdirSync(path, { recursive: true, mode: 0o750 });
    }
  }
  const store = options.store ?? openStateStore(layout.database);
  return {
    ...options,
    driverName: (options.driverName ?? DEFAULT_DRIVER_NAME) as DriverName,
    can: { ...allCapabilities, ...options.capabilities },
    store,
    records: openRecords(store),
    files: options.files ?? diskFiles(options.clock),
    tools: options.tools ?? linuxFilesystemTools,
    locks:
      options.locks ?? fileLocks(layout.lockFile, { calls: await openSystemCalls(), clock: options.clock }),
    layout,
    step: options.step ?? (() => {}),
  };
}

function registerNode(core: HostpathCore, node: HostpathNodeOptions): void {
  core.records.nodes.put(node.nodeId, {
    nodeId: node.nodeId as NodeId,
    topology: { ...node.topology },
    maxVolumesPerNode: node.maxVolumesPerNode ?? 0,
  });
}

function features(
  { can, records }: HostpathCore,
  { controller, node }: { controller: boolean; node: HostpathNodeOptions | undefined },
): DriverFeatures {
  const hasSegments = (topology: Readonly<Record<string, string>> | undefined) =>
    Object.keys(topology ?? {}).length > 0;
  return {
    cloneVolume: controller && can.clone,
    publishReadOnly: controller && can.attach && can.publishReadOnly,
    publishedNodes: controller && can.publishedNodes,
    volumeCondition: can.volumeCondition,
    singleNodeMultiWriter: can.singleNodeMultiWriter,
    topology:
      hasSegments(node?.topology) || records.nodes.list().some(({ record }) => hasSegments(record.topology)),
    expansion: can.onlineExpansion ? 'online' : 'offline',
  };
}

function controllerOperations(core: HostpathCore): ControllerOperations {
  return {
    ...volumeOperations(core),
    ...publishOperations(core),
    ...snapshotOperations(core),
    ...(core.can.expand && { controllerExpandVolume: controllerExpandVolume(core) }),
    ...(core.can.modify && { controllerModifyVolume: modifyVolume(core) }),
  };
}
