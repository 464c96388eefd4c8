import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attacherFinalizer, FINALIZER_PROVISIONER, FINALIZER_PVC_PROTECTION } from '../../api/well-known.ts';
import type { AuditFacts } from '../facts.ts';
import {
  attachment,
  claim,
  content,
  cut,
  DRIVER,
  facts,
  listed,
  NOW_MS,
  OLD_MS,
  stored,
  volume,
} from '../testing/fact-builders.ts';
import { confirmed, judge, obstacles } from './find.ts';
import { DEFAULT_JUDGE_OPTIONS, type JudgeOptions } from './options.ts';

const UID = '11111111-2222-3333-4444-555555555555';
const usual = stored('vol-1', { publishedOn: ['id-1'] });
const event = { claim: 'default/gone', uid: UID, reason: 'ProvisioningSucceeded', atMs: OLD_MS };
const named = stored('vol-9', { context: { name: `pvc-${UID}` } });
const pending = claim('default/new', { phase: 'Pending', volumeName: '', uid: UID });
const attacher = attacherFinalizer(DRIVER);

/** `finding severity action`, of each finding. */
const short = (given: AuditFacts, options: Partial<JudgeOptions> = {}): string[] =>
  judge(given, { ...DEFAULT_JUDGE_OPTIONS, ...options }).findings.map(
    ({ id, severity, action }) => `${id} ${severity} ${action?.do ?? '-'}`,
  );

