// Which slots and nodes a change wakes, and which changes concern nobody.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InformerHandler } from '../../runtime/informer/informer.ts';
import { followVolumes } from './follow-volumes.ts';

type Kind = 'pods' | 'claims' | 'volumes' | 'attachments' | 'nodes' | 'drivers';
// biome-ignore lint/suspicious/noExplicitAny: the handlers of six kinds, called with parts of objects
type Handlers = InformerHandler<any>;

const KINDS: readonly Kind[] = ['pods', 'claims', 'volumes', 'attachments', 'nodes', 'drivers'];

/** Followed caches; what they wake, and what is told to desired and actual state, is in `heard`. */
function follow(cached: { volumes?: string[]; used?: string[]; isNews?: boolean } = {}) {
  const heard: string[] = [];
  const handlers = {} as Record<Kind, Handlers>;
  const tell =
    (what: string) =>
    (key: string): void =>
      void heard.push(`${what} ${key}`);
  const caches = Object.fromEntries(
    KINDS.map((kind) => [
      kind,
      {
        get: (name: string) => (cached[kind as 'volumes']?.includes(name) ? {} : undefined),
        subscribe(given: Handlers) {
          handlers[kind] = given;
          return () => tell('unsubscribed')(kind);
        },
      },
    ]),
  );
  const pod = (name: string) => ({ metadata: { name } });
  const stop = followVolumes({
    caches,
    desired: {
      update: ({ metadata }: { metadata: { name: string } }) => [`slot-of-${metadata.name}`],
      remove: (key: string) => [`slot-of-${key}`],
      slots: () => ['s1', 's2'],
      slotsOn: (node: string) => [`desired-on-${node}`],
      volumesOf: (key: string) => [{ volume: { driver: key === 's1' ? 'd' : 'e' } }],
    },
    actual: {
      knows(volume: { metadata: { name: string } }) {
        tell('knows')(volume.metadata.name);
        return cached.isNews;
      },
      forget: tell('forget'),
      of: (name: string) => (cached.used?.includes(name) ? [attachment()] : []),
      volumeIdOf: () => 'vol',
      onNode: () => [{ spec: { nodeName: 'n' } }],
    },
    podsOfClaim: (key: string) => [pod(`pod-of-${key}`)],
    slots: { add: tell('slot') },
    reports: { add: tell('report') },
    holdersChanged: tell('holders'),
    nodeChanged: tell('node'),
    attachmentGone: tell('gone'),
  } as never);
  return { heard, handlers, stop };
}

const volume = (spec: object = {}) => ({ metadata: { name: 'pv' }, spec });
const claimRef = { namespace: 'ns', name: 'c' };
const claim = (spec: object = {}, metadata: object = {}) => ({
  metadata: { name: 'c', namespace: 'ns', ...metadata },
  spec,
});
const pod = (spec: object = {}, status: object = {}) => ({
  metadata: { name: 'p', namespace: 'ns' },
  spec,
  status,
});
const attachment = (status: object = {}, metadata: object = {}) => ({
  metadata: { name: 'va', ...metadata },
  spec: { nodeName: 'n', attacher: 'd', source: { persistentVolumeName: 'pv' } },
  status: { attached: false, ...status },
});
const node = (status: object = {}) => ({ metadata: { name: 'n' }, status });
const SLOT = 'slot ["n","vol"]';
const deletionTimestamp = '2026-01-01T00:00:00Z';
const slotOfAttachment = (heard: string[]) => heard.map((line) => line.replace(/^slot .*vol.*/, SLOT));

