import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Node, nodes, type VolumeAttachment, volumeAttachments } from '../../api/kinds.ts';
import { manualInformers } from '../../runtime/informer/testing/manual-informers.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { ActualAttachments } from './actual-attachments.ts';
import { AttachedReport } from './attached-report.ts';

type Attached = { name: string; devicePath: string }[];
const never = new AbortController().signal;
const id = (handle: string) => `kubernetes.io/csi/d.example^${handle}`;
const entry = (handle: string, devicePath: string) => ({ name: id(handle), devicePath });

const attachment = (
  name: string,
  { handle = name, nodeName = 'n', attached = true, metadata = {} as object } = {},
): VolumeAttachment =>
  ({
    metadata: { name, ...metadata },
    spec: {
      attacher: 'd.example',
      nodeName,
      source: { inlineVolumeSpec: { csi: { driver: 'd.example', volumeHandle: handle } } },
    },
    status: { attached },
  }) as unknown as VolumeAttachment;
const node = (volumesAttached?: Attached, resourceVersion = '1') =>
  ({ metadata: { name: 'n', resourceVersion }, status: { volumesAttached } }) as unknown as Node;

/** A server whose answers the test gives. */
function world(known: Node | undefined, attachments: VolumeAttachment[] = []) {
  const informers = manualInformers();
  const requests: (Attached | 'read')[] = [];
  const answers: PromiseWithResolvers<Node>[] = [];
  const ask = (request: Attached | 'read') => {
    requests.push(request);
    const answer = Promise.withResolvers<Node>();
    answers.push(answer);
    return answer.promise;
  };
  const kube = {
    get: () => ask('read'),
    patch: (_resource: unknown, _name: unknown, patch: { status: { volumesAttached: Attached } }) =>
      ask(patch.status.volumesAttached),
  } as unknown as KubeClient;
  const actual = new ActualAttachments(informers.of(volumeAttachments));
  const report = new AttachedReport({ kube, nodes: informers.of(nodes), actual });
  if (known) informers.change(nodes, undefined, known);
  const put = (each: VolumeAttachment) => informers.change(volumeAttachments, undefined, each);
  for (const each of attachments) put(each);
  return { report, requests, answers, put };
}

const lists: [string, Attached | undefined, VolumeAttachment[], Attached | undefined][] = [
  ['nothing is attached', undefined, [], undefined],
  ['a volume is attached', [], [attachment('a')], [entry('a', 'a')]],
  ['the list is right', [entry('a', 'a')], [attachment('a')], undefined],
  ['the attacher has not answered', [], [attachment('a', { attached: false })], undefined],
  [
    'the volume is being detached',
    [],
    [attachment('a', { metadata: { deletionTimestamp: 'x' } })],
    undefined,
  ],
  ['it is attached elsewhere', [], [attachment('a', { nodeName: 'm' })], undefined],
  ['a volume is gone', [entry('a', 'a'), entry('b', 'b')], [attachment('b')], [entry('b', 'b')]],
  [
    'the order is wrong',
    [entry('b', 'b'), entry('a', 'a')],
    [attachment('a'), attachment('b')],
    [entry('a', 'a'), entry('b', 'b')],
  ],
  ['only the path is wrong', [entry('a', 'x')], [attachment('a')], [entry('a', 'a')]],
  ['only the name is wrong', [entry('x', 'a')], [attachment('a')], [entry('a', 'a')]],
  [
    'another plugin has an entry',
    [{ name: 'kubernetes.io/iscsi/x', devicePath: 'dev' }],
    [attachment('b'), attachment('a')],
    [entry('a', 'a'), entry('b', 'b'), { name: 'kubernetes.io/iscsi/x', devicePath: 'dev' }],
  ],
  [
    'two attachments share a handle',
    [],
    [attachment('z', { handle: 'h' }), attachment('b', { handle: 'h' })],
    [entry('h', 'z')],
  ],
  [
    'they come in the other order',
    [],
    [attachment('b', { handle: 'h' }), attachment('z', { handle: 'h' })],
    [entry('h', 'z')],
  ],
];
for (const [name, before, attachments, written] of lists)
  test(`the list of a node is ${written ? 'written' : 'not written'} when ${name}`, async () => {
    const { report, requests, answers } = world(node(before), attachments);
    assert.equal(report.isRight('n'), written === undefined);
    const published = report.publish('n', never);
    await Promise.resolve();
    assert.deepEqual(requests, [written ?? 'read']);
    const answer = node(written ?? before, '2');
    answers[0]?.resolve(answer);
    assert.equal(await published, answer);
    assert.equal(report.node('n'), answer, 'the answer counts before the watch shows it');
    assert.equal(report.isRight('n'), true);
  });

