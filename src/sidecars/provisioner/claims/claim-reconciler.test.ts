// Whose source is looked at as soon as a claim is bound. The loop does not run: the claim may be gone before it does.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { persistentVolumeClaims } from '../../../api/kinds.ts';
import {
  ANN_SELECTED_NODE,
  ANN_STORAGE_PROVISIONER,
  FINALIZER_PROVISIONING,
} from '../../../api/well-known.ts';
import { parseDriverName } from '../../../csi/names/driver-name.ts';
import { manualInformers } from '../../../runtime/informer/testing/manual-informers.ts';
import { memoryLog } from '../../../runtime/log/log.ts';
import { seededRandom } from '../../../runtime/random.ts';
import { VirtualClock } from '../../../runtime/time/virtual-clock.ts';
import type { ProvisionerContext } from '../provisioner-context.ts';
import { DEFAULT_PROVISIONER_FLAGS } from '../provisioner-flags.ts';
import { createClaimReconciler } from './claim-reconciler.ts';

const SNAPSHOT = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 's' };
const restoring = ({
  node = '',
  provisioner = 'd.test',
  finalizers = [] as string[],
  volumeName = undefined as string | undefined,
} = {}) => ({
  metadata: {
    ...{ name: 'c', namespace: 'ns', uid: 'u', finalizers },
    annotations: { [ANN_STORAGE_PROVISIONER]: provisioner, ...(node && { [ANN_SELECTED_NODE]: node }) },
  },
  spec: { storageClassName: 'fast', dataSource: SNAPSHOT, ...(volumeName && { volumeName }) },
});

interface Given {
  claim?: Parameters<typeof restoring>[0];
  before?: { volumeName?: string; finalizers?: string[] };
  nodeName?: string;
  isOwner?: boolean;
}
const finalizers = [FINALIZER_PROVISIONING];
const volumeName = 'pv';
const table: [name: string, given: Given, isReleased: boolean][] = [
  ['a claim that is bound', {}, true],
  ['one that was bound before', { before: { volumeName } }, false],
  ['one of another driver', { claim: { provisioner: 'other' } }, false],
  ['one whose call may be repeated', { claim: { finalizers } }, false],
  ['one whose call is not repeated any more', { before: { volumeName, finalizers } }, true],
  ['one in the share of this replica', { isOwner: true }, true],
  ['one in the share of another', { isOwner: false }, true],
  ['one for this node', { nodeName: 'n', claim: { node: 'n' } }, true],
  ['one for another node', { nodeName: 'n', claim: { node: 'm' } }, false],
];

for (const [name, { claim, before = {}, nodeName, isOwner }, isReleased] of table)
  test(`[PROV-7] the source of ${name} is ${isReleased ? '' : 'not '}looked at at once`, () => {
    const informers = manualInformers();
    const [clock, random, log] = [new VirtualClock(), seededRandom('claims'), memoryLog()];
    const released: string[] = [];
    const ignore = () => () => {};
    const shares = { owns: () => isOwner, beforeGain: ignore, onGain: ignore };
    const context = {
      ...{ informers, clock, log, nodeName, namespace: 'kube-system', flags: DEFAULT_PROVISIONER_FLAGS },
      driver: { name: parseDriverName('d.test') },
      grants: { allows: () => true, subscribe: ignore },
      loop: { clock, random, log },
      ...(isOwner !== undefined && { shares }),
    };
    createClaimReconciler(context as unknown as ProvisionerContext, ({ metadata }) => {
      released.push(metadata.uid);
    });
    const first = restoring({ ...claim, ...before });
    const now = restoring({ ...claim, volumeName });
    informers.change(persistentVolumeClaims, undefined, first);
    informers.change(persistentVolumeClaims, first, now);
    assert.deepEqual(released, isReleased ? ['u'] : []);
  });