type Event = keyof Handlers & ('added' | 'updated' | 'deleted');
const rows: [name: string, kind: Kind, event: Event, objects: object[], heard: string[]][] = [
  ['a volume without a claim', 'volumes', 'added', [volume()], ['knows pv']],
  [
    'a volume of a claim',
    'volumes',
    'added',
    [volume({ claimRef })],
    ['knows pv', 'slot slot-of-pod-of-ns/c'],
  ],
  ['a volume with the same spec', 'volumes', 'updated', [volume({ a: 1 }), volume({ a: 1 })], []],
  ['a volume with another spec', 'volumes', 'updated', [volume(), volume({ a: 1 })], ['knows pv']],
  ['a claim', 'claims', 'added', [claim()], ['slot slot-of-pod-of-ns/c']],
  ['a claim that means the same', 'claims', 'updated', [claim(), claim({ resources: {} })], []],
  [
    'a claim with another volume',
    'claims',
    'updated',
    [claim(), claim({ volumeName: 'pv' })],
    ['slot slot-of-pod-of-ns/c'],
  ],
  [
    'a claim with another owner',
    'claims',
    'updated',
    [claim(), claim({}, { ownerReferences: [{ uid: 'u' }] })],
    ['slot slot-of-pod-of-ns/c'],
  ],
  ['a pod', 'pods', 'added', [pod()], ['slot slot-of-p']],
  ['a pod with another label', 'pods', 'updated', [pod({ nodeName: 'n' }), pod({ nodeName: 'n' })], []],
  ['a pod that is scheduled', 'pods', 'updated', [pod(), pod({ nodeName: 'n' })], ['slot slot-of-p']],
  [
    'a pod that ends',
    'pods',
    'updated',
    [pod({}, { phase: 'Running' }), pod({}, { phase: 'Succeeded' })],
    ['slot slot-of-p'],
  ],
  ['a pod that is gone', 'pods', 'deleted', [pod()], ['slot slot-of-ns/p']],
  ['an attachment', 'attachments', 'added', [attachment()], [SLOT, 'holders vol']],
  [
    'an attachment that is attached',
    'attachments',
    'added',
    [attachment({ attached: true })],
    [SLOT, 'holders vol', 'report n'],
  ],
  [
    'an attachment that stands the same',
    'attachments',
    'updated',
    [attachment(), attachment({}, { labels: {} })],
    [],
  ],
  [
    'an attachment that becomes attached',
    'attachments',
    'updated',
    [attachment(), attachment({ attached: true })],
    [SLOT, 'holders vol', 'report n'],
  ],
  [
    'an attachment with an error',
    'attachments',
    'updated',
    [attachment(), attachment({ attachError: { message: 'no' } })],
    [SLOT, 'holders vol'],
  ],
  [
    'an attachment that is being deleted',
    'attachments',
    'updated',
    [attachment(), attachment({}, { deletionTimestamp })],
    [SLOT, 'holders vol'],
  ],
  [
    'an attachment that is gone',
    'attachments',
    'deleted',
    [attachment()],
    ['gone va', SLOT, 'holders vol', 'forget pv'],
  ],
  ['a node', 'nodes', 'added', [node()], ['report n', SLOT, 'slot desired-on-n']],
  ['a node that is gone', 'nodes', 'deleted', [node()], ['report n', SLOT]],
  ['a node with another condition', 'nodes', 'updated', [node(), node({ conditions: [] })], ['node n']],
  [
    'a node with another report',
    'nodes',
    'updated',
    [node(), node({ volumesAttached: [{ name: 'v' }] })],
    ['report n', 'node n'],
  ],
  ['a driver', 'drivers', 'added', [{ metadata: { name: 'd' } }], ['slot s1']],
  ['a driver that is gone', 'drivers', 'deleted', [{ metadata: { name: 'e' } }], ['slot s2']],
  ['a driver that changes', 'drivers', 'updated', [{}, { metadata: { name: 'd' } }], ['slot s1']],
];
for (const [name, kind, event, objects, wanted] of rows) {
  test(`${name} (${event}) wakes ${wanted.join(', ') || 'nobody'}`, () => {
    const { heard, handlers } = follow();
    (handlers[kind][event] as (...given: object[]) => void)(...objects);
    assert.deepEqual(slotOfAttachment(heard), wanted);
  });
}

test('the handle of a volume is forgotten with the volume and its last attachment', () => {
  for (const [cached, isForgotten] of [
    [{}, true],
    [{ used: ['pv'] }, false],
    [{ volumes: ['pv'] }, false],
  ] as const) {
    const { heard, handlers } = follow(cached as { volumes?: string[]; used?: string[] });
    handlers.volumes.deleted?.(volume());
    assert.deepEqual(heard, isForgotten ? ['forget pv'] : []);
  }
});

test('it follows nothing any more when it is stopped', () => {
  const { heard, stop } = follow();
  stop();
  assert.deepEqual(heard.toSorted(), KINDS.map((kind) => `unsubscribed ${kind}`).toSorted());
});

test('a volume that becomes known, or becomes another, wakes the slots of its attachments', () => {
  const { heard, handlers } = follow({ used: ['pv'], isNews: true });
  handlers.volumes.added?.(volume());
  assert.deepEqual(slotOfAttachment(heard), ['knows pv', SLOT, 'holders vol']);
});
