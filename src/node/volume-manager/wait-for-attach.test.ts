import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodes, type PersistentVolume, persistentVolumes, volumeAttachments } from '../../api/kinds.ts';
import { attachmentName, uniqueVolumeName } from '../../api/volumes.ts';
import { nodeUser } from '../../apiserver/auth/users.ts';
import { testServer } from '../../apiserver/testing/test-server.ts';
import { fromPersistentVolume } from '../../csi-plugin/mount/mountable-volume.ts';
import { NotAttachedError, waitForAttach } from './wait-for-attach.ts';

test('a volume counts as attached only while the Node lists it: one that is about to be detached is not begun with', async (t) => {
  const server = await testServer(t);
  const admin = server.client(server.adminUser);
  const kube = server.client(nodeUser('n'));
  await admin.create(nodes, { metadata: { name: 'n' } });
  const spec: PersistentVolume['spec'] = {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    csi: { driver: 'driver.example', volumeHandle: 'h' },
  };
  const volume = fromPersistentVolume(
    await admin.create(persistentVolumes, { metadata: { name: 'v' }, spec }),
  );
  const name = attachmentName('v', 'n');
  const made = await admin.create(volumeAttachments, {
    metadata: { name },
    spec: { attacher: 'driver.example', nodeName: 'n', source: { persistentVolumeName: 'v' } },
  });
  const status = { attached: true, attachmentMetadata: { device: 'sdb' } };
  await admin.update(volumeAttachments, { ...made, status }, { subresource: 'status' });
  const wait = () => waitForAttach({ kube, nodeName: 'n' }, volume, new AbortController().signal);
  const list = (...volumesAttached: object[]) =>
    admin.patch(
      nodes,
      { name: 'n' },
      { status: { volumesAttached } },
      { type: 'merge', subresource: 'status' },
    );

  const isWaiting = (error: unknown) => error instanceof NotAttachedError && !error.failed;
  await assert.rejects(wait(), isWaiting);
  await list({ name: uniqueVolumeName('driver.example', 'h'), devicePath: name });
  assert.deepEqual(await wait(), { device: 'sdb' });
  await list();
  await assert.rejects(wait(), isWaiting);
});
