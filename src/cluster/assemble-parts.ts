// The parts of a cluster that its options ask for: control plane, scheduler, sidecars of each driver, and for each node its agent
// and the registrars of its drivers.

import type { Part } from '../runtime/process/supervise.ts';
import type { ClusterDriver } from './cluster-driver.ts';
import { controlPlanePart, PROGRAM_NAMES, programPart, schedulerPart } from './control-plane-part.ts';
import { nodePart } from './node-part.ts';
import type { PartContext } from './part-context.ts';
import { clusterControllers, clusterSidecars } from './parts.ts';
import { registrarPart } from './registrar-part.ts';
import { sidecarsPart } from './sidecars-part.ts';
import type { ClusterOptions } from './start-cluster.ts';

export function assembleParts(
  context: PartContext,
  {
    directory,
    nodes,
    without,
    mounter,
    version,
    sidecarFlags,
    kubelet,
    replaceTopologyLabels = false,
    volumeStatsAggPeriodMs,
    gates = {},
  }: ClusterOptions,
  drivers: readonly ClusterDriver[],
): Part[] {
  const isIn = ({ name }: { name: string }): boolean => !without.has(name);
  const sidecars = clusterSidecars.filter(({ kind }) => isIn(kind));
  const flags = sidecarFlags ?? { values: {}, given: new Set() };
  const ofNodes = nodes.flatMap((node) => {
    const root = directory.nodeRoot(node.name);
    const registrars = drivers.flatMap((driver) => {
      const socket = driver.nodeSockets.get(node.name);
      return socket === undefined ? [] : [registrarPart(context, driver, { name: node.name, root, socket })];
    });
    const agent = nodePart(
      context,
      { ...node, root },
      {
        mounter,
        version,
        replaceTopologyLabels,
        seLinuxMount: gates.SELinuxMount ?? false,
        ...(volumeStatsAggPeriodMs !== undefined && { volumeStatsAggPeriodMs }),
      },
    );
    const isElsewhere = without.has('nodes') || without.has(node.name) || node.name === kubelet?.nodeName;
    return [...(isElsewhere ? [] : [agent]), ...(without.has('node-registrar') ? [] : registrars)];
  });
  return [
    controlPlanePart(context, clusterControllers.filter(isIn)),
    ...(without.has('scheduler') ? [] : [schedulerPart(context)]),
    ...PROGRAM_NAMES.filter((name) => !without.has(name)).map((name) => programPart(context, name)),
    ...(sidecars.length === 0
      ? []
      : drivers.map((driver) => sidecarsPart(context, driver, { sidecars, flags }))),
    ...ofNodes,
  ];
}
