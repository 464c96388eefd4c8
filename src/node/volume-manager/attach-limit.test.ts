import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csiNodes, nodes, pods, volumeAttachments } from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { attachmentName } from '../../api/volumes.ts';
import { inWorld } from '../testing/node-world.ts';
import { entry, fastClock, registrationStatus } from '../testing/registration-facts.ts';

const DRIVER = 'd.test';
const RESOURCE_EXHAUSTED = 8;
const claim = (name: string) => [{ name, persistentVolumeClaim: { claimName: name } }];

test('[NOD-4] a volume beyond the node’s attach limit fails its pod, and the allocatable count is read again', (t) =>
  inWorld(t, { clock: fastClock }, async (world) => {
    await world.startNode();
    const driver = world.scripted({ name: DRIVER, maxVolumesPerNode: 3 });
    await registrationStatus(await world.register('n1', driver));
    await world.volume({ name: 'data', driver: DRIVER });
    driver.always('NodeGetInfo', { answer: { maxVolumesPerNode: 2n } });
    const handle = 'handle-data';
    const pod = await world.pod('p', claim('data'));
    await world.failAttach('pv-data', { driver: DRIVER, handle, errorCode: RESOURCE_EXHAUSTED });
    await world.untilEvent('FailedAttachVolume', /too many disks/);
    const failed = await world.until(pods, keyOf(pod), (now) => now?.status?.phase === 'Failed');
    assert.equal(failed?.status?.reason, 'VolumeAttachmentLimitExceeded');
    assert.match(
      failed?.status?.message ?? '',
      /^Pod was rejected: Node has reached its volume attachment limit, rejecting pod\. unmounted volumes=\[data\].*too many disks$/,
    );
    assert.equal(failed?.status?.containerStatuses, undefined);
    await world.untilEvent('VolumeAttachmentLimitExceeded', /^Node has reached its volume attachment limit/);
    assert.equal(entry(await world.admin.get(csiNodes, { name: 'n1' }), DRIVER)?.allocatable?.count, 2);
    await world.until(nodes, 'n1', (now) => (now?.status?.volumesInUse ?? []).length === 0);
  }));

test('[NOD-4] a node below its limit again by then, and other errors, fail no pod', (t) =>
  inWorld(t, { clock: fastClock }, async (world) => {
    await world.startNode();
    const driver = world.scripted({ name: DRIVER });
    await registrationStatus(await world.register('n1', driver));
    for (const name of ['busy', 'broken', 'full']) await world.volume({ name, driver: DRIVER });
    const handle = (name: string) => ({ driver: DRIVER, handle: `handle-${name}` });
    const busy = await world.pod('busy', claim('busy'));
    await world.pod('broken', claim('broken'));
    await world.failAttach('pv-broken', { ...handle('broken'), errorCode: 13 });
    await world.failAttach('pv-busy', { ...handle('busy'), errorCode: RESOURCE_EXHAUSTED });
    await world.untilEvent('FailedAttachVolume', /pv-busy.*too many disks/);
    const full = await world.pod('full', claim('full'));
    await world.failAttach('pv-full', { ...handle('full'), errorCode: RESOURCE_EXHAUSTED });
    const name = attachmentName({ driver: DRIVER, volumeHandle: 'handle-busy', nodeName: 'n1' });
    const status = { attached: true, attachError: null };
    await world.admin.patch(
      volumeAttachments,
      { name },
      { status },
      { subresource: 'status', type: 'merge' },
    );
    await world.reportAttached(DRIVER, 'handle-busy');
    await world.untilRunning(busy);
    // This one started to wait after the others, so they have waited at least as long.
    await world.until(pods, keyOf(full), (now) => now?.status?.phase === 'Failed');
    const { status: now } = await world.admin.get(pods, { name: 'broken', namespace: 'default' });
    assert.equal(now?.phase, 'Pending');
    assert.equal(
      (await world.admin.get(pods, { name: 'busy', namespace: 'default' })).status?.phase,
      'Running',
    );
  }));
