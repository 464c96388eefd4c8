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
import { ifThere } from '../../../runtime/kube/if-there.ts';
import { ClaimProblem } from '../planning/claim-problem.ts';
import { planVolume, type TopologyRequirement, type VolumePlan } from '../planning/plan-volume.ts';
import type { ProvisionerContext } from '../provisioner-context.ts';
import { dataSourceOf } from '../sources/data-source.ts';
import { type FoundSource, findSource, type SourceContext } from '../sources/find-source.ts';
import { topologyRequirement } from '../topology/topology-requirement.ts';

type PlannerContext = SourceContext & Pick<ProvisionerContext, 'informers' | 'random' | 'topology'>;

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

export function createVolumePlanner(context: PlannerContext): VolumePlanner {
  const { kube, flags, informers, topology, random } = context;
  const { name: driver, controller: capabilities } = context.driver;
  // Informers of nodes are created only where needed: without topology nodes are not read.
  const watched = topology && {
    nodes: informers.of(nodes),
    csiNodes: informers.of(csiNodes),
    csiNodeInfos: informers.of(csiNodeInfos, { optional: true }),
  };
  const isThere = (node: string): boolean =>
    watched?.nodes.get(node) !== undefined &&
    (watched.csiNodes.get(node) ?? watched.csiNodeInfos.get(node)) !== undefined;

  async function mutableParameters(
    claim: PersistentVolumeClaim,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, string>> | undefined> {
    const name = claim.spec.volumeAttributesClassName;
    if (!name || !flags.featureGates.VolumeAttributesClass) return undefined;
    if (!capabilities.has('MODIFY_VOLUME')) {
      const problem = `driver ${driver} takes no VolumeAttributesClass: it does not report MODIFY_VOLUME`;
      throw new ClaimProblem(problem, { slow: true });
    }
    const found = await ifThere(kube.get(volumeAttributesClasses, { name }, { signal }));
    if (!found) throw new ClaimProblem(`VolumeAttributesClass ${name} does not exist`);
    if (found.driverName === driver) return found.parameters ?? {};
    const problem = `VolumeAttributesClass ${name} is for driver ${found.driverName}, not for ${driver}`;
    throw new ClaimProblem(problem, { slow: true });
  }

  function topologyFor(
    claim: PersistentVolumeClaim,
    storageClass: StorageClass,
  ): TopologyRequirement | undefined {
    if (!topology) return undefined;
    const selectedNode = selectedNodeOf(claim);
    const { allowedTopologies = [] } = storageClass;
    const question = { ...flags, claimName: claim.metadata.name, allowedTopologies, selectedNode };
    const answer = topologyRequirement(question, topology, random);
    if (answer.kind === 'requirement') return { requisite: answer.requisite, preferred: answer.preferred };
    if (answer.kind === 'anywhere') return undefined;
    // Without CSINode nothing shows that the driver will ever run there: the scheduler may choose better.
    const isGone = selectedNode !== undefined && !isThere(selectedNode);
    throw new ClaimProblem(`where the volume may be is not known: ${answer.why}`, { reschedule: isGone });
  }

  return {
    async plan(claim, storageClass, { signal, pinned }) {
      if (!capabilities.has('CREATE_DELETE_VOLUME')) {
        const problem = `driver ${driver} does not make volumes: it does not report CREATE_DELETE_VOLUME`;
        throw new ClaimProblem(problem, { slow: true });
      }
      const dataSource = dataSourceOf(claim);
      if (dataSource?.kind === 'populator') return { populator: dataSource.what };
      const source = dataSource && (await findSource(context, claim, dataSource, signal));
      const plan = planVolume(
        {
          claim,
          storageClass,
          mutableParameters: await mutableParameters(claim, signal),
          source: source?.content,
          topology: pinned ?? topologyFor(claim, storageClass),
        },
        context,
      );
      return { plan, source };
    },
  };
}
