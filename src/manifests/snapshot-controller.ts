// The manifests that a cluster needs once for snapshots: the CRDs, and the snapshot controller with its account and
// role. It uses the official names, since only one of the two may run.

import { readdir, readFile } from 'node:fs/promises';
import { berthContainer } from './containers.ts';
import type { Manifest } from './plan.ts';
import { publishedRbac } from './published-rbac.ts';

const definitions = new URL('../../deploy/crds/', import.meta.url);
const NAME = 'snapshot-controller';
const PORT = 8080;

export interface SnapshotControllerPlan {
  berthImage: string;
  namespace: string;
  replicas: number;
  arguments: readonly string[];
}

export async function snapshotControllerObjects(plan: SnapshotControllerPlan): Promise<Manifest[]> {
  const { namespace } = plan;
  const access = await publishedRbac({ components: [NAME], namespace, secrets: 'none' });
  return [...(await definitionObjects()), ...access, deployment(plan)];
}

async function definitionObjects(): Promise<Manifest[]> {
  const { parse } = await import('yaml');
  const files = (await readdir(definitions)).filter((name) => name.startsWith('snapshot.storage.k8s.io_'));
  const texts = await Promise.all(
    files.toSorted().map((file) => readFile(new URL(file, definitions), 'utf8')),
  );
  return texts.map((text) => parse(text) as Manifest);
}

function deployment(plan: SnapshotControllerPlan): Manifest {
  const { namespace, replicas } = plan;
  const labels = { 'app.kubernetes.io/name': NAME };
  const {
    args = [],
    volumeMounts: _socket,
    ...container
  } = berthContainer(plan, {
    name: NAME,
    command: NAME,
    arguments: ['--leader-election', ...plan.arguments],
    port: PORT,
    healthPath: '/healthz/leader-election',
    memory: '96Mi',
  });
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: NAME, namespace, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: NAME,
          priorityClassName: 'system-cluster-critical',
          nodeSelector: { 'kubernetes.io/os': 'linux' },
          // It does not connect to a driver.
          containers: [{ ...container, args: args.filter((arg) => !arg.startsWith('--csi-address=')) }],
        },
      },
    },
  };
}
