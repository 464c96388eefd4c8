// The decisions as a table: what is known, and what follows from it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolume, VolumeAttachment } from '../../api/kinds.ts';
import { parseDriverName, parseNodeId } from '../../csi/names/driver-name.ts';
import { ANN_NODE_ID, ANN_VOLUME } from './attachment-record.ts';
import { type AttachmentDecision, type AttachmentSnapshot, decideAttachment } from './decide-attachment.ts';

const DRIVER = parseDriverName('d.csi.test');
const FINALIZER = 'external-attacher/d-csi-test';
const stored = { uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };

function va(given: {
  source?: object;
  attacher?: string;
  attached?: boolean;
  deleted?: boolean;
  finalizer?: boolean;
  annotations?: Record<string, string>;
}): VolumeAttachment {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: {
      name: 'va',
      ...stored,
      ...(given.deleted && { deletionTimestamp: '2026-01-02T00:00:00Z' }),
      ...(given.finalizer && { finalizers: [FINALIZER] }),
      ...(given.annotations && { annotations: given.annotations }),
    },
    spec: {
      attacher: given.attacher ?? DRIVER,
      nodeName: 'n',
      source: given.source ?? { persistentVolumeName: 'pv' },
    },
    ...(given.attached === undefined ? {} : { status: { attached: given.attached } }),
  };
}

function pv(
  given: { csi?: object | null; deleted?: boolean; phase?: string; reclaim?: 'Delete' | 'Retain' } = {},
): PersistentVolume {
  const csi = { driver: DRIVER, volumeHandle: 'h', ...given.csi };
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'pv', ...stored, ...(given.deleted && { deletionTimestamp: '2026-01-02T00:00:00Z' }) },
    spec: {
      accessModes: ['ReadWriteOnce'],
      ...(given.csi === null ? {} : { csi }),
      ...(given.reclaim && { persistentVolumeReclaimPolicy: given.reclaim }),
    },
    ...(given.phase && { status: { phase: given.phase } }),
  };
}

interface Case {
  name: string;
  given: Partial<AttachmentSnapshot> & { attachment: VolumeAttachment };
  then: AttachmentDecision['do'] | { do: AttachmentDecision['do']; [key: string]: unknown } | RegExp;
}

const secret = { name: 's', namespace: 'ns' };
const recorded = { [ANN_NODE_ID]: 'old-id', [ANN_VOLUME]: JSON.stringify({ handle: 'h', secret }) };

