// The list of attached volumes of a Node that the cache still shows and the server no longer has.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, VolumeAttachment } from '../../api/kinds.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { ActualAttachments } from './actual-attachments.ts';
import { AttachedReport } from './attached-report.ts';

const attachment = { metadata: { name: 'va' }, spec: { nodeName: 'n1' }, status: { attached: true } };
const node = (uid: string) => ({ metadata: { name: 'n1', uid, resourceVersion: '1' }, status: {} }) as Node;

function reportOf(cached: { node: Node }) {
  let patches = 0;
  const gone = () => Promise.reject(new KubeError({ reason: 'NotFound', code: 404, message: 'gone' }));
  const kube = {
    get: gone,
    patch() {
      patches++;
      return gone();
    },
  } as unknown as KubeClient;
  const nodes = { get: () => cached.node, subscribe: () => () => {} } as unknown as Informer<Node>;
  const actual = {
    onNode: () => [attachment as VolumeAttachment],
    volumeIdOf: () => 'kubernetes.io/csi/d^h',
  } as unknown as ActualAttachments;
  return { report: new AttachedReport({ kube, nodes, actual }), patches: () => patches };
}

test('a Node that the server no longer has is written once, however long the cache shows it', async () => {
  const cached = { node: node('1') };
  const { report, patches } = reportOf(cached);
  assert.equal(report.isRight('n1'), false);
  const { signal } = new AbortController();
  for (let i = 0; i < 3; i++) assert.equal(await report.publish('n1', signal), undefined);
  assert.equal(patches(), 1);
  assert.equal(report.node('n1'), undefined);
  assert.equal(report.isRight('n1'), true);
});

test('a Node that was made anew is written again', async () => {
  const cached = { node: node('1') };
  const { report, patches } = reportOf(cached);
  const { signal } = new AbortController();
  await report.publish('n1', signal);
  cached.node = node('2');
  assert.equal(report.isRight('n1'), false);
  await report.publish('n1', signal);
  assert.equal(patches(), 2);
});
