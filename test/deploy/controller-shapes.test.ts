// The controller in a pod of its own, on a whole Kubernetes, from printed manifests: each kind of workload that can run it, in namespaces
// with the Pod Security levels that are printed. The driver keeps its state on the host, in a directory that both pods mount.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { programPath } from '../capabilities.ts';
import { temporaryDirectory } from '../e2e/up-process.ts';
import { KUBE_PROGRAMS, type KubeCluster, startKubeCluster } from '../real/kube-cluster.ts';
import { missingForContainers, writeImages } from '../real/real-up.ts';
import { buildImage, driverFlags, liveInCluster } from './cluster-life.ts';
import { printedText } from './print-manifests.ts';

/** A busy machine may take long to start containers. */
const STEP = { timeout: 280_000 };
const skip =
  missingForContainers(...KUBE_PROGRAMS) ||
  (programPath('apt-get') === undefined && 'this machine has no apt-get');

const CONTROL = 'control';
const inControl = ['-n', CONTROL];
const MACHINES = 'machines';

interface Shape {
  name: string;
  flags: readonly string[];
  kind: 'deployment' | 'statefulset';
  /** The leader is deleted while a volume is in use. */
  losesLeader?: boolean;
}

const SHAPES: readonly Shape[] = [
  { name: 'a Deployment with one replica', flags: [], kind: 'deployment' },
  {
    name: 'a Deployment with two replicas, whose leader is deleted',
    flags: ['--replicas=2'],
    kind: 'deployment',
    losesLeader: true,
  },
  { name: 'a StatefulSet', flags: ['--controller=statefulset'], kind: 'statefulset' },
];

test('[REAL-3] [DEP-1] the controller runs in Kubernetes as a Deployment, with a standby, and as a StatefulSet', {
  skip,
  timeout: 600_000,
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const image = await buildImage(directory);
  const images = [...writeImages(directory), image.archive];
  const cluster = await startKubeCluster(t, directory, { images });
  await cluster.apply(await printedText(['--part=snapshot-controller', `--berth-image=${image.name}`]));
  const state = join(directory, 'state');
  const path = join(directory, 'manifests.yaml');
  for (const { name, flags, kind, losesLeader } of SHAPES) {
    await t.test(name, STEP, async () => {
      const controller = [
        ...flags,
        ...[`--namespace=${CONTROL}`, `--node-namespace=${MACHINES}`, '--create-namespace'],
        ...[`--controller-host-path=${state}`, '--arg=controller-driver=--services=controller'],
        ...[`--controller-node-selector=kubernetes.io/hostname=${cluster.nodes[0]}`],
        '--arg=node-driver=--services=node',
      ];
      await writeFile(
        path,
        await printedText(driverFlags(image.name, { kubeletDir: cluster.rootDir, state, controller })),
      );
      await cluster.kubectl('apply', '-f', path);
      let standby: string | undefined;
      await liveInCluster(cluster, state, {
        workloads: [
          [MACHINES, 'daemonset/local-csi-test-node'],
          [CONTROL, `${kind}/local-csi-test-controller`],
        ],
        async whileInUse() {
          if (losesLeader) standby = await deleteLeader(cluster);
        },
      });
      // Not the new pod: the standby waited already.
      if (standby !== undefined) assert.equal(await leaderOf(cluster), standby);
      // The namespaces are among what is deleted, and end after their pods.
      await cluster.kubectl('delete', '-f', path, '--timeout=120s');
    });
  }
});

/** The name of the pod that leads. The sidecars' identities are that name, `_` and a UUID. */
async function leaderOf({ kubectl }: KubeCluster): Promise<string> {
  const lease = 'lease/external-sidecars-leader-local-csi-test';
  const holder = await kubectl('get', lease, ...inControl, '-o', 'jsonpath={.spec.holderIdentity}');
  return holder.replace(/_.*/, '');
}

/** Deletes one of two; returns the name of the other. */
async function deleteLeader(cluster: KubeCluster): Promise<string> {
  const { kubectl } = cluster;
  const pods = await kubectl('get', 'pods', ...inControl, '-o', 'jsonpath={.items[*].metadata.name}');
  const leader = await leaderOf(cluster);
  const [standby = '', ...others] = pods.split(' ').filter((name) => name !== leader);
  assert.equal(others.length, 0, `${leader} leads, of ${pods}`);
  await kubectl('delete', `pod/${leader}`, ...inControl, '--timeout=60s');
  return standby;
}
