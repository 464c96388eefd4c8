// Features behind gates, switched on for a whole cluster.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { lacking } from '../capabilities.ts';
import { claimAndPod, claimOf, podOf, startUp, temporaryDirectory } from './up-process.ts';

const skip = lacking('root', 'kubectl');

test('[POP-2] with their gates, berth up clones across namespaces, and claims say whether they are used', {
  skip,
  timeout: 180_000,
}, async (t) => {
  const up = await startUp(t, join(await temporaryDirectory(t), 'd'), [
    '--feature-gates=PersistentVolumeClaimUnusedSinceTime=true',
    '--provisioner-feature-gates=CrossNamespaceVolumeDataSource=true',
  ]);
  await up.apply(claimAndPod('source'));
  const { data = '' } = await up.published('source');
  await writeFile(join(data, 'word'), 'from another namespace');
  const unused = (status: string) =>
    up.kubectl('wait', 'pvc/source', `--for=condition=Unused=${status}`, '--timeout=45s');
  await unused('False');

  await up.kubectl('create', 'namespace', 'team');
  const dataSourceRef = { kind: 'PersistentVolumeClaim', name: 'source', namespace: 'default' };
  const clone = claimOf('clone') as { metadata: object; spec: object };
  const inTeam = (object: object) => {
    const { metadata, ...rest } = object as { metadata: object };
    return { ...rest, metadata: { ...metadata, namespace: 'team' } };
  };
  const items = [
    inTeam({ ...clone, spec: { ...clone.spec, dataSourceRef } }),
    inTeam(podOf('user', { claim: 'clone' })),
  ];
  await up.apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  const told = async () =>
    (await up.get('events', '--namespace=team')).items.filter(({ message = '' }: { message?: string }) =>
      message.includes("isn't allowed"),
    );
  while ((await told()).length === 0);
  await up.apply(
    JSON.stringify({
      apiVersion: 'gateway.networking.k8s.io/v1beta1',
      kind: 'ReferenceGrant',
      metadata: { name: 'for-team', namespace: 'default' },
      spec: {
        from: [{ group: '', kind: 'PersistentVolumeClaim', namespace: 'team' }],
        to: [{ group: '', kind: 'PersistentVolumeClaim', name: 'source' }],
      },
    }),
  );
  await up.kubectl('wait', 'pod/user', '--namespace=team', '--for=condition=Ready', '--timeout=45s');
  const { metadata } = await up.get('pod', 'user', '--namespace=team');
  const paths = JSON.parse(metadata.annotations['csi.berth/published-volumes']);
  assert.equal(await readFile(join(paths.data, 'word'), 'utf8'), 'from another namespace');

  await up.kubectl('delete', 'pod', 'source', '--timeout=45s');
  await unused('True');
});
