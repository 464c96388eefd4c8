// From a claim whose volume is to be provisioned to its driver: does everything exist that the claim and its class name, and what
// has the provisioner reported. Pure.

import type { PersistentVolumeClaim, StorageClass } from '../api/kinds.ts';
import { segmentFromLabels, segmentsOfTerms, segmentWithin } from '../api/topology.ts';
import { provisionerOf, selectedNodeOf } from '../api/volumes.ts';
import { ANN_SELECTED_NODE } from '../api/well-known.ts';
import type { DriverName, NodeName } from '../csi/names/driver-name.ts';
import type { Link } from './chain.ts';
import { claimNamed, nodeState } from './fact-index.ts';
import type { Facts } from './facts.ts';
import { end, objectArgument, reported, since } from './link.ts';
import { newestReport } from './report.ts';
import { absenceOf, isKnown, knownDrivers, lookAt } from './who-works.ts';

const SNAPSHOT_GROUP = 'snapshot.storage.k8s.io';

interface Problem {
  readonly says: string;
  readonly todo: readonly string[];
  readonly cause?: string;
}

export function explainProvisioning(
  facts: Facts,
  claim: PersistentVolumeClaim,
  { storageClass, subject }: { storageClass: StorageClass; subject: string },
): Link[] {
  const { provisioner, metadata } = storageClass;
  const driver = provisioner as DriverName;
  const about = claim;
  const problem =
    staticClass(storageClass) ??
    wrongSource(facts, claim) ??
    unknownDriver(facts, storageClass, claim) ??
    lostSelection(facts, claim, driver) ??
    impossibleTopology(facts, storageClass);
  if (problem !== undefined) return [end(facts, 'stuck', subject, problem.says, { ...problem, about })];
  const report = newestReport(facts, [claim], ['ProvisioningFailed']);
  if (report !== undefined) {
    const attempt = {
      operation: 'CreateVolume',
      driver,
      object: objectArgument('pvc', claim),
      storageClass: metadata.name,
    } as const;
    return [reported(facts, subject, { report, attempt, about })];
  }
  if (provisionerOf(claim) === undefined) {
    return [
      end(facts, 'waits', subject, 'nobody was asked to provision its volume yet', {
        todo: ['check that the controller manager runs: it asks the provisioner'],
        about,
        cause: 'claims that the controller manager did not look at',
      }),
    ];
  }
  const filler = populatedBy(claim);
  if (filler !== undefined) return [end(facts, 'waits', subject, filler.says, { ...filler, about })];
  const absence = absenceOf(facts, 'provisioner', driver);
  const says =
    absence ?? `waits for the provisioner of ${driver}${since(claim.metadata.creationTimestamp, facts)}`;
  return [
    end(facts, absence === undefined ? 'waits' : 'stuck', subject, says, {
      todo: [lookAt('provisioner', driver)],
      about,
      cause: absence ?? `waits for the provisioner of ${driver}`,
    }),
  ];
}

function staticClass({ provisioner, metadata }: StorageClass): Problem | undefined {
  if (provisioner !== 'kubernetes.io/no-provisioner') return undefined;
  return {
    says: `class ${metadata.name} provisions no volumes; waits for a PersistentVolume of that class that fits`,
    todo: ['create one'],
  };
}

/** A source that does not exist, or is of a kind that exists in another group. */
function wrongSource(facts: Facts, claim: PersistentVolumeClaim): Problem | undefined {
  const source = claim.spec.dataSourceRef ?? claim.spec.dataSource;
  if (source === undefined) return undefined;
  const { kind, name } = source;
  const group = source.apiGroup ?? '';
  const expected = { PersistentVolumeClaim: '', VolumeSnapshot: SNAPSHOT_GROUP }[kind as string];
  if (expected !== undefined && group !== expected) {
    return {
      says: `its data source is a ${kind} of group "${group}"; ${kind}s are of group "${expected}"`,
      todo: [`create the claim again with apiGroup: "${expected}" in its data source`],
    };
  }
  const namespace = claim.spec.dataSourceRef?.namespace || claim.metadata.namespace;
  // The facts may be of one namespace.
  if (namespace !== claim.metadata.namespace) return undefined;
  const isMissing =
    (kind === 'PersistentVolumeClaim' && claimNamed(facts, { namespace, name }) === undefined) ||
    (kind === 'VolumeSnapshot' &&
      facts.snapshots?.some(({ metadata }) => metadata.name === name && metadata.namespace === namespace) ===
        false);
  if (!isMissing) return undefined;
  return {
    says: `its data source, ${kind} ${namespace}/${name}, does not exist`,
    todo: [`create ${kind} ${namespace}/${name}`, 'or create the claim again without that data source'],
  };
}