const cases: Case[] = [
  { name: 'another attacher’s', given: { attachment: va({ attacher: 'x' }) }, then: 'nothing' },
  {
    name: 'another attacher’s, deleted',
    given: { attachment: va({ attacher: 'x', deleted: true, finalizer: true }) },
    then: 'nothing',
  },
  {
    name: 'new',
    given: { attachment: va({}) },
    then: { do: 'publish', nodeId: 'id', earlierNodeId: undefined },
  },
  { name: 'attached', given: { attachment: va({ attached: true }) }, then: 'nothing' },
  {
    name: 'attached, but the driver denies it',
    given: { attachment: va({ attached: true }), drifted: true },
    then: 'publish',
  },
  {
    name: 'tried before, same node ID',
    given: { attachment: va({ finalizer: true, annotations: { [ANN_NODE_ID]: 'id' } }) },
    then: { do: 'publish', earlierNodeId: undefined },
  },
  {
    name: 'tried before, another node ID',
    given: { attachment: va({ finalizer: true, annotations: recorded }) },
    then: { do: 'publish', nodeId: 'id', earlierNodeId: 'old-id' },
  },
  {
    name: 'another node ID without our finalizer: nothing was tried',
    given: { attachment: va({ annotations: recorded }) },
    then: { do: 'publish', earlierNodeId: undefined },
  },
  {
    name: 'node ID unknown',
    given: { attachment: va({}), nodeId: undefined },
    then: /does not say its node ID/,
  },
  {
    name: 'volume missing',
    given: { attachment: va({}), persistentVolume: undefined },
    then: /"pv" does not exist/,
  },
  {
    name: 'volume being deleted',
    given: { attachment: va({}), persistentVolume: pv({ deleted: true }) },
    then: /being deleted/,
  },
  {
    name: 'volume released, and deleted then',
    given: { attachment: va({}), persistentVolume: pv({ phase: 'Released', reclaim: 'Delete' }) },
    then: /about to be deleted/,
  },
  {
    name: 'volume released, and kept',
    given: { attachment: va({}), persistentVolume: pv({ phase: 'Released', reclaim: 'Retain' }) },
    then: 'publish',
  },
  {
    name: 'volume not CSI',
    given: { attachment: va({}), persistentVolume: pv({ csi: null }) },
    then: /no CSI volume source/,
  },
  {
    name: 'volume of another driver',
    given: { attachment: va({}), persistentVolume: pv({ csi: { driver: 'x' } }) },
    then: /of driver "x"/,
  },
  {
    name: 'volume without handle',
    given: { attachment: va({}), persistentVolume: pv({ csi: { volumeHandle: '' } }) },
    then: /empty volumeHandle/,
  },
  { name: 'no source', given: { attachment: va({ source: {} }) }, then: /exactly one/ },
  {
    name: 'two sources',
    given: { attachment: va({ source: { persistentVolumeName: 'pv', inlineVolumeSpec: { csi: {} } } }) },
    then: /exactly one/,
  },
  {
    name: 'inline without CSI',
    given: { attachment: va({ source: { inlineVolumeSpec: { nfs: {} } } }) },
    then: /only CSI/,
  },
  {
    name: 'does not publish',
    given: { attachment: va({}), publishes: false, persistentVolume: undefined },
    then: 'mark-attached',
  },
  {
    name: 'does not publish, attached',
    given: { attachment: va({ attached: true }), publishes: false },
    then: 'nothing',
  },
  {
    name: 'does not publish, deleted',
    given: { attachment: va({ deleted: true }), publishes: false },
    then: 'nothing',
  },
  {
    name: 'no longer publishes, deleted',
    given: { attachment: va({ deleted: true, finalizer: true }), publishes: false },
    then: 'release',
  },
  { name: 'deleted before the first call', given: { attachment: va({ deleted: true }) }, then: 'nothing' },
  {
    name: 'deleted, attached',
    given: {
      attachment: va({
        deleted: true,
        finalizer: true,
        attached: true,
        annotations: { [ANN_NODE_ID]: 'id' },
      }),
    },
    then: { do: 'unpublish', nodeId: 'id', volume: { handle: 'h', secret: undefined } },
  },
  {
    name: 'deleted, uncertain',
    given: { attachment: va({ deleted: true, finalizer: true, attached: false }) },
    then: { do: 'unpublish', nodeId: 'id' },
  },
  {
    name: 'deleted, the node has another ID now',
    given: { attachment: va({ deleted: true, finalizer: true, annotations: recorded }) },
    then: { do: 'unpublish', nodeId: 'old-id' },
  },
  {
    name: 'deleted, volume gone',
    given: {
      attachment: va({ deleted: true, finalizer: true, annotations: recorded }),
      persistentVolume: undefined,
      nodeId: undefined,
    },
    then: { do: 'unpublish', nodeId: 'old-id', volume: { handle: 'h', secret } },
  },
  {
    name: 'deleted, another volume has the name',
    given: {
      attachment: va({ deleted: true, finalizer: true, annotations: recorded }),
      persistentVolume: pv({ csi: { volumeHandle: 'other' } }),
    },
    then: { do: 'unpublish', volume: { handle: 'h', secret } },
  },
  {
    name: 'deleted, the secret reference of the volume is newer',
    given: {
      attachment: va({ deleted: true, finalizer: true, annotations: recorded }),
      persistentVolume: pv({ csi: { controllerPublishSecretRef: { name: 't', namespace: 'ns' } } }),
    },
    then: { do: 'unpublish', volume: { handle: 'h', secret: { name: 't', namespace: 'ns' } } },
  },
  {
    name: 'deleted and released, the status does not say so yet',
    given: { attachment: va({ deleted: true, attached: true }) },
    then: 'mark-detached',
  },
  { name: 'deleted and released', given: { attachment: va({ deleted: true }) }, then: 'nothing' },
  {
    name: 'deleted, nothing recorded, volume gone',
    given: { attachment: va({ deleted: true, finalizer: true }), persistentVolume: undefined },
    then: /remove the finalizer external-attacher\/d-csi-test/,
  },
  {
    name: 'deleted, a record that is not readable',
    given: {
      attachment: va({ deleted: true, finalizer: true, annotations: { [ANN_VOLUME]: '{' } }),
      persistentVolume: undefined,
    },
    then: /does not exist/,
  },
  {
    name: 'deleted, node ID nowhere',
    given: { attachment: va({ deleted: true, finalizer: true }), nodeId: undefined },
    then: /detached from every node/,
  },
];

for (const { name, given, then } of cases) {
  test(`${name} → ${then instanceof RegExp ? 'refuse' : typeof then === 'string' ? then : then.do}`, () => {
    const decision = decideAttachment({
      driver: DRIVER,
      persistentVolume: pv(),
      nodeId: parseNodeId('id'),
      publishes: true,
      drifted: false,
      ...given,
    });
    if (then instanceof RegExp) {
      assert.equal(decision.do, 'refuse');
      assert.match((decision as { problem: string }).problem, then);
    } else if (typeof then === 'string') assert.equal(decision.do, then);
    else {
      for (const [key, value] of Object.entries(then)) {
        assert.deepEqual((decision as Record<string, unknown>)[key], value, key);
      }
    }
  });
}
