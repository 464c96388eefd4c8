import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolumeClaim, StorageClass } from '../../../api/kinds.ts';
import { parseDriverName, parseVolumeHandle } from '../../../csi/names/driver-name.ts';
import { type Intent, intentFor } from '../intents/intent.ts';
import type { Attempt } from './attempts.ts';
import { decideClaim, type ProvisioningSnapshot, type ProvisioningStep } from './decide-claim.ts';

const DRIVER = parseDriverName('d.example');

interface ClaimShape {
  deleting?: boolean;
  volumeName?: string;
  phase?: string;
  selectedNode?: string;
  provisioner?: string;
}

function claim(shape: ClaimShape = {}): PersistentVolumeClaim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: 'data',
      namespace: 'default',
      uid: 'u1',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      annotations: {
        'volume.kubernetes.io/storage-provisioner': shape.provisioner ?? DRIVER,
        ...(shape.selectedNode && { 'volume.kubernetes.io/selected-node': shape.selectedNode }),
      },
      ...(shape.deleting && { deletionTimestamp: '2026-01-01T00:00:01Z' }),
    },
    spec: { storageClassName: 'fast', ...(shape.volumeName && { volumeName: shape.volumeName }) },
    ...(shape.phase && { status: { phase: shape.phase } }),
  } as PersistentVolumeClaim;
}

const storageClass = (volumeBindingMode = 'Immediate', provisioner = DRIVER) =>
  ({ metadata: { name: 'fast' }, provisioner, volumeBindingMode }) as unknown as StorageClass;
const delayed = storageClass('WaitForFirstConsumer');
const node = { name: 'n1', takesImmediate: true };

const intent = (asked = 1): Intent => ({
  ...intentFor(claim(), { storageClass: storageClass(), digest: 'd', nowMs: 0 }),
  asked,
});
const asking: Attempt = { is: 'asking', asked: undefined };
const recorded: Attempt = {
  is: 'recorded',
  volumeName: 'pvc-u1',
  handle: parseVolumeHandle('v1'),
  onClaim: true,
};
const nothingLeft: Attempt = { is: 'nothing-left', reschedule: true, hadIntent: true };
const nothingAsked: Attempt = { ...nothingLeft, hadIntent: false };

interface Row {
  name: string;
  /** Undefined: it is gone. */
  given: ClaimShape | undefined;
  class?: StorageClass | undefined;
  node?: ProvisioningSnapshot['node'];
  /** The claim that the PersistentVolume belongs to. */
  volumeOf?: string;
  inLedger?: boolean;
  /** Number of calls in the claim's intent. */
  onClaim?: number;
  known?: Attempt;
  then: ProvisioningStep['do'] | 'clean-up, recorded' | 'drop-intent, recorded';
}

