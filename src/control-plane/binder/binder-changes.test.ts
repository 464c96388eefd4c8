// Which changes of an object the binder looks at.
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/kinds.ts';
import {
  ANN_BIND_COMPLETED,
  ANN_SELECTED_NODE,
  ANN_STORAGE_CLASS_BETA,
  ANN_STORAGE_PROVISIONER,
  ANN_STORAGE_PROVISIONER_BETA,
} from '../../api/well-known.ts';
import { changeRows } from '../testing/change-rows.ts';
import { isTheSame, saysTheSame } from './binder.ts';

const annotated = (name: string, value = 'v') => ({ metadata: { annotations: { [name]: value } } });
const deleted = { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } };

changeRows<PersistentVolumeClaim>('a claim', saysTheSame, {
  matters: {
    'its deletion': deleted,
    'its binding': annotated(ANN_BIND_COMPLETED),
    'the selected node': annotated(ANN_SELECTED_NODE),
    'its class': annotated(ANN_STORAGE_CLASS_BETA),
    'its volume': { spec: { volumeName: 'pv' } },
    'its phase': { status: { phase: 'Lost' } },
  },
  ignored: {
    'a finalizer': { metadata: { finalizers: ['f'] } },
    'another annotation': annotated('other'),
  },
});
changeRows<PersistentVolumeClaim>('a claim that was given to a provisioner', saysTheSame, {
  base: annotated(ANN_STORAGE_PROVISIONER),
  matters: { 'another provisioner': annotated(ANN_STORAGE_PROVISIONER, 'w') },
  ignored: {},
});
changeRows<PersistentVolumeClaim>('a claim that was given to a provisioner under the old name', saysTheSame, {
  base: annotated(ANN_STORAGE_PROVISIONER_BETA),
  matters: { 'another provisioner': annotated(ANN_STORAGE_PROVISIONER_BETA, 'w') },
  ignored: {},
});

changeRows<PersistentVolume>('a volume', isTheSame, {
  matters: {
    'its deletion': deleted,
    'a label': { metadata: { labels: { a: 'b' } } },
    'an annotation': annotated('any'),
    'its claim': { spec: { claimRef: { name: 'c' } } },
    'its phase': { status: { phase: 'Available' } },
  },
  ignored: { 'a finalizer': { metadata: { finalizers: ['f'] } } },
});
