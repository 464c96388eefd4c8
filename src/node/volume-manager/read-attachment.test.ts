import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  nodes,
  type PersistentVolume,
  persistentVolumes,
  type VolumeAttachment,
  volumeAttachments,
} from '../../api/kinds.ts';
import { attachmentName, seedAttachmentName, uniqueVolumeName } from '../../api/volumes.ts';
import { nodeUser } from '../../apiserver/auth/users.ts';
import { testServer } from '../../apiserver/testing/test-server.ts';
import { fromPersistentVolume } from '../../csi-plugin/mount/mountable-volume.ts';
import { readAttachment } from './read-attachment.ts';

async function start(t: TestContext) {
  const server = await testServer(t);
  const admin = server.client(server.adminUser);
  const kube = server.client(nodeUser('n'));
  await admin.create(nodes, { metadata: { name: 'n' } });
  const spec: PersistentVolume['spec'] = {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    csi: { driver: DRIVER, volumeHandle: 'h' },
  };
  const volume = fromPersistentVolume(
    await admin.create(persistentVolumes, { metadata: { name: 'v' }, spec }),
  );
  return {
    read: (nodeName = 'n') => readAttachment({ kube, nodeName }, volume, new AbortController().signal),
    async attach(name: string, change: Partial<VolumeAttachment['spec']> = {}, status: object = ATTACHED) {
      const made = await admin.create(volumeAttachments, {
        metadata: { name },
        spec: { attacher: DRIVER, nodeName: 'n', source: { persistentVolumeName: 'v' }, ...change },
      });
      await admin.update(volumeAttachments, { ...made, status: { attached: false, ...status } }, STATUS);
    },
    list: (...volumesAttached: object[]) =>
      admin.patch(nodes, { name: 'n' }, { status: { volumesAttached } }, { type: 'merge', ...STATUS }),
  };
}

const DRIVER = 'driver.example';
const STATUS = { subresource: 'status' } as const;
const ATTACHED = { attached: true, attachmentMetadata: { device: 'sdb' } };
const TODAY = attachmentName({ driver: DRIVER, volumeHandle: 'h', nodeName: 'n' });
const LISTED = { name: uniqueVolumeName(DRIVER, 'h'), devicePath: '' };

test('a volume counts as attached only while the Node lists it, so that none is staged while it is being detached', async (t) => {
  const { read, attach, list } = await start(t);
  assert.equal((await read()).kind, 'not-attached');
  await attach(TODAY);
  const waits = await read();
  assert(waits.kind === 'not-attached' && /about to be detached/.test(waits.why));
  await list(LISTED);
  assert.deepEqual(await read(), { kind: 'attached', publishContext: { device: 'sdb' } });
  await list();
  assert.equal((await read()).kind, 'not-attached');
});

test('an error of the attacher is reported as such, with its message', async (t) => {
  const { read, attach } = await start(t);
  await attach(TODAY, {}, { attachError: { message: 'no such disk' } });
  const answer = await read();
  assert(answer.kind === 'attach-failed' && /no such disk/.test(answer.why));
});

for (const [name, change, then] of [
  ["under the seeds' name", {}, 'attached'],
  ["under the seeds' name, but of another volume", { source: { persistentVolumeName: 'w' } }, 'not-attached'],
  ["under the seeds' name, but of another driver", { attacher: 'other.example' }, 'not-attached'],
] as const) {
  test(`[ATT-1] an attachment ${name}: ${then}`, async (t) => {
    const { read, attach, list } = await start(t);
    await attach(seedAttachmentName('v', 'n'), change);
    await list(LISTED);
    assert.equal((await read()).kind, then);
  });
}

test('[ATT-1] an attachment of the same handle that was made for another PersistentVolume is used, as by a kubelet', async (t) => {
  const { read, attach, list } = await start(t);
  await attach(TODAY, { source: { persistentVolumeName: 'twin' } });
  await list(LISTED);
  assert.equal((await read()).kind, 'attached');
});
