// Which changes make the attacher look at an attachment or a volume, and which do not.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csiNodes, persistentVolumes, volumeAttachments } from '../../api/kinds.ts';
import type { Resource } from '../../api/object.ts';
import { attacherFinalizer } from '../../api/well-known.ts';
import type { SidecarPorts } from '../common/sidecar.ts';
import { type Change, changesOf, DRIVER, wokenBy } from '../testing/wakes.ts';
import { createAttacher } from './attacher.ts';
import { DEFAULT_ATTACHER_FLAGS } from './attacher-flags.ts';

const VA = 'csi-attacher-va';
const PV = 'csi-attacher-pv';
const deletionTimestamp = '2026-01-01T00:00:00Z';
const finalizers = [attacherFinalizer(DRIVER)];
const va = (change: { attacher?: string; attached?: boolean; metadata?: object; pv?: string } = {}) => ({
  metadata: { name: 'va', uid: 'u', ...change.metadata },
  spec: {
    attacher: change.attacher ?? DRIVER,
    nodeName: 'n',
    source: { persistentVolumeName: change.pv ?? 'pv' },
  },
  status: { attached: change.attached ?? false },
});
const pv = (metadata: object = {}) => ({
  metadata: { name: 'pv', uid: 'p', ...metadata },
  spec: { csi: { driver: DRIVER, volumeHandle: 'h' } },
});
const node = (nodeID: string, labels: object = {}) => ({
  metadata: { name: 'n', labels },
  spec: { drivers: [{ name: DRIVER, nodeID }] },
});
const attachments = changesOf(volumeAttachments);
const volumes = changesOf(persistentVolumes);
const nodes = changesOf(csiNodes);
type Cached = [Resource, object][];
/** Those of another driver, and those that are attached, wait for nothing. */
const waiting: Cached = [
  [volumeAttachments, va()],
  [volumeAttachments, va({ attacher: 'other', metadata: { name: 'theirs' } })],
  [volumeAttachments, va({ attached: true, metadata: { name: 'attached' } })],
  [volumeAttachments, va({ pv: 'other', metadata: { name: 'of-another' } })],
];
const asked = { annotations: { 'csi.berth/retry': 'now' } };

const rows: [name: string, change: Change, woken: string[], cached?: Cached][] = [
  ['an attachment', attachments(undefined, va()), [VA]],
  ['another attacher’s attachment', attachments(undefined, va({ attacher: 'other' })), []],
  ['a change of labels', attachments(va(), va({ metadata: { labels: { a: 'b' } } })), []],
  ['a deletion', attachments(va(), va({ metadata: { deletionTimestamp } })), [VA]],
  ['another one of that name', attachments(va(), va({ metadata: { uid: 'v' } })), [VA]],
  ['attached by somebody', attachments(va(), va({ attached: true })), [VA]],
  ['a retry that is asked for', attachments(va(), va({ metadata: asked })), [VA]],
  [
    'a change of another attacher’s',
    attachments(va({ attacher: 'other' }), va({ attacher: 'other', attached: true })),
    [],
  ],
  ['the end of an attachment', attachments(va(), undefined), [PV], [[volumeAttachments, va()]]],
  ['a volume', volumes(undefined, pv()), [VA], waiting],
  ['a protected volume', volumes(undefined, pv({ finalizers })), [PV]],
  ['a change of a protected volume', volumes(pv(), pv({ finalizers })), [PV]],
  ['a change of another volume', volumes(pv(), pv({ labels: { a: 'b' } })), [], waiting],
  ['a node', nodes(undefined, node('id')), [`${VA} ×2`], waiting],
  ['another node ID', nodes(node('id'), node('other')), [`${VA} ×2`], waiting],
  ['a change of the node’s labels', nodes(node('id'), node('id', { a: 'b' })), [], waiting],
];
for (const [name, change, woken, cached = []] of rows) {
  test(`the attacher: ${name} wakes ${woken.join(', ') || 'nothing'}`, async (t) => {
    const create = (ports: Parameters<typeof createAttacher>[0]) =>
      createAttacher(ports, DEFAULT_ATTACHER_FLAGS);
    assert.deepEqual(await wokenBy(t, create, { change, cached }), woken);
  });
}

const starts: [name: string, cached: Cached, woken: string[]][] = [
  [
    'what is attached, with its volume and node',
    [
      [volumeAttachments, va({ attached: true, metadata: { finalizers } })],
      [persistentVolumes, pv({ finalizers })],
      [csiNodes, node('id')],
    ],
    [],
  ],
  [
    'what is not attached',
    [
      [volumeAttachments, va()],
      [persistentVolumes, pv({ finalizers })],
      [csiNodes, node('id')],
    ],
    [VA],
  ],
  [
    'what is being detached',
    [[volumeAttachments, va({ attached: true, metadata: { deletionTimestamp } })]],
    [VA],
  ],
  ['a volume whose attachment has gone', [[persistentVolumes, pv({ finalizers })]], [PV]],
  ['a volume that is not protected', [[persistentVolumes, pv()]], []],
];
/** As if the caches were so large that a replay in slices goes on after the subscription. */
function withLateSlices(ports: SidecarPorts): SidecarPorts {
  const { informers, clock } = ports;
  const of: SidecarPorts['informers']['of'] = (resource) => {
    const informer = informers.of(resource);
    return {
      ...informer,
      subscribe(handler, { inSlices = false } = {}) {
        let isLate = inSlices;
        const added: typeof handler.added = (object) => {
          if (isLate) clock.setImmediate(() => handler.added?.(object));
          else handler.added?.(object);
        };
        const stop = informer.subscribe({ ...handler, added });
        isLate = false;
        return stop;
      },
    };
  };
  return { ...ports, informers: { ...informers, of } };
}
for (const [name, cached, woken] of starts) {
  for (const [when, through] of [
    ['', (ports: SidecarPorts) => ports],
    [', in a large cluster,', withLateSlices],
  ] as const) {
    test(`the attacher: at its start${when} ${name} wakes ${woken.join(', ') || 'nothing'}`, async (t) => {
      const create = (ports: SidecarPorts) => createAttacher(through(ports), DEFAULT_ATTACHER_FLAGS);
      assert.deepEqual(await wokenBy(t, create, { cached }), woken);
    });
  }
}

test('the attacher looks again at what is its own at each resync', async (t) => {
  const flags = { ...DEFAULT_ATTACHER_FLAGS, resyncMs: 60_000 };
  const cached: Cached = [
    [volumeAttachments, va({ attacher: 'other', metadata: { name: 'theirs' } })],
    [persistentVolumes, pv()],
  ];
  const look = (more: Cached) =>
    wokenBy(t, (ports) => createAttacher(ports, flags), { cached: [...cached, ...more], passMs: 61_000 });
  assert.deepEqual(await look([]), []);
});