/** The provisioner leaves such claims to a populator of that kind. */
function populatedBy({ spec }: PersistentVolumeClaim): Problem | undefined {
  const { kind, name, apiGroup } = spec.dataSourceRef ?? {};
  if (kind === undefined || kind === 'PersistentVolumeClaim' || kind === 'VolumeSnapshot') return undefined;
  return {
    says: `waits for a populator that fills it from ${kind} ${name} of group "${apiGroup ?? ''}"`,
    todo: [
      `check that a populator for ${kind} is installed and runs`,
      'or create the claim again without that data source',
    ],
  };
}

function unknownDriver(
  facts: Facts,
  { provisioner, metadata }: StorageClass,
  claim: PersistentVolumeClaim,
): Problem | undefined {
  const problem = unknownProvisioner(facts, { provisioner, metadata });
  // A provisioner that is no CSI driver is known by what it says.
  const hasSpoken = (): boolean =>
    facts.events.some(
      ({ involvedObject, reason }) =>
        involvedObject.uid === claim.metadata.uid &&
        (reason === 'Provisioning' || reason === 'ProvisioningFailed'),
    );
  return problem && !hasSpoken() ? problem : undefined;
}

/** Nothing in the cluster has the name of the class's provisioner. */
export function unknownProvisioner(
  facts: Facts,
  { provisioner, metadata }: Pick<StorageClass, 'provisioner' | 'metadata'>,
): Problem | undefined {
  if (isKnown(facts, provisioner as DriverName) !== false || provisioner.startsWith('kubernetes.io/'))
    return undefined;
  const known = knownDrivers(facts);
  return {
    says: `class ${metadata.name} is of provisioner ${provisioner}, and no driver of that name is installed`,
    todo: [
      `install driver ${provisioner}`,
      known.length === 0
        ? 'or use a class of another driver'
        : `or use a class of a driver that is installed: ${known.join(', ')}`,
    ],
    cause: `no driver ${provisioner}`,
  };
}

/** The scheduler chose a node, and it has gone or cannot reach the volume. */
function lostSelection(facts: Facts, claim: PersistentVolumeClaim, driver: DriverName): Problem | undefined {
  const node = selectedNodeOf(claim) as NodeName | undefined;
  if (node === undefined || facts.unread.includes('csinodes')) return undefined;
  const remove = `remove annotation ${ANN_SELECTED_NODE} of the claim, so that the scheduler chooses another node`;
  if (nodeState(facts, node) === 'deleted') {
    return { says: `the node that was selected for it, ${node}, was deleted`, todo: [remove] };
  }
  const drivers = facts.csiNodes.find(({ metadata }) => metadata.name === node)?.spec.drivers ?? [];
  // A driver that is on no node need not be on this one: its volumes are reached from everywhere.
  const isOnNodes = facts.csiNodes.some(({ spec }) => spec.drivers?.some(({ name }) => name === driver));
  if (!isOnNodes || drivers.some(({ name }) => name === driver)) return undefined;
  return {
    says: `the node that was selected for it, ${node}, has no driver ${driver}`,
    todo: [
      `check that the driver's pod runs on ${node}, and read the log of its node-registrar`,
      `or ${remove}`,
    ],
  };
}

/** The class allows volumes only where no node is. */
export function impossibleTopology(
  facts: Facts,
  { metadata, allowedTopologies = [] }: StorageClass,
): Problem | undefined {
  if (allowedTopologies.length === 0 || facts.nodes.length === 0) return undefined;
  const segments = segmentsOfTerms(allowedTopologies);
  const isReached = segments.some((segment) =>
    facts.nodes.some(({ metadata: { labels } }) => {
      const here = segmentFromLabels(Object.keys(segment), labels);
      return here !== undefined && segmentWithin(here, segment);
    }),
  );
  if (isReached) return undefined;
  const where = segments
    .map((segment) =>
      Object.entries(segment)
        .map(([key, value]) => `${key}=${value}`)
        .join(' and '),
    )
    .join(' or ');
  return {
    says: `class ${metadata.name} allows volumes only where ${where}, and no node has these labels`,
    todo: [
      `create the claim again with a class whose allowedTopologies fit the nodes`,
      'or add a node there (kubectl get nodes --show-labels)',
    ],
    cause: `topology of class ${metadata.name}`,
  };
}