const table: Row[] = [
  { name: 'asked for', given: {}, then: 'provision' },
  { name: 'for another provisioner', given: { provisioner: 'other' }, then: 'nothing' },
  { name: 'class gone', given: {}, class: undefined, then: 'nothing' },
  {
    name: 'class of another driver',
    given: {},
    class: storageClass('Immediate', parseDriverName('x')),
    then: 'nothing',
  },
  { name: 'no node selected yet', given: {}, class: delayed, then: 'nothing' },
  { name: 'node selected', given: { selectedNode: 'n1' }, class: delayed, then: 'provision' },
  { name: 'name taken', given: {}, volumeOf: 'u2', then: 'refuse' },
  { name: 'name taken by a volume without a claim', given: {}, volumeOf: '', then: 'refuse' },
  { name: 'gone, nothing known', given: undefined, then: 'nothing' },
  { name: 'deleted before it began', given: { deleting: true }, then: 'nothing' },
  { name: 'bound to another volume', given: { volumeName: 'static' }, then: 'nothing' },

  { name: 'left in the ledger', given: {}, inLedger: true, then: 'provision' },
  { name: 'left in the ledger, deleted', given: { deleting: true }, inLedger: true, then: 'clean-up' },
  { name: 'left in the ledger, gone', given: undefined, inLedger: true, then: 'clean-up' },
  { name: 'left in the ledger, class gone', given: {}, class: undefined, inLedger: true, then: 'nothing' },
  {
    name: 'left in the ledger, recorded',
    given: {},
    inLedger: true,
    volumeOf: 'u1',
    then: 'drop-intent, recorded',
  },
  { name: 'this run could not record it', given: {}, inLedger: true, known: asking, then: 'provision' },

  { name: 'on the claim', given: {}, onClaim: 1, then: 'provision' },
  { name: 'on the claim, deleted', given: { deleting: true }, onClaim: 1, then: 'clean-up' },
  {
    name: 'on the claim, deleted, class gone',
    given: { deleting: true },
    class: undefined,
    onClaim: 1,
    then: 'clean-up',
  },
  { name: 'on the claim, bound to another', given: { volumeName: 'static' }, onClaim: 1, then: 'clean-up' },
  { name: 'on the claim, asking', given: {}, onClaim: 2, known: asking, then: 'provision' },
  { name: 'gone by force while asking', given: undefined, known: asking, then: 'clean-up' },
  { name: 'intent gone by force, deleted', given: { deleting: true }, known: asking, then: 'clean-up' },

  {
    name: 'the driver has nothing, intent stands',
    given: {},
    onClaim: 1,
    known: nothingLeft,
    then: 'drop-intent',
  },
  {
    name: 'the same, deleted',
    given: { deleting: true },
    onClaim: 2,
    known: nothingLeft,
    then: 'drop-intent',
  },
  { name: 'the same, gone', given: undefined, inLedger: true, known: nothingLeft, then: 'drop-intent' },
  { name: 'drop was lost, reschedule open', given: {}, known: nothingLeft, then: 'drop-intent' },
  { name: 'nothing was asked, reschedule open', given: {}, known: nothingAsked, then: 'drop-intent' },
  { name: 'nothing was asked here', given: {}, onClaim: 1, known: nothingAsked, then: 'provision' },
  { name: 'the same, deleted', given: { deleting: true }, onClaim: 1, known: nothingAsked, then: 'clean-up' },
  { name: 'the same, gone', given: undefined, inLedger: true, known: nothingAsked, then: 'clean-up' },

  { name: 'volume there', given: {}, volumeOf: 'u1', then: 'nothing' },
  { name: 'has its volume', given: { volumeName: 'pvc-u1' }, volumeOf: 'u1', then: 'release-source' },
  { name: 'binder at work', given: { phase: 'Pending' }, onClaim: 1, volumeOf: 'u1', then: 'nothing' },
  { name: 'bound', given: { phase: 'Bound' }, onClaim: 1, volumeOf: 'u1', then: 'drop-intent, recorded' },
  {
    name: 'volume lost',
    given: { phase: 'Lost', volumeName: 'pvc-u1' },
    onClaim: 1,
    then: 'drop-intent, recorded',
  },
  {
    name: 'volume there, deleted',
    given: { deleting: true },
    onClaim: 1,
    volumeOf: 'u1',
    then: 'drop-intent, recorded',
  },
  {
    name: 'volume deleted by hand',
    given: { phase: 'Bound', volumeName: 'pvc-u1' },
    onClaim: 1,
    then: 'drop-intent, recorded',
  },
  {
    name: 'asked twice by others, bound',
    given: { phase: 'Bound' },
    onClaim: 2,
    volumeOf: 'u1',
    then: 'clean-up, recorded',
  },
  {
    name: 'asked twice, not bound yet',
    given: { phase: 'Pending' },
    onClaim: 2,
    volumeOf: 'u1',
    then: 'clean-up, recorded',
  },
  {
    name: 'asking although recorded',
    given: { phase: 'Bound' },
    onClaim: 1,
    known: asking,
    volumeOf: 'u1',
    then: 'clean-up, recorded',
  },
  {
    name: 'asked twice, known to be over',
    given: { phase: 'Bound' },
    onClaim: 2,
    known: recorded,
    volumeOf: 'u1',
    then: 'drop-intent, recorded',
  },
  {
    name: 'known to be over, not bound yet',
    given: { phase: 'Pending' },
    onClaim: 2,
    known: recorded,
    volumeOf: 'u1',
    then: 'nothing',
  },
  {
    name: 'recorded, and the volume is gone again',
    given: {},
    onClaim: 2,
    known: recorded,
    then: 'drop-intent',
  },

  { name: 'node: nobody selected', given: {}, node, then: 'take' },
  {
    name: 'node: nobody selected, not taking',
    given: {},
    node: { ...node, takesImmediate: false },
    then: 'nothing',
  },
  { name: 'node: selected', given: { selectedNode: 'n1' }, node, then: 'provision' },
  { name: 'node: another selected', given: { selectedNode: 'n2' }, node, then: 'nothing' },
  {
    name: "node: another's intent",
    given: { selectedNode: 'n2', deleting: true },
    onClaim: 1,
    node,
    then: 'nothing',
  },
  {
    name: 'node: moved away during our first call',
    given: { selectedNode: 'n2' },
    inLedger: true,
    node,
    then: 'clean-up',
  },
];

for (const row of table) {
  test(`what to do for a claim: ${row.name}`, () => {
    const step = decideClaim({
      claim: row.given && claim(row.given),
      uid: 'u1',
      driver: DRIVER,
      storageClass: 'class' in row ? row.class : storageClass(),
      volume: { name: 'pvc-u1', claimUid: row.volumeOf },
      attempt: {
        inLedger: row.inLedger ? intent() : undefined,
        onClaim: row.onClaim === undefined ? undefined : intent(row.onClaim),
        known: row.known,
      },
      node: row.node,
    });
    const suffix = 'isRecorded' in step && step.isRecorded ? ', recorded' : '';
    assert.equal(step.do + suffix, row.then);
  });
}