const cases: { name: string; given: AuditFacts; options?: Partial<JudgeOptions>; then: string[] }[] = [
  { name: 'everything is known', given: facts(), then: [] },
  {
    name: 'a volume that was made for a claim of this cluster',
    given: facts({ volumes: listed(usual, named) }, { events: [event] }),
    then: ['volume-leaked/vol-9 leak DeleteVolume'],
  },
  {
    name: 'the same, and nobody knows the claim: perhaps another cluster’s',
    given: facts({ volumes: listed(usual, named) }),
    then: ['volume-leaked/vol-9 doubt -'],
  },
  {
    name: 'the same, and no other cluster uses the storage',
    given: facts({ volumes: listed(usual, named) }),
    options: { isExclusive: true },
    then: ['volume-leaked/vol-9 leak DeleteVolume'],
  },
  {
    name: 'a volume with a name of no claim at all',
    given: facts({ volumes: listed(usual, stored('data')) }),
    then: ['volume-leaked/data doubt -'],
  },
  {
    name: 'a class retains volumes: perhaps kept on purpose',
    given: facts(
      { volumes: listed(usual, named) },
      { events: [event], classes: [{ name: 'keep', policy: 'Retain', clusterMarks: {} }] },
    ),
    then: ['volume-leaked/vol-9 doubt -'],
  },
  {
    name: 'the driver marks it as another cluster’s',
    given: facts(
      { volumes: listed(usual, stored('vol-9', { context: { clusterID: 'b', name: `pvc-${UID}` } })) },
      { events: [event], volumes: [volume('pv-1', 'vol-1', { clusterMarks: { clusterID: 'a' } })] },
    ),
    options: { isExclusive: true },
    then: ['volume-leaked/vol-9 doubt -'],
  },
  {
    name: 'the given mark says that it is this cluster’s',
    given: facts({ volumes: listed(usual, stored('vol-9', { context: { owner: 'a' } })) }),
    options: { clusterMark: { key: 'owner', value: 'a' } },
    then: ['volume-leaked/vol-9 leak DeleteVolume'],
  },
  {
    name: 'its claim is being provisioned: in flight',
    given: facts({ volumes: listed(usual, named) }, { claims: [claim('default/pv-1'), pending] }),
    then: [],
  },
  {
    name: 'any claim is being provisioned, and the volume has no name: perhaps in flight',
    given: facts({ volumes: listed(usual, stored('x')) }, { claims: [claim('default/pv-1'), pending] }),
    options: { isExclusive: true },
    then: [],
  },
  {
    name: 'the provisioner has recorded a call for it: in flight',
    given: facts({ volumes: listed(usual, named) }, { intents: [{ claim: 'default/gone', uid: UID }] }),
    then: [],
  },
  {
    name: 'its claim is gone, and the event is recent: perhaps in flight',
    given: facts(
      { volumes: listed(usual, named) },
      { events: [{ ...event, reason: 'Provisioning', atMs: NOW_MS - 1_000 }] },
    ),
    then: [],
  },
  {
    name: 'a migrated PersistentVolume names it',
    given: facts({ volumes: listed(usual, stored('ebs-1')) }, { otherSources: ['aws://a/ebs-1'] }),
    options: { isExclusive: true },
    then: [],
  },
  {
    name: 'a pod names it',
    given: facts(
      { volumes: listed(usual, stored('inline')) },
      { pods: [{ key: 'default/web', nodeName: 'n1', claims: ['default/pv-1'], handles: ['inline'] }] },
    ),
    then: [],
  },
  {
    name: 'a volume that is attached is detached first',
    given: facts({ volumes: listed(usual, { ...named, publishedOn: ['id-1'] }) }, { events: [event] }),
    then: ['attachment-leaked/vol-9@id-1 leak ControllerUnpublishVolume', 'volume-leaked/vol-9 leak -'],
  },
  {
    name: 'a PersistentVolume of a volume that is gone, with a claim',
    given: facts(
      { volumes: listed(usual) },
      {
        volumes: [volume('pv-1', 'vol-1'), volume('pv-2', 'vol-2')],
        claims: [claim('default/pv-1'), claim('default/pv-2')],
      },
    ),
    then: ['volume-missing/pv-2 leak -'],
  },
  {
    name: 'the same without a claim',
    given: facts({ volumes: listed(usual) }, { volumes: [volume('pv-1', 'vol-1'), volume('pv-2', 'vol-2')] }),
    then: ['volume-missing/pv-2 leak delete-object'],
  },
  {
    name: 'the same, new: the driver may list it later',
    given: facts(
      { volumes: listed(usual) },
      { volumes: [volume('pv-1', 'vol-1'), volume('pv-2', 'vol-2', { createdMs: NOW_MS })] },
    ),
    then: [],
  },
  {
    name: 'the driver lists nothing: nothing is concluded',
    given: facts({ volumes: undefined, snapshots: undefined }),
    then: [],
  },
  {
    name: 'a released volume',
    given: facts(
      { volumes: listed(usual, stored('vol-2')) },
      {
        volumes: [volume('pv-1', 'vol-1'), volume('pv-2', 'vol-2', { phase: 'Released', policy: 'Retain' })],
      },
    ),
    then: ['volume-released/pv-2 cost -'],
  },
  {
    name: 'attached without a VolumeAttachment, and in use',
    given: facts({}, { attachments: [] }),
    then: ['attachment-leaked/vol-1@id-1 leak -'],
  },
  {
    name: 'the same, and not in use',
    given: facts(
      {},
      { attachments: [], pods: [], nodes: [{ name: 'n1', nodeId: 'id-1', inUse: new Set() }] },
    ),
    then: ['attachment-leaked/vol-1@id-1 leak ControllerUnpublishVolume'],
  },
  {
    name: 'attached to a node that this cluster does not have',
    given: facts({ volumes: listed(stored('vol-1', { publishedOn: ['id-1', 'elsewhere'] })) }),
    then: ['attachment-leaked/vol-1@elsewhere doubt -'],
  },
  {
    name: 'attached under an earlier ID of the node',
    given: facts({}, { nodes: [{ name: 'n1', nodeId: 'id-1b', inUse: new Set(['vol-1']) }] }),
    then: [],
  },
  {
    name: 'a driver whose volumes are not attached',
    given: facts({}, { attachments: [], attachRequired: false }),
    then: [],
  },
  {
    name: 'the driver denies an attachment',
    given: facts({ volumes: listed(stored('vol-1')) }),
    then: ['attachment-missing/va-1 leak -'],
  },
  {
    name: 'a VolumeAttachment of a node that is gone',
    given: facts(
      {},
      { attachments: [attachment('va-1'), attachment('va-2', { nodeName: 'gone', nodeId: '' })] },
    ),
    then: ['attachment-stale/va-2 leak delete-object'],
  },
  {
    name: 'a VolumeAttachment of a PersistentVolume that is gone',
    given: facts(
      {},
      {
        attachments: [
          attachment('va-1'),
          attachment('va-2', { volumeName: 'gone', handle: '', nodeId: '', isAttached: false }),
        ],
        nodes: [{ name: 'n1', nodeId: 'id-1', inUse: new Set() }],
      },
    ),
    then: ['attachment-stale/va-2 leak delete-object'],
  },
  {
    name: 'the same on a node that uses volumes of the driver: it may be one of them',
    given: facts(
      {},
      {
        attachments: [
          attachment('va-1'),
          attachment('va-2', { volumeName: 'gone', handle: '', nodeId: '', isAttached: false }),
        ],
      },
    ),
    then: ['attachment-stale/va-2 leak -'],
  },
  {
    name: 'a finalizer on a VolumeAttachment whose volume is detached',
    given: facts(
      {},
      {
        attachments: [
          attachment('va-1'),
          attachment('va-2', { nodeId: 'id-2', deletedMs: OLD_MS, finalizers: [attacher] }),
        ],
      },
    ),
    then: ['finalizer-stuck/volumeattachments/va-2 leak remove-finalizers'],
  },
  {
    name: 'the same of a volume that is attached: its attacher’s to remove',
    given: facts({}, { attachments: [attachment('va-1', { deletedMs: OLD_MS, finalizers: [attacher] })] }),
    then: [],
  },
  {
    name: 'the finalizer of a PersistentVolume whose volume is deleted',
    given: facts(
      { volumes: listed(usual) },
      {
        volumes: [
          volume('pv-1', 'vol-1'),
          volume('pv-2', 'vol-2', {
            deletedMs: OLD_MS,
            phase: 'Released',
            finalizers: [FINALIZER_PROVISIONER],
          }),
        ],
      },
    ),
    then: ['finalizer-stuck/persistentvolumes/pv-2 leak remove-finalizers'],
  },
  {
    name: 'beside a finalizer that nobody here knows',
    given: facts(
      { volumes: listed(usual) },
      {
        volumes: [
          volume('pv-1', 'vol-1'),
          volume('pv-2', 'vol-2', { deletedMs: OLD_MS, finalizers: [FINALIZER_PROVISIONER, 'vendor/x'] }),
        ],
      },
    ),
    then: [],
  },
  {
    name: 'a claim that is deleted and used by no pod',
    given: facts(
      {},
      {
        claims: [claim('default/pv-1', { deletedMs: OLD_MS, finalizers: [FINALIZER_PVC_PROTECTION] })],
        pods: [],
      },
    ),
    then: ['finalizer-stuck/persistentvolumeclaims/default/pv-1 leak remove-finalizers'],
  },
  {
    name: 'a snapshot of a volume of this cluster, without a content',
    given: facts({ snapshots: listed(cut('s-1', 'vol-1')) }),
    then: ['snapshot-leaked/s-1 leak DeleteSnapshot'],
  },
  {
    name: 'a snapshot of a volume that nobody knows',
    given: facts({ snapshots: listed(cut('s-1', 'elsewhere')) }),
    then: ['snapshot-leaked/s-1 doubt -'],
  },
  {
    name: 'a snapshot whose content waits for its handle: in flight',
    given: facts({ snapshots: listed(cut('s-1', 'vol-1')) }, { contents: [content('c-1', '')] }),
    then: [],
  },
  {
    name: 'a new snapshot',
    given: facts({ snapshots: listed(cut('s-1', 'vol-1', { createdMs: NOW_MS - 1_000 })) }),
    then: [],
  },
  {
    name: 'members of a group that nobody knows are one finding',
    given: facts({
      can: new Set(['LIST_SNAPSHOTS', 'CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT']),
      snapshots: listed(cut('s-1', 'vol-1', { group: 'g' }), cut('s-2', 'vol-1', { group: 'g' })),
    }),
    then: ['snapshot-leaked/group/g leak DeleteVolumeGroupSnapshot'],
  },
  {
    name: 'a member of a group that is in use',
    given: facts(
      {
        can: new Set(['LIST_SNAPSHOTS', 'CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT']),
        snapshots: listed(cut('s-1', 'vol-1', { group: 'g' }), cut('s-2', 'vol-1', { group: 'g' })),
      },
      { contents: [content('c-1', 's-1')] },
    ),
    then: ['snapshot-leaked/group/g doubt -'],
  },
  {
    name: 'a content of a snapshot that is gone',
    given: facts({}, { contents: [content('c-1', 's-1')] }),
    then: ['snapshot-missing/c-1 leak delete-object'],
  },
];

