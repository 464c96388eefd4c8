import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttachmentState } from '../../csi-plugin/attach/attachment-state.ts';
import {
  decideSlot,
  FORCE_DETACH_AFTER_MS,
  type Forced,
  mayDetach,
  type SlotSnapshot,
  type SlotStep,
} from './decide-slot.ts';
import type { NodeState } from './node-state.ts';

const absent: AttachmentState = { kind: 'absent' };
const pending: AttachmentState = { kind: 'pending' };
const attached: AttachmentState = { kind: 'attached', publishContext: {} };
const failed: AttachmentState = { kind: 'attach-failed', message: 'no', isNodeFull: false };
const detaching: AttachmentState = { kind: 'detaching', attached: true, error: undefined };
const ready: SlotSnapshot['node'] = { health: 'ready', outOfService: false, inUse: false };

function used(change: Partial<SlotSnapshot> = {}): SlotSnapshot {
  return {
    used: true,
    needed: [absent],
    existing: [],
    holders: [],
    exclusive: true,
    node: ready,
    stuckForMs: 0,
    ...change,
  };
}
const unused = (change: Partial<SlotSnapshot> = {}): SlotSnapshot =>
  used({ used: false, needed: [], existing: [attached], ...change });

const nothing: SlotStep = { do: 'nothing' };
const attach: SlotStep = { do: 'attach' };
const detach: SlotStep = { do: 'detach', forced: 'no' };

test('what is done about one volume on one node', () => {
  const mounted = { ...ready, inUse: true };
  const unready = { ...mounted, health: 'unready' } as const;
  const gone = { ...mounted, health: 'gone' } as const;
  const table: [string, SlotSnapshot, SlotStep][] = [
    ['a pod came', used(), attach],
    ['a pod came whose driver attaches nothing', used({ needed: [] }), nothing],
    ['attach under way', used({ needed: [pending], existing: [pending] }), attach],
    ['attach failed: wait for the attacher', used({ needed: [failed], existing: [failed] }), attach],
    ['attached', used({ needed: [attached], existing: [attached] }), nothing],
    ['wanted again while it goes', used({ needed: [detaching], existing: [detaching] }), nothing],
    ['the pod sits on a node that is gone', used({ node: gone }), nothing],
    ['another node has it', used({ holders: ['b'] }), { do: 'refuse', holders: ['b'] }],
    ['another node has it too, and may', used({ holders: ['b'], exclusive: false }), attach],
    ['both have it already: no more harm in waiting', used({ needed: [pending], holders: ['b'] }), attach],
    [
      'a second volume of the same handle',
      used({ needed: [attached, absent], existing: [attached] }),
      attach,
    ],
    ['the last pod is gone', unused(), detach],
    ['the last pod is gone before it was attached', unused({ existing: [pending] }), detach],
    ['the last pod is gone, attach had failed', unused({ existing: [failed] }), detach],
    ['nothing left', unused({ existing: [] }), nothing],
    ['being detached', unused({ existing: [detaching] }), nothing],
    ['one of two is being detached', unused({ existing: [detaching, attached] }), detach],
    ['still mounted', unused({ node: mounted }), { do: 'await-unmount' }],
    [
      'still mounted for very long, on a node that is fine',
      unused({ node: mounted, stuckForMs: FORCE_DETACH_AFTER_MS * 2 }),
      { do: 'await-unmount' },
    ],
    [
      'the node does not answer',
      unused({ node: unready, stuckForMs: 1000 }),
      { do: 'await-unmount', recheckAfterMs: FORCE_DETACH_AFTER_MS - 1000 },
    ],
    [
      'the node has not answered for a fraction less than six minutes',
      unused({ node: unready, stuckForMs: FORCE_DETACH_AFTER_MS - 5.8e-11 }),
      { do: 'await-unmount', recheckAfterMs: 1 },
    ],
    [
      'the node has not answered for six minutes',
      unused({ node: unready, stuckForMs: FORCE_DETACH_AFTER_MS }),
      { do: 'detach', forced: 'timeout' },
    ],
    [
      'the node is gone',
      unused({ node: gone }),
      { do: 'await-unmount', recheckAfterMs: FORCE_DETACH_AFTER_MS },
    ],
    [
      'the node has been gone for six minutes',
      unused({ node: gone, stuckForMs: FORCE_DETACH_AFTER_MS }),
      { do: 'detach', forced: 'timeout' },
    ],
    [
      'an administrator vouches for the node',
      unused({ node: { ...unready, outOfService: true } }),
      { do: 'detach', forced: 'out-of-service' },
    ],
    ['nobody forces what is safe', unused({ node: { ...ready, outOfService: true } }), detach],
  ];
  for (const [name, snapshot, expected] of table) assert.deepEqual(decideSlot(snapshot), expected, name);
});

test('a detach goes on only while its reason holds', () => {
  const back = { health: 'ready', outOfService: false, inUse: true } as const;
  const table: [string, Forced, NodeState, boolean][] = [
    ['unmounted', 'no', { ...back, inUse: false }, true],
    ['mounted again', 'no', back, false],
    ['still silent', 'timeout', { ...back, health: 'unready' }, true],
    ['gone', 'timeout', { ...back, health: 'gone' }, true],
    ['back, still mounted', 'timeout', back, false],
    ['back and unmounted', 'timeout', { ...back, inUse: false }, true],
    ['out of service', 'out-of-service', { ...back, outOfService: true }, true],
    ['in service again', 'out-of-service', back, false],
    ['in service again, but silent', 'out-of-service', { ...back, health: 'unready' }, false],
  ];
  for (const [name, forced, node, expected] of table) assert.equal(mayDetach(forced, node), expected, name);
});
