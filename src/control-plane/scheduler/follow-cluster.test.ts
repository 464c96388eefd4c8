// Which changes of an object reconsider pods.
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/kinds.ts';
import {
  ANN_BIND_COMPLETED,
  ANN_CSI_NODE_ID,
  ANN_SELECTED_NODE,
  ANN_STORAGE_CLASS_BETA,
} from '../../api/well-known.ts';
import { changeRows } from '../testing/change-rows.ts';
import { asksTheSame, isTheSame, offersTheSame, wantsTheSame } from './follow-cluster.ts';

const annotated = (name: string) => ({ metadata: { annotations: { [name]: 'v' } } });
const deleted = { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } };

const ready = (status: string, lastHeartbeatTime = '') => ({
  status: {
    conditions: [
      { type: 'DiskPressure', status: 'False', lastHeartbeatTime },
      { type: 'Ready', status, lastHeartbeatTime },
    ],
  },
});
changeRows<Node>('a node', offersTheSame, {
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

changeRows<Pod>('a pod', wantsTheSame, {
  matters: {
    'its deletion': deleted,
    'its end': { status: { phase: 'Succeeded' } },
    'its node': { spec: { nodeName: 'n1' } },
  },
  ignored: { 'its start': { status: { phase: 'Running' } }, 'an annotation': annotated('other') },
});

changeRows<PersistentVolumeClaim>('a claim', asksTheSame, {
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

changeRows<PersistentVolume>('a volume', isTheSame, {
  matters: {
    'its phase': { status: { phase: 'Available' } },
    'its deletion': deleted,
    'its class': annotated(ANN_STORAGE_CLASS_BETA),
    'a label': { metadata: { labels: { a: 'b' } } },
    'its claim': { spec: { claimRef: { name: 'c' } } },
  },
  ignored: { 'another annotation': annotated('other'), 'a message': { status: { message: 'm' } } },
});
