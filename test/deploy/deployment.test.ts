// Printed manifests, played: a driver is deployed, serves volumes, is upgraded and goes.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  csiNodes,
  leases,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  storageClasses,
  volumeAttachments,
} from '../../src/api/kinds.ts';
import type { Resource } from '../../src/api/object.ts';
import { ANN_PUBLISHED_VOLUMES } from '../../src/api/well-known.ts';
import { lacking } from '../capabilities.ts';
import { DeploymentWorld, NODES } from './deployment-world.ts';
import { type Printed, printManifests } from './print-manifests.ts';

const DRIVER = 'hostpath.deploy.test';

/** Our hostpath driver in an image whose entry point is `berth`. */
function manifestsOf(
  world: DeploymentWorld,
  topology: string,
  more: readonly string[] = [],
): Promise<Printed[]> {
  const driver = [
    'driver',
    'hostpath',
    '--endpoint=$(CSI_ENDPOINT)',
    '--node-id=$(NODE_ID)',
    `--driver-name=${DRIVER}`,
    `--state-dir=${world.stateDir}`,
    `--topology=${topology}`,
  ];
  return printManifests([
    `--driver-name=${DRIVER}`,
    '--image=hostpath:1',
    '--namespace=storage',
    '--create-namespace',
    '--kubelet-dir=/kubelet',
    ...driver.map((argument) => `--arg=driver=${argument}`),
    ...more,
  ]);
}

async function makeClasses(world: DeploymentWorld): Promise<void> {
  for (const volumeBindingMode of ['Immediate', 'WaitForFirstConsumer']) {
    const name = volumeBindingMode === 'Immediate' ? 'now' : 'late';
    await world.create(storageClasses, { metadata: { name }, provisioner: DRIVER, volumeBindingMode });
  }
}

const inDefault = (name: string) => ({ name, namespace: 'default' });

async function makeClaim(world: DeploymentWorld, name: string, storageClassName: string): Promise<void> {
  const resources = { requests: { storage: '1Mi' } };
  const spec = { accessModes: ['ReadWriteOnce'], storageClassName, resources };
  await world.create(persistentVolumeClaims, { metadata: inDefault(name), spec });
}

async function makePod(world: DeploymentWorld, name: string): Promise<void> {
  const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: name } }];
  await world.create(pods, {
    metadata: inDefault(name),
    spec: { containers: [{ name: 'c', image: 'i' }], volumes },
  });
}

const untilBound = (world: DeploymentWorld, name: string) =>
  world.until(persistentVolumeClaims, `default/${name}`, (claim) => claim?.status?.phase === 'Bound');

async function untilPublished(world: DeploymentWorld, name: string): Promise<string> {
  const pod = await world.until(pods, `default/${name}`, (found) => found?.status?.phase === 'Running');
  return JSON.parse(pod?.metadata.annotations?.[ANN_PUBLISHED_VOLUMES] ?? '{}').v;
}

async function removeAll(world: DeploymentWorld, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await world.kube.delete(pods, inDefault(name), { gracePeriodSeconds: 0 }).catch(() => {});
    await world.kube.delete(persistentVolumeClaims, inDefault(name));
  }
  for (const name of names) {
    await world.until(persistentVolumeClaims, `default/${name}`, (claim) => claim === undefined);
  }
  for (const kind of [persistentVolumes, volumeAttachments] as Resource[]) {
    for (const { metadata } of (await world.kube.list(kind)).items) {
      await world.until(kind, metadata.name ?? '', (object) => object === undefined);
    }
  }
}

async function deployed(t: TestContext, more: readonly string[]) {
  const world = await DeploymentWorld.start(t);
  const manifests = await manifestsOf(world, 'deploy.test/node=$(NODE_ID)', more);
  await world.apply(manifests);
  await makeClasses(world);
  return { world, manifests };
}

const shapes: [string, string[]][] = [
  ['a Deployment of two with all sidecars in one container', ['--replicas=2']],
  ['a StatefulSet with a container for each sidecar', ['--controller=statefulset', '--separate']],
];
for (const [shape, flags] of shapes) {
  test(`[DEP-1] what is printed for ${shape} runs as it is, with its own accounts and roles alone`, {
    skip: lacking('root'),
  }, async (t) => {
    const { world, manifests } = await deployed(t, flags);
    const onNodes = await world.startPods(manifests, 'node');
    const controllers = await world.startPods(manifests, 'controller');
    for (const pod of [...onNodes, ...controllers]) await pod.untilHealthy();

    await makeClaim(world, 'data', 'late');
    await makePod(world, 'data');
    const path = await untilPublished(world, 'data');
    await writeFile(join(path, 'file'), 'kept');
    assert.equal(await readFile(join(path, 'file'), 'utf8'), 'kept');
    const held = (await world.kube.list(leases, { namespace: 'storage' })).items
      .filter(({ metadata }) => metadata.name?.includes('-leader-'))
      .map(({ metadata }) => metadata.name);
    assert.deepEqual(
      held,
      shape.startsWith('a Deployment') ? [`external-sidecars-leader-${DRIVER.replaceAll('.', '-')}`] : [],
    );
    await removeAll(world, ['data']);
    const output = world.output();
    assert(!/forbidden/i.test(output), output);
  });
}

test('[DEP-3] controller down, nodes, controller up: topology values and keys may change', {
  skip: lacking('root'),
}, async (t) => {
  const { world, manifests } = await deployed(t, []);
  let onNodes = await world.startPods(manifests, 'node');
  let controllers = await world.startPods(manifests, 'controller');
  const made: string[] = [];
  const provision = async (version: string): Promise<void> => {
    for (const className of ['now', 'late']) {
      const name = `${version}-${className}`;
      await makeClaim(world, name, className);
      if (className === 'late') await makePod(world, name);
      await untilBound(world, name);
      made.push(name);
    }
    await untilPublished(world, `${version}-late`);
  };
  await provision('first');

  const versions: [string, string, string][] = [
    ['values', 'deploy.test/node', 'deploy.test/node=moved-$(NODE_ID)'],
    ['keys', 'deploy.test/rack', 'deploy.test/rack=$(NODE_ID)'],
  ];
  for (const [version, key, topology] of versions) {
    const next = await manifestsOf(world, topology);
    await world.stopPods(controllers);
    await world.stopPods(onNodes);
    // A value that is already on the Node is never changed by the kubelet: whoever upgrades takes the old one away.
    for (const name of NODES) {
      await world.kube.patch(nodes, { name }, { metadata: { labels: { [key]: null } } }, { type: 'merge' });
    }
    await world.apply(next);
    onNodes = await world.startPods(next, 'node');
    for (const node of NODES) {
      await world.until(csiNodes, node, (found) =>
        Boolean(
          found?.spec.drivers?.some(({ name, topologyKeys }) => name === DRIVER && topologyKeys?.[0] === key),
        ),
      );
      const value = topology.split('=')[1]?.replace('$(NODE_ID)', node);
      await world.until(nodes, node, (found) => found?.metadata.labels?.[key] === value);
    }
    controllers = await world.startPods(next, 'controller');
    await provision(version);
  }
  await removeAll(world, made);
});