test('an attachment that is withheld is off the list until it is released', () => {
  const { report } = world(node([entry('a', 'a')]), [attachment('a')]);
  report.withhold('a');
  assert.equal(report.isRight('n'), false);
  report.release('a');
  assert.equal(report.isRight('n'), true);
});

test('a node that does not exist has no list to write', async () => {
  const notFound = new KubeError({ code: 404, reason: 'NotFound', message: 'gone' });
  const unknown = world(undefined);
  assert.equal(unknown.report.isRight('n'), true);
  for (const { report, answers } of [unknown, world(node([entry('a', 'a')]))]) {
    const published = report.publish('n', never);
    await Promise.resolve();
    answers[0]?.reject(notFound);
    assert.equal(await published, undefined);
  }
  assert.deepEqual(unknown.requests, ['read'], 'the cache may not show a Node that was made anew');
});

test('a list that is right in the cache and not on the server is written: the answer to an earlier write was lost', async () => {
  const { report, requests, answers } = world(node([]));
  const published = report.publish('n', never);
  await Promise.resolve();
  answers[0]?.resolve(node([entry('a', 'a')], '2'));
  while (answers.length < 2) await Promise.resolve();
  answers[1]?.resolve(node([], '3'));
  assert.deepEqual((await published)?.status?.volumesAttached, []);
  assert.deepEqual(requests, ['read', []]);
});

test('a write that fails is reported, and the next one is made', async () => {
  const { report, requests, answers } = world(node([entry('a', 'a')]));
  const failing = report.publish('n', never);
  const next = Promise.resolve().then(() => report.publish('n', never));
  await Promise.resolve();
  answers[0]?.reject(new Error('refused'));
  await assert.rejects(failing, /refused/);
  while (answers.length < 2) await Promise.resolve();
  answers[1]?.resolve(node([], '2'));
  assert.deepEqual((await next)?.status?.volumesAttached, []);
  assert.deepEqual(requests, [[], []]);
});

test('callers before a write begins share it; those after it began share the next', async () => {
  const { report, requests, answers, put } = world(node());
  put(attachment('a'));
  const first = report.publish('n', never);
  assert.equal(report.publish('n', never), first);
  await Promise.resolve();
  put(attachment('b'));
  const second = report.publish('n', never);
  assert.notEqual(second, first);
  assert.equal(report.publish('n', never), second);
  await new Promise(setImmediate);
  assert.deepEqual(requests, [[entry('a', 'a')]], 'one write at a time');
  answers[0]?.resolve(node([entry('a', 'a')], '2'));
  await first;
  await new Promise(setImmediate);
  assert.deepEqual(requests[1], [entry('a', 'a'), entry('b', 'b')]);
  put(attachment('c'));
  const third = report.publish('n', never);
  await new Promise(setImmediate);
  assert.equal(requests.length, 2, 'the second is still under way');
  answers[1]?.resolve(node([entry('a', 'a'), entry('b', 'b')], '3'));
  await second;
  await new Promise(setImmediate);
  assert.deepEqual(requests[2], [entry('a', 'a'), entry('b', 'b'), entry('c', 'c')]);
  answers[2]?.resolve(node([], '4'));
  await third;
});
