// `berth up` with flags of its sidecars, and with a driver that asks for published capacity.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { lacking } from '../capabilities.ts';
import { berth, claimAndPod, claimOf, startUp, temporaryDirectory } from './up-process.ts';

const skip = lacking('root', 'kubectl');

test('[SIDE-2] the sidecars of berth up take the flags of berth sidecars: names, spreading, gates', {
  skip,
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const up = await startUp(t, join(directory, 'd'), [
    '--nodes=4',
    '--provisioner-volume-name-prefix=disk',
    '--provisioner-immediate-preference=statefulset',
    '--provisioner-feature-gates=VolumeAttributesClass=false',
    '--attacher-worker-threads=2',
  ]);
  // The names are as a StatefulSet gives them; two nodes share a zone.
  const claims = [0, 1].map((ordinal) => claimOf(`data-web-${ordinal}`));
  await up.apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: claims }));
  const bound = '--for=jsonpath={.status.phase}=Bound';
  await up.kubectl('wait', 'pvc', '--all', bound, '--timeout=45s');
  const { items } = await up.get('pv');
  const terms = items.map((volume: { metadata: { name: string }; spec: { nodeAffinity: object } }) => {
    assert.match(volume.metadata.name, /^disk-/);
    return JSON.stringify(volume.spec.nodeAffinity);
  });
  assert.notEqual(terms[0], terms[1], 'spread over the zones');
  assert.equal(await up.stop(), 0);
  const refused = await berth(['up', '--provisioner-node-deployment']);
  assert.equal(refused.code, 2, 'there is one process for all nodes');
});

test('[TOP-8] where CSIDriver has storageCapacity, berth up publishes capacity and pods are placed by it', {
  skip,
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const up = await startUp(t, join(directory, 'd'));
  const capacities = async () => (await up.get('csistoragecapacities', '--all-namespaces')).items;
  assert.deepEqual(await capacities(), []);
  const asks = (storageCapacity: boolean) =>
    up.kubectl(
      'patch',
      'csidriver',
      'hostpath.csi.berth',
      '--type=merge',
      '-p',
      JSON.stringify({ spec: { storageCapacity } }),
    );
  await asks(true);
  await up.apply(claimAndPod('placed', { class: 'hostpath-delayed' }));
  await up.published('placed');
  assert.ok(
    (await capacities()).some(
      (each: { storageClassName: string }) => each.storageClassName === 'hostpath-delayed',
    ),
  );
  assert.equal(await up.stop(), 0);
});
