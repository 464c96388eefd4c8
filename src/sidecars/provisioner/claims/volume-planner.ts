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
import { ClaimProblem, permanentProblem } from '../planning/claim-problem.ts';
import {
  type ContentSource,
  planVolume,
  type TopologyRequirement,
  type VolumePlan,
} from '../planning/plan-volume.ts';
import type { ProvisionerContext } from '../provisioner-context.ts';
import { dataSourceOf } from '../sources/data-source.ts';
import { type FoundSource, findSource, type SourceContext } from '../sources/find-source.ts';
import { topologyRequirement } from '../topology/topology-requirement.ts';

type PlannerContext = SourceContext &
  Pick<ProvisionerContext, 'informers' | 'random' | 'topology' | 'grants'>;

interface PlanOptions {
  signal: AbortSignal;
  pinned?: TopologyRequirement | undefined;
  /** The source of an earlier request that is to be repeated: it may be gone. */
  madeFrom?: ContentSource | undefined;
  /** The volume is only to be found: where it may be need not be known, since its node may be gone. */
  orAnywhere?: boolean;
}

/** Unlike any other, since what was asked for before is not known. */
const UNKNOWN_TOPOLOGY = 'unknown';

export type VolumePlanner = ReturnType<typeof createVolumePlanner>;

export function createVolumePlanner(context: PlannerContext) {
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
      throw permanentProblem(
        `driver ${driver} does not support VolumeAttributesClasses: it does not report MODIFY_VOLUME`,
      );
    }
    const found = await ifThere(kube.get(volumeAttributesClasses, { name }, { signal }));
    if (!found) throw new ClaimProblem(`VolumeAttributesClass ${name} does not exist`);
    if (found.driverName === driver) return found.parameters ?? {};
    throw permanentProblem(
      `VolumeAttributesClass ${name} is for driver ${found.driverName}, not for ${driver}`,
    );
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
    /** `populator` when a volume populator creates the volume. Throws a ClaimProblem when the claim cannot be provisioned. */
    async plan(
      claim: PersistentVolumeClaim,
      storageClass: StorageClass,
      { signal, pinned, madeFrom, orAnywhere = false }: PlanOptions,
    ): Promise<{ plan: VolumePlan; source: FoundSource | undefined } | { populator: string }> {
      if (!capabilities.has('CREATE_DELETE_VOLUME')) {
        throw permanentProblem(
          `driver ${driver} does not support provisioning: it does not report CREATE_DELETE_VOLUME`,
        );
      }
      const dataSource = dataSourceOf(claim);
      if (dataSource?.kind === 'populator') return { populator: dataSource.what };
      if (!madeFrom) context.grants.require(claim);
      const source =
        dataSource && !madeFrom ? await findSource(context, claim, dataSource, signal) : undefined;
      let where = pinned;
      let isKnown = true;
      try {
        where ??= topologyFor(claim, storageClass);
      } catch (error) {
        if (!orAnywhere || !(error instanceof ClaimProblem)) throw error;
        isKnown = false;
      }
      const plan = planVolume(
        {
          claim,
          storageClass,
          mutableParameters: await mutableParameters(claim, signal),
          source: madeFrom ?? source?.content,
          topology: where,
        },
        context,
      );
      return { plan: isKnown ? plan : { ...plan, topologyDigest: UNKNOWN_TOPOLOGY }, source };
    },
  };
}
