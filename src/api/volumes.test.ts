import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CSINode, CSINodeInfo, Node, PersistentVolumeClaim } from './kinds.ts';
import {
  attachmentName,
  driverOnNode,
  ephemeralVolumeHandle,
  nodeIdsOf,
  oldInlineAttachmentName,
  provisionerOf,
  refersToClaim,
  seedAttachmentName,
  selectedNodeOf,
} from './volumes.ts';
import { attacherFinalizer } from './well-known.ts';

const meta = { name: 'x', uid: 'u1', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };

function claim(annotations: Record<string, string> = {}): PersistentVolumeClaim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { ...meta, name: 'data', namespace: 'ns', annotations },
    spec: {},
  };
}

function node(annotation?: string): Node {
  const annotations = annotation === undefined ? {} : { 'csi.volume.kubernetes.io/nodeid': annotation };
  return { apiVersion: 'v1', kind: 'Node', metadata: { ...meta, annotations } };
}

test('an attachment is named as a kubelet computes it: the SHA-256 of handle, driver and node', () => {
  const volume = { driver: 'driver.example', volumeHandle: 'h', nodeName: 'n1' };
  // printf 'hdriver.examplen1' | sha256sum
  assert.equal(
    attachmentName(volume),
    'csi-d9b78ca7503c0deb1058d33bc855c2ea6719123602baa2243ec4df7c5bbcdfd4',
  );
  assert.notEqual(attachmentName(volume), attachmentName({ ...volume, nodeName: 'n2' }));
});

test('names of earlier attachments stay what they were, so that those are found', () => {
  assert.equal(
    seedAttachmentName('pv1', 'n1'),
    'pv-5e5be7a5ff28a0c543c35839ec8457ff16c0ba46746bd361d545b9254fa172dc',
  );
  const inline = { namespace: 'a', driver: 'b', volumeHandle: 'c', nodeName: 'd' };
  assert.match(oldInlineAttachmentName(inline), /^inline-[0-9a-f]{64}$/);
});

test('ephemeral handles differ by pod and by volume, and are the same at every call', () => {
  assert.equal(ephemeralVolumeHandle('u', 'v'), ephemeralVolumeHandle('u', 'v'));
  assert.notEqual(ephemeralVolumeHandle('u', 'v'), ephemeralVolumeHandle('u2', 'v'));
  assert.notEqual(ephemeralVolumeHandle('u', 'v'), ephemeralVolumeHandle('u', 'v2'));
});

test("today's annotations win over the older spellings", () => {
  const alpha = { 'volume.alpha.kubernetes.io/selected-node': 'old' };
  assert.equal(selectedNodeOf(claim(alpha)), 'old');
  assert.equal(selectedNodeOf(claim({ ...alpha, 'volume.kubernetes.io/selected-node': 'new' })), 'new');
  assert.equal(selectedNodeOf(claim()), undefined);
  const beta = { 'volume.beta.kubernetes.io/storage-provisioner': 'b' };
  assert.equal(provisionerOf(claim(beta)), 'b');
  assert.equal(provisionerOf(claim({ ...beta, 'volume.kubernetes.io/storage-provisioner': 'n' })), 'n');
});

test('a claimRef of an earlier claim with the same name is not a reference to this one', () => {
  const ref = { name: 'data', namespace: 'ns' };
  assert.equal(refersToClaim(ref, claim()), true);
  assert.equal(refersToClaim({ ...ref, uid: 'u1' }, claim()), true);
  assert.equal(refersToClaim({ ...ref, uid: 'u0' }, claim()), false);
  assert.equal(refersToClaim({ ...ref, namespace: 'other' }, claim()), false);
  assert.equal(refersToClaim(undefined, claim()), false);
});

test('what a node says of a driver: CSINode, then CSINodeInfo, then the annotation', () => {
  const csiNode: CSINode = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: meta,
    spec: { drivers: [{ name: 'd', nodeID: 'today', topologyKeys: ['zone'] }] },
  };
  const csiNodeInfo: CSINodeInfo = {
    apiVersion: 'csi.storage.k8s.io/v1alpha1',
    kind: 'CSINodeInfo',
    metadata: meta,
    csiDrivers: [{ name: 'd', nodeID: 'alpha' }],
  };
  const annotated = node('{"d":"annotated"}');
  assert.deepEqual(driverOnNode('d', { csiNode, csiNodeInfo, node: annotated }), {
    nodeId: 'today',
    topologyKeys: ['zone'],
  });
  assert.deepEqual(driverOnNode('d', { csiNodeInfo, node: annotated }), {
    nodeId: 'alpha',
    topologyKeys: [],
  });
  assert.deepEqual(driverOnNode('d', { node: annotated }), { nodeId: 'annotated', topologyKeys: [] });
  assert.equal(driverOnNode('other', { csiNode, csiNodeInfo, node: annotated }), undefined);
});

test('a broken node ID annotation counts as empty', () => {
  for (const text of ['', 'not json', '[]', 'null', '3']) assert.deepEqual(nodeIdsOf(node(text)), {}, text);
  assert.deepEqual(nodeIdsOf(node('{"a":"1","b":2}')), { a: '1' });
  assert.deepEqual(nodeIdsOf(undefined), {});
});

test("the attacher's finalizer is the official one", () => {
  assert.equal(attacherFinalizer('hostpath.csi.berth'), 'external-attacher/hostpath-csi-berth');
  assert.equal(attacherFinalizer('weird.'), 'external-attacher/weird-X');
});
