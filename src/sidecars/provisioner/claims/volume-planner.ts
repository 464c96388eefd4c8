// Reads the inputs of a plan: the source, the VolumeAttributesClass and the topology. Writes nothing.

import {
  csiNodeInfos,
  csiNodes,
  nodes,
  type PersistentVolumeClaim,
  type StorageClass,
  volumeAttributesClasses,
} from '../../../api/kinds.ts';
import { selectedNodeOf } from '../../../api/volumes.ts';
import type { Informers } from '../../../runtime/informer/informer.ts';
import { isNotFound } from '../../../runtime/kube/kube-error.ts';
import type { Random } from '../../../runtime/ports.ts';
import { ClaimProblem } from '../planning/claim-problem.ts';
import {
  type PlanningOptions,
  planVolume,
  type TopologyRequirement,
  type VolumePlan,
} from '../planning/plan-volume.ts';
import { dataSourceOf } from '../sources/data-source.ts';
import { type FoundSource, findSource, type SourcePorts } from '../sources/find-source.ts';
import type { TopologyIndex } from '../topology/topology-index.ts';
import { type TopologyQuestion, topologyRequirement } from '../topology/topology-requirement.ts';

export interface PlannerOptions {
  planning: PlanningOptions;
  topology: Pick<TopologyQuestion, 'strict' | 'immediate' | 'preferImmediate'>;
  volumeAttributesClasses: boolean;
}

export interface PlannerPorts extends SourcePorts {
  informers: Informers;
  random: Random;
  /** Undefined when the driver has no topology. */
  topology: TopologyIndex | undefined;
  options: PlannerOptions;
}

export interface PlannedVolume {
  plan: VolumePlan;
  source: FoundSource | undefined;
}

export interface VolumePlanner {
  /**
   * `populator` when a volume populator creates the volume. Throws a ClaimProblem when the claim cannot be provisioned.
   */
  plan(
    claim: PersistentVolumeClaim,
    storageClass: StorageClass,
    context: { signal: AbortSignal; pinned?: TopologyRequirement | undefined },
  ): Promise<PlannedVolume | { populator: string }>;
}

export function createVolumePlanner(ports: PlannerPorts): VolumePlanner {
  const { kube, driver, capabilities, options } = ports;
  // Informers of nodes are created only where needed: without topology nodes are not read.
  const watched = ports.topology && {
    nodes: ports.informers.of(nodes),
    csiNodes: ports.informers.of(csiNodes),
    csiNodeInfos: ports.informers.of(csiNodeInfos, { optional: true }),
  };
  const isThere = (node: string): boolean =>
    watched?.nodes.get(node) !== undefined &&
    (watched.csiNodes.get(node) ?? watched.csiNodeInfos.get(node)) !== undefined;

  async function mutableParameters(
    claim: PersistentVolumeClaim,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, string>> | undefined> {
    const name = claim.spec.volumeAttributesClassName;
    if (!name || !options.volumeAttributesClasses) return undefined;
    if (!capabilities.has('MODIFY_VOLUME')) {
      throw new ClaimProblem(
        `driver ${driver} takes no VolumeAttributesClass: it does not report MODIFY_VOLUME`,
        { slow: true },
      );
    }
    try {
      const attributes = await kube.get(volumeAttributesClasses, { name }, { signal });
      if (attributes.driverName === driver) return attributes.parameters ?? {};
      throw new ClaimProblem(
        `VolumeAttributesClass ${name} is for driver ${attributes.driverName}, not for ${driver}`,
        { slow: true },
      );
    } catch (error) {
      if (!isNotFound(error)) throw error;
      throw new ClaimProblem(`VolumeAttributesClass ${name} does not exist`, { cause: error });
    }
  }

  function topologyFor(
    claim: PersistentVolumeClaim,
    storageClass: StorageClass,
  ): TopologyRequirement | undefined {
    if (!ports.topology) return undefined;
    const selectedNode = selectedNodeOf(claim);
    const answer = topologyRequirement(
      {
        claimName: claim.metadata.name,
        allowedTopologies: storageClass.allowedTopologies ?? [],
        selectedNode,
        ...options.topology,
      },
      ports.topology,
      ports.random,
    );
    if (answer.kind === 'requirement') return { requisite: answer.requisite, preferred: answer.preferred };
    if (answer.kind === 'anywhere') return undefined;
    // Without CSINode nothing shows that the driver will ever run there: the scheduler may choose better.
    const isGone = selectedNode !== undefined && !isThere(selectedNode);
    throw new ClaimProblem(`where the volume may be is not known: ${answer.why}`, { reschedule: isGone });
  }

  return {
    async plan(claim, storageClass, { signal, pinned }) {
      if (!capabilities.has('CREATE_DELETE_VOLUME')) {
        throw new ClaimProblem(
          `driver ${driver} does not make volumes: it does not report CREATE_DELETE_VOLUME`,
          { slow: true },
        );
      }
      const dataSource = dataSourceOf(claim);
      if (dataSource?.kind === 'populator') return { populator: dataSource.what };
      const source = dataSource && (await findSource(ports, claim, dataSource, signal));
      const plan = planVolume(
        {
          claim,
          storageClass,
          mutableParameters: await mutableParameters(claim, signal),
          source: source?.content,
          topology: pinned ?? topologyFor(claim, storageClass),
        },
        options.planning,
      );
      return { plan, source };
    },
  };
}
