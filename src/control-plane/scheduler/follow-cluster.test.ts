// Which changes of an object reconsider pods: a field that is forgotten leaves a pod pending for ever, one too many
// costs a search at every heartbeat.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/kinds.ts';
import {
  ANN_BIND_COMPLETED,
  ANN_CSI_NODE_ID,
  ANN_SELECTED_NODE,
  ANN_STORAGE_CLASS_BETA,
} from '../../api/well-known.ts';
import { asksTheSame, isTheSame, offersTheSame, wantsTheSame } from './follow-cluster.ts';

type Change = { metadata?: object; spec?: object; status?: object };
const changed = <T>(change: Change, base: Change): T =>
  ({
    metadata: { name: 'x', ...base.metadata, ...change.metadata },
    spec: { ...base.spec, ...change.spec },
    status: { ...base.status, ...change.status },
  }) as T;
const annotated = (name: string) => ({ metadata: { annotations: { [name]: 'v' } } });
const deleted = { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } };

function rows<T>(
  kind: string,
  same: (before: T, after: T) => boolean,
  { base = {}, matters, ignored }: { base?: Change; matters: object; ignored: object },
): void {
  const each = (changes: object, expected: boolean) => {
    for (const [name, change] of Object.entries(changes) as [string, Change][]) {
      test(`${kind}: ${name} ${expected ? 'changes nothing' : 'matters'}`, () => {
        const [before, after] = [changed<T>({}, base), changed<T>(change, base)];
        assert.equal(same(before, after), expected);
        assert.equal(same(after, before), expected);
        assert.equal(same(after, changed<T>(change, base)), true, 'equal objects');
      });
    }
  };
  each(matters, false);
  each(ignored, true);
}

const ready = (status: string, lastHeartbeatTime = '') => ({
  status: {
    conditions: [
      { type: 'DiskPressure', status: 'False', lastHeartbeatTime },
      { type: 'Ready', status, lastHeartbeatTime },
    ],
  },
});
rows<Node>('a node', offersTheSame, {
  base: { ...ready('True'), metadata: {}, spec: {} },
  matters: {
    readiness: ready('False'),
    'the drivers that registered': annotated(ANN_CSI_NODE_ID),
    'a label': { metadata: { labels: { zone: 'a' } } },
    'a taint': { spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } },
    'what is allocatable': { status: { ...ready('True').status, allocatable: { cpu: '2' } } },
    capacity: { status: { ...ready('True').status, capacity: { cpu: '2' } } },
  },
  ignored: {
    'a heartbeat': ready('True', '2026-01-01T00:00:00Z'),
    'another annotation': annotated('other'),
    'volumes in use': { status: { ...ready('True').status, volumesInUse: ['v'] } },
  },
});

rows<Pod>('a pod', wantsTheSame, {
  matters: {
    'its deletion': deleted,
    'its end': { status: { phase: 'Succeeded' } },
    'its node': { spec: { nodeName: 'n1' } },
  },
  ignored: { 'its start': { status: { phase: 'Running' } }, 'an annotation': annotated('other') },
});

rows<PersistentVolumeClaim>('a claim', asksTheSame, {
  base: { spec: { volumeName: 'pv' } },
  matters: {
    'its binding': annotated(ANN_BIND_COMPLETED),
    'the loss of its volume': { status: { phase: 'Lost' } },
    'its deletion': deleted,
    'the selected node': annotated(ANN_SELECTED_NODE),
    'its class': annotated(ANN_STORAGE_CLASS_BETA),
    'its volume': { spec: { volumeName: 'other' } },
    'its owners': { metadata: { ownerReferences: [{ uid: 'p' }] } },
  },
  ignored: { 'another phase': { status: { phase: 'Pending' } }, 'another annotation': annotated('other') },
});

rows<PersistentVolume>('a volume', isTheSame, {
  matters: {
    'its phase': { status: { phase: 'Available' } },
    'its deletion': deleted,
    'its class': annotated(ANN_STORAGE_CLASS_BETA),
    'a label': { metadata: { labels: { a: 'b' } } },
    'its claim': { spec: { claimRef: { name: 'c' } } },
  },
  ignored: { 'another annotation': annotated('other'), 'a message': { status: { message: 'm' } } },
});