for (const { name, given, options, then } of cases) {
  test(`[AUD-1] ${name} → ${then.join(', ') || 'nothing'}`, () =>
    assert.deepEqual(short(given, options), then));
}

test('[AUD-1] only what two looks find the same counts', () => {
  const look = (...volumes: ReturnType<typeof stored>[]) =>
    judge(facts({ volumes: listed(usual, ...volumes) }), { ...DEFAULT_JUDGE_OPTIONS, isExclusive: true });
  const ids = (first: ReturnType<typeof look>, second: ReturnType<typeof look>) =>
    confirmed(first, second).findings.map(({ id }) => id);
  assert.deepEqual(ids(look(stored('a'), stored('b')), look(stored('b'), stored('c'))), ['volume-leaked/b']);
  assert.deepEqual(ids(look(stored('a')), look(stored('a', { bytes: 1n }))), [], 'it has changed');
});

test('[AUD-1] what is under way is in the way, unless it is itself what was found', () => {
  const waiting = attachment('va-2', { nodeName: 'gone', nodeId: '', isAttached: false });
  const look = judge(
    facts({}, { attachments: [attachment('va-1'), waiting], claims: [claim('default/pv-1'), pending] }),
    DEFAULT_JUDGE_OPTIONS,
  );
  assert.deepEqual(
    look.underWay.map(({ subject }) => subject),
    ['PersistentVolumeClaim default/new', 'VolumeAttachment va-2'],
  );
  assert.deepEqual(
    obstacles(look).map(({ subject }) => subject),
    ['PersistentVolumeClaim default/new'],
  );
});
