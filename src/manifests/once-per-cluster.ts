// The manifests that a cluster needs once, whatever drivers it has: the CRDs of snapshots with the snapshot controller, the CRD
// of populators with the data source validator, the CRD of snapshot metadata services. They have the official names, since
// only one of the two may run.

import { readdir, readFile } from 'node:fs/promises';
import { berthContainer } from './containers.ts';
import { namespaceObject } from './namespaces.ts';
import { GROUPS_GATE, type Manifest } from './plan.ts';
import { disruptionBudgets, networkPolicies } from './policies.ts';
import { COMPONENT_ACCOUNTS, publishedRbac } from './published-rbac.ts';

const definitions = new URL('../../deploy/crds/', import.meta.url);
const PORT = 8080;

export const ONCE_PER_CLUSTER = [
  'snapshot-controller',
  'data-source-validator',
  'snapshot-metadata',
] as const;
export type OncePart = (typeof ONCE_PER_CLUSTER)[number];

export interface OncePlan {
  part: OncePart;
  berthImage: string;
  namespace: string;
  makesNamespace: boolean;
  logLevel: number;
  hasNetworkPolicy: boolean;
  replicas: number;
  /** The snapshot controller works in all replicas at once. */
  isSharded?: boolean;
  arguments: readonly string[];
  /** The snapshot controller handles group snapshots, too. */
  groupSnapshots: boolean;
}

export async function onceObjects(plan: OncePlan): Promise<Manifest[]> {
  const { part } = plan;
  switch (part) {
    case 'snapshot-controller': {
      const groups = plan.groupSnapshots ? ['groupsnapshot.storage.k8s.io'] : [];
      return [
        ...(await definitionObjects('snapshot.storage.k8s.io', ...groups)),
        ...(await programObjects(part, plan, plan.groupSnapshots ? [GROUPS_GATE] : [])),
      ];
    }
    case 'data-source-validator':
      return [
        ...(await definitionObjects('populator.storage.k8s.io')),
        ...(await programObjects(part, plan, [])),
      ];
    case 'snapshot-metadata':
      // The service itself runs beside each driver.
      return definitionObjects('cbt.storage.k8s.io');
  }
}

async function definitionObjects(...groups: string[]): Promise<Manifest[]> {
  const { parse } = await import('yaml');
  const files = (await readdir(definitions)).filter((name) => groups.includes(name.split('_')[0] ?? ''));
  const texts = await Promise.all(
    files.toSorted().map((file) => readFile(new URL(file, definitions), 'utf8')),
  );
  return texts.map((text) => parse(text) as Manifest);
}

async function programObjects(
  command: 'snapshot-controller' | 'data-source-validator',
  plan: OncePlan,
  flags: readonly string[],
): Promise<Manifest[]> {
  const { namespace, replicas } = plan;
  const name = COMPONENT_ACCOUNTS[command];
  const labels = { 'app.kubernetes.io/name': name };
  const container = berthContainer(plan, {
    name,
    command,
    arguments: [
      plan.isSharded && command === 'snapshot-controller' ? '--sharding' : '--leader-election',
      ...flags,
      ...plan.arguments,
    ],
    port: PORT,
    healthPath: '/healthz/leader-election',
  });
  const metadata = { name, namespace, labels };
  const template = {
    metadata: { labels },
    spec: {
      serviceAccountName: name,
      priorityClassName: 'system-cluster-critical',
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      containers: [container],
    },
  };
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: { replicas, selector: { matchLabels: labels }, template },
  };
  const access = await publishedRbac({ components: [command], namespace, secrets: 'none' });
  return [
    // Its pods need no rights on the node.
    ...(plan.makesNamespace ? [namespaceObject(namespace, 'restricted')] : []),
    ...access,
    ...disruptionBudgets({ metadata, replicas }),
    ...(plan.hasNetworkPolicy ? networkPolicies(metadata, template) : []),
    deployment,
  ];
}
