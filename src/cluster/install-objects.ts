// The objects that each driver of a cluster needs from the start, beside roles and definitions: its CSIDriver, its
// StorageClasses and, where it takes snapshots, its VolumeSnapshotClass.

import type { ApiServer } from '../apiserver/index.ts';
import { type BroughtDriver, objectOfBroughtDriver } from './brought-driver.ts';
import { HOSTPATH, type RunningHostpath } from './hostpath-driver.ts';
import { clusterSidecars } from './parts.ts';
import type { ClusterOptions } from './start-cluster.ts';
import {
  hostpathObject,
  installClasses,
  installDefinitions,
  installDriverObject,
  installRoles,
  installSnapshotClasses,
} from './start-objects.ts';

export async function installObjects(
  server: ApiServer,
  { brought, log, wishes, inlineHandles }: ClusterOptions,
  hostpath: RunningHostpath | undefined,
): Promise<void> {
  const installBrought = async (driver: BroughtDriver): Promise<void> => {
    const differing = await installDriverObject(
      server,
      objectOfBroughtDriver(driver, { wishes, inlineHandles }),
    );
    if (wishes === undefined || differing.length === 0) return;
    log.warn('The CSIDriver object was there already and stays as it is; delete it to have it made anew', {
      driver: driver.name,
      differsIn: differing.join(', '),
    });
  };
  const snapshotting = [
    ...(hostpath ? [{ name: 'hostpath', driver: HOSTPATH }] : []),
    ...brought
      .filter(({ abilities }) => abilities.controller.has('CREATE_DELETE_SNAPSHOT'))
      .map(({ name }) => ({ name, driver: name })),
  ];
  await Promise.all([
    installRoles(server, [
      ...clusterSidecars.map(({ kind }) => kind.name),
      'snapshot-controller',
      'dashboard',
    ]),
    installDefinitions(server).then(() => installSnapshotClasses(server, snapshotting)),
    ...(hostpath
      ? [
          installDriverObject(server, hostpathObject(HOSTPATH, { inlineHandles })),
          installClasses(server, {
            name: 'hostpath',
            provisioner: HOSTPATH,
            isDefault: true,
            canExpand: true,
          }),
        ]
      : []),
    ...brought.flatMap((driver) => {
      const { name, abilities } = driver;
      const object = installBrought(driver);
      if (!abilities.controller.has('CREATE_DELETE_VOLUME')) return [object];
      const canExpand =
        abilities.controller.has('EXPAND_VOLUME') || abilities.plugin.volumeExpansion.size > 0;
      return [object, installClasses(server, { name, provisioner: name, isDefault: false, canExpand })];
    }),
  ]);
}
