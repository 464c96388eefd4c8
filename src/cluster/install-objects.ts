// The objects that each driver of a cluster needs from the start, beside roles and definitions: its CSIDriver, its
// StorageClasses and, where it takes snapshots, its VolumeSnapshotClass.

import type { ApiServer } from '../apiserver/index.ts';
import { type BroughtDriver, objectOfBroughtDriver } from './brought-driver.ts';
import { PROGRAM_NAMES } from './control-plane-part.ts';
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
  {
    brought,
    log,
    wishes,
    inlineHandles,
    classParameters = {},
  }: Pick<ClusterOptions, 'brought' | 'log' | 'wishes' | 'inlineHandles' | 'classParameters'>,
  hostpath: RunningHostpath | undefined,
): Promise<void> {
  const installBrought = async (driver: BroughtDriver): Promise<void> => {
    const differing = await installDriverObject(
      server,
      objectOfBroughtDriver(driver, { wishes, inlineHandles }),
    );
    if (wishes === undefined || differing.length === 0) return;
    log.warn('The CSIDriver object exists and is not changed; delete it to have it created again', {
      driver: driver.name,
      differsIn: differing.join(', '),
    });
  };
  const provisioning = brought.filter(({ abilities }) => abilities.controller.has('CREATE_DELETE_VOLUME'));
  const installBroughtClasses = async ({ name, abilities }: BroughtDriver): Promise<void> => {
    const canExpand = abilities.controller.has('EXPAND_VOLUME') || abilities.plugin.volumeExpansion.size > 0;
    const differing = await installClasses(server, {
      name,
      provisioner: name,
      // Whoever brings a driver wants to use it: claims without a class get the first brought one.
      isDefault: name === provisioning[0]?.name,
      canExpand,
      parameters: classParameters,
    });
    if (Object.keys(classParameters).length === 0 || differing.length === 0) return;
    log.warn('StorageClasses existed already with other parameters and stay as they are; delete them first', {
      classes: differing.join(', '),
    });
  };
  const snapshotting = [
    ...(hostpath ? [{ name: 'hostpath', driver: HOSTPATH, hasGroups: true }] : []),
    ...brought
      .filter(({ abilities }) => abilities.controller.has('CREATE_DELETE_SNAPSHOT'))
      .map(({ name, abilities }) => ({
        name,
        driver: name,
        hasGroups: abilities.group.has('CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT'),
      })),
  ];
  await Promise.all([
    installRoles(server, [...clusterSidecars.map(({ kind }) => kind.name), ...PROGRAM_NAMES, 'dashboard']),
    installDefinitions(server).then(() => installSnapshotClasses(server, snapshotting)),
    ...(hostpath
      ? [
          installDriverObject(server, hostpathObject(HOSTPATH, { inlineHandles })),
          installClasses(server, {
            name: 'hostpath',
            provisioner: HOSTPATH,
            isDefault: provisioning.length === 0,
            canExpand: true,
          }),
        ]
      : []),
    ...brought.map(installBrought),
    ...provisioning.map(installBroughtClasses),
  ]);
}
