// Reads what the cluster knows of one driver's volumes: one list per kind, nothing watched, nothing written.

import {
  type CSINode,
  csiDrivers,
  csiNodes,
  events,
  leases,
  namespaces,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  storageClasses,
  volumeAttachments,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../api/kinds.ts';
import type { KubeObject, Resource } from '../../api/object.ts';
import { ifThere } from '../../runtime/kube/if-there.ts';
import type { KubeClient, Selection } from '../../runtime/kube/kube.ts';
import { isForbidden } from '../../runtime/kube/kube-error.ts';
import type { ClusterFacts, IntentRow, ProvisioningEvent } from '../facts.ts';
import { readRows, readRowsIfServed } from './read-rows.ts';
import {
  attachmentRow,
  claimRow,
  classRow,
  intentRows,
  nodeRow,
  otherPodSources,
  otherSourceOf,
  podRow,
  provisioningEvent,
  volumeRow,
} from './rows.ts';
import { contentRow, groupContentRow, snapshotRow } from './snapshot-rows.ts';

export interface ClusterReader {
  readonly kube: Pick<KubeClient, 'list' | 'get'>;
  readonly driver: string;
  /** Where provisioners keep their records; all namespaces unless given. */
  readonly leaseNamespace?: string | undefined;
  readonly signal: AbortSignal;
}

export async function readCluster(reader: ClusterReader): Promise<ClusterFacts> {
  const { kube, driver, leaseNamespace, signal } = reader;
  const unread: string[] = [];
  const all = async <T extends KubeObject, R>(
    resource: Resource<T>,
    row: (object: T) => R | undefined,
    selection: Selection = {},
  ): Promise<R[]> => {
    const rows = await readRowsIfServed(reader, resource, row, selection);
    if (typeof rows !== 'string') return rows;
    unread.push(resource.plural);
    return [];
  };
  /** Of kinds that a cluster may do without. */
  const some = async <T extends KubeObject, R>(
    resource: Resource<T>,
    row: (object: T) => R | undefined,
  ): Promise<R[] | undefined> => {
    const rows = await readRowsIfServed(reader, resource, row);
    if (typeof rows !== 'string') return rows;
    if (rows === 'forbidden') unread.push(resource.plural);
    return undefined;
  };
  const registered = new Map<string, CSINode>();
  await all(csiNodes, (each) => void registered.set(each.metadata.name, each));
  // One after the other: a page of each kind at a time is in memory. Claims before volumes, so that a claim that is bound
  // meanwhile still counts as under way.
  const otherSources: string[] = [];
  const volumeOf = volumeRow(driver);
  const podOf = podRow(driver);
  const intents = await readIntents(reader, unread, leaseNamespace);
  return {
    cluster: await clusterOf(kube, signal),
    intents,
    claims: await readRows(reader, persistentVolumeClaims, claimRow),
    volumes: await readRows(reader, persistentVolumes, (volume) => {
      otherSources.push(...(otherSourceOf(volume) ?? []));
      return volumeOf(volume);
    }),
    attachments: await all(volumeAttachments, attachmentRow(driver)),
    nodes: await all(nodes, nodeRow(driver, registered)),
    pods: await all(pods, (pod) => {
      otherSources.push(...(otherPodSources(pod) ?? []));
      return podOf(pod);
    }),
    otherSources,
    classes: await all(storageClasses, classRow(driver)),
    attachRequired: await attachRequired(kube, driver, signal),
    contents: await some(volumeSnapshotContents, contentRow(driver)),
    groupContents: await some(volumeGroupSnapshotContents, groupContentRow(driver)),
    snapshots: await some(volumeSnapshots, snapshotRow),
    groupSnapshots: await some(volumeGroupSnapshots, snapshotRow),
    snapshotClasses: await some(volumeSnapshotClasses, classRow(driver)),
    events: newest(
      await all(events, provisioningEvent, { fieldSelector: 'involvedObject.kind=PersistentVolumeClaim' }),
    ),
    unread,
  };
}

async function readIntents(
  reader: ClusterReader,
  unread: string[],
  namespace: string | undefined,
): Promise<IntentRow[]> {
  const pages = await readRowsIfServed(
    reader,
    leases,
    (lease) => {
      const rows = intentRows(lease, reader.driver);
      if (rows === undefined) unread.push(`the provisioner's record in lease ${lease.metadata.name}`);
      return rows;
    },
    namespace === undefined ? {} : { namespace },
  );
  if (typeof pages !== 'string') return pages.flat();
  unread.push(leases.plural);
  return [];
}

async function attachRequired(
  kube: ClusterReader['kube'],
  name: string,
  signal: AbortSignal,
): Promise<boolean> {
  const found = await ifThere(kube.get(csiDrivers, { name }, { signal }));
  return found?.spec.attachRequired !== false;
}

/** Empty where it may not be read. */
async function clusterOf(kube: ClusterReader['kube'], signal: AbortSignal): Promise<string> {
  try {
    const found = await ifThere(kube.get(namespaces, { name: 'kube-system' }, { signal }));
    return found?.metadata.uid ?? '';
  } catch (error) {
    if (isForbidden(error)) return '';
    throw error;
  }
}

/** One event a claim. That its volume is made ends its provisioning, whatever is said in the same second. */
function newest(all: readonly ProvisioningEvent[]): ProvisioningEvent[] {
  const byUid = new Map<string, ProvisioningEvent>();
  const rank = ({ reason }: ProvisioningEvent): number =>
    reason === 'ProvisioningSucceeded' ? 2 : reason.startsWith('Provisioning') ? 1 : 0;
  for (const event of all) {
    const known = byUid.get(event.uid);
    const order = known === undefined ? 1 : rank(event) - rank(known) || event.atMs - known.atMs;
    if (order > 0) byUid.set(event.uid, event);
  }
  return [...byUid.values()];
}
