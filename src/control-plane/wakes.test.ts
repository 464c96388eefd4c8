// Which changes make controllers look at an object, and which concern nobody.

import {
  namespaces,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  resourceQuotas,
  statefulSets,
  storageClasses,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../api/kinds.ts';
import type { Resource } from '../api/object.ts';
import {
  ANN_SELECTED_NODE,
  FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE,
  FINALIZER_PV_PROTECTION,
  FINALIZER_PVC_PROTECTION,
  FINALIZER_SNAPSHOT_CONTENT,
} from '../api/well-known.ts';
import { changesOf } from '../runtime/informer/testing/woken-loops.ts';
import { createBinder } from './binder/binder.ts';
import type { Controller, ControllerPorts } from './controller.ts';
import { createDataSourceValidator } from './data-source-validator/data-source-validator.ts';
import { createEphemeralClaims } from './ephemeral/ephemeral-claims.ts';
import { createNamespaceController } from './namespace/namespace-controller.ts';
import { createPodGc } from './pod-gc/pod-gc.ts';
import { createClaimProtection } from './protection/claim-protection.ts';
import { createVolumeProtection } from './protection/volume-protection.ts';
import { createResourceQuota } from './resource-quota/resource-quota.ts';
import { createSnapshotController, SNAPSHOT_CONTROLLER_DEFAULTS } from './snapshot/snapshot-controller.ts';
import { createStatefulSetController } from './statefulset/statefulset-controller.ts';
import { deleting, objectsLike, testWakes, type WakeRow } from './testing/wake-rows.ts';

const { deletionTimestamp } = deleting.metadata;
const inNamespace = { metadata: { namespace: 'ns' } };
const claim = objectsLike('c', { ...inNamespace, spec: { storageClassName: 'slow' } });
const volume = objectsLike('pv', { spec: { storageClassName: 'slow' } });
const pod = objectsLike('p', inNamespace);
const node = objectsLike('n');
const snapshot = objectsLike('s', { ...inNamespace, spec: { source: { persistentVolumeClaimName: 'c' } } });
const content = objectsLike('sc', {
  metadata: { finalizers: [FINALIZER_SNAPSHOT_CONTENT] },
  spec: {
    source: { volumeHandle: 'v' },
    volumeSnapshotRef: { name: 's', namespace: 'ns', uid: 'uid-s' },
  },
});
const claims = changesOf(persistentVolumeClaims);
const volumes = changesOf(persistentVolumes);
const podChanges = changesOf(pods);
const nodeChanges = changesOf(nodes);
const snapshots = changesOf(volumeSnapshots);
const contents = changesOf(volumeSnapshotContents);
const namespaceChanges = changesOf(namespaces);
const ephemeral = { spec: { volumes: [{ name: 'v', ephemeral: { volumeClaimTemplate: { spec: {} } } }] } };
const set = objectsLike('web', inNamespace);
const named = (name: string, namespace = 'ns') => ({ ...claim(), metadata: { name, namespace, uid: name } });
const owned = (name: string) => {
  const { metadata, ...rest } = named(name);
  return { ...rest, metadata: { ...metadata, ownerReferences: [{ kind: 'Pod', name: 'web-0', uid: 'x' }] } };
};
const ending = (name: string) => {
  const { metadata, ...rest } = named(name);
  return { ...rest, metadata: { ...metadata, deletionTimestamp } };
};
const label = { metadata: { labels: { a: 'b' } } };

const waitingClaim: [Resource, object][] = [[persistentVolumeClaims, claim()]];
const onNode = { metadata: { annotations: { [ANN_SELECTED_NODE]: 'n' } } };
const [SNAPSHOT, CONTENT, CLAIM] = ['snapshot', 'content', 'claim'].map(
  (each) => `snapshot-controller-${each}`,
) as [string, string, string];

const tables: [name: string, create: (ports: ControllerPorts) => Controller, rows: WakeRow[]][] = [
  [
    'the binder',
    createBinder,
    [
      ['a claim', claims(undefined, claim()), ['claims']],
      [
        'a claim that names a volume',
        claims(undefined, claim({ spec: { volumeName: 'pv' } })),
        ['claims', 'volumes'],
      ],
      ['a label of a claim', claims(claim(), claim(label)), []],
      [
        'another spec of a claim',
        claims(claim(), claim({ spec: { volumeName: 'pv' } })),
        ['claims', 'volumes'],
      ],
      ['a claim that is being deleted', claims(claim(), claim(deleting)), ['claims']],
      ['a claim with a selected node', claims(claim(), claim(onNode)), ['claims']],
      ['another status of a claim', claims(claim(), claim({ status: { phase: 'Pending' } })), ['claims']],
      [
        'the end of a claim',
        claims(claim(), undefined),
        ['volumes'],
        [[persistentVolumes, volume({ spec: { claimRef: { namespace: 'ns', name: 'c' } } })]],
      ],
      [
        'the end of a claim that no volume names',
        claims(claim(), undefined),
        [],
        [[persistentVolumes, volume()]],
      ],
      ['a volume', volumes(undefined, volume()), ['volumes'], waitingClaim],
      [
        'an available volume',
        volumes(undefined, volume({ status: { phase: 'Available' } })),
        ['claims', 'volumes'],
        waitingClaim,
      ],
      [
        'an available volume of another class',
        volumes(undefined, volume({ spec: { storageClassName: 'fast' }, status: { phase: 'Available' } })),
        ['volumes'],
        waitingClaim,
      ],
      [
        'a volume that is reserved for the claim',
        volumes(undefined, volume({ spec: { claimRef: { namespace: 'ns', name: 'c' } } })),
        ['claims', 'volumes'],
        waitingClaim,
      ],
      [
        'a volume that a claim names',
        volumes(undefined, volume()),
        ['claims', 'volumes'],
        [[persistentVolumeClaims, claim({ spec: { volumeName: 'pv' } })]],
      ],
      ['a finalizer of a volume', volumes(volume(), volume({ metadata: { finalizers: ['a/b'] } })), []],
      ['a label of a volume', volumes(volume(), volume(label)), ['volumes']],
      [
        'the end of a volume',
        volumes(volume(), undefined),
        ['claims'],
        [[persistentVolumeClaims, claim({ spec: { volumeName: 'pv' } })]],
      ],
      ['the end of a volume that nobody names', volumes(volume(), undefined), [], waitingClaim],
      ['a node', nodeChanges(undefined, node()), [], waitingClaim],
      [
        'the selected node',
        nodeChanges(undefined, node()),
        ['claims'],
        [[persistentVolumeClaims, claim(onNode)]],
      ],
      [
        'a label of the selected node',
        nodeChanges(node(), node(label)),
        ['claims'],
        [[persistentVolumeClaims, claim(onNode)]],
      ],
      [
        'the status of the selected node',
        nodeChanges(node(), node({ status: { phase: 'x' } })),
        [],
        [[persistentVolumeClaims, claim(onNode)]],
      ],
      [
        'the class of a waiting claim',
        changesOf(storageClasses)(undefined, objectsLike('slow')()),
        ['claims'],
        waitingClaim,
      ],
      ['another class', changesOf(storageClasses)(undefined, objectsLike('fast')()), [], waitingClaim],
    ],
  ],
  [
    'the snapshot controller',
    (ports) => createSnapshotController(ports, { ...SNAPSHOT_CONTROLLER_DEFAULTS, groups: false }),
    [
      ['a snapshot', snapshots(undefined, snapshot()), [SNAPSHOT]],
      ['a label of a snapshot', snapshots(snapshot(), snapshot(label)), []],
      ['a snapshot that is being deleted', snapshots(snapshot(), snapshot(deleting)), [SNAPSHOT]],
      ['another one of that name', snapshots(snapshot(), snapshot({ metadata: { uid: 'x' } })), [SNAPSHOT]],
      [
        'a finalizer that is gone',
        snapshots(snapshot({ metadata: { finalizers: ['a/b'] } }), snapshot()),
        [SNAPSHOT],
      ],
      ['a finalizer that is new', snapshots(snapshot(), snapshot({ metadata: { finalizers: ['a/b'] } })), []],
      [
        'another spec',
        snapshots(snapshot(), snapshot({ spec: { volumeSnapshotClassName: 'x' } })),
        [SNAPSHOT],
      ],
      ['its own status', snapshots(snapshot(), snapshot({ status: { error: {} } })), []],
      [
        'a snapshot that is ready',
        snapshots(snapshot(), snapshot({ status: { readyToUse: true } })),
        [CLAIM],
      ],
      ['the end of a snapshot', snapshots(snapshot(), undefined), [CLAIM]],
      [
        'the end of a snapshot with a content',
        snapshots(snapshot({ status: { boundVolumeSnapshotContentName: 'sc' } }), undefined),
        [CONTENT, CLAIM],
        [[volumeSnapshotContents, content(deleting)]],
      ],
      ['a content', contents(undefined, content()), []],
      [
        'a content without its finalizer',
        contents(undefined, content({ metadata: { finalizers: [] } })),
        [CONTENT],
      ],
      [
        'the content of a snapshot',
        contents(undefined, content()),
        [SNAPSHOT],
        [[volumeSnapshots, snapshot()]],
      ],
      [
        'the content that another snapshot names',
        contents(undefined, content()),
        [SNAPSHOT],
        [
          [
            volumeSnapshots,
            {
              ...snapshot({ spec: { source: { volumeSnapshotContentName: 'sc' } } }),
              metadata: { name: 'x', namespace: 'ns', uid: 'x' },
            },
          ],
        ],
      ],
      [
        'the class of a snapshot without a content',
        changesOf(volumeSnapshotClasses)(undefined, objectsLike('x')()),
        [SNAPSHOT],
        [[volumeSnapshots, snapshot()]],
      ],
      [
        'a class, where each snapshot has its content',
        changesOf(volumeSnapshotClasses)(undefined, objectsLike('x')()),
        [],
        [[volumeSnapshots, snapshot({ status: { boundVolumeSnapshotContentName: 'sc' } })]],
      ],
      ['a claim', claims(undefined, claim()), []],
      [
        'a protected claim',
        claims(undefined, claim({ metadata: { finalizers: [FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE] } })),
        [CLAIM],
      ],
      [
        'a claim that becomes protected',
        claims(claim(), claim({ metadata: { finalizers: [FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE] } })),
        [CLAIM],
      ],
      [
        'a label of a protected claim',
        claims(
          claim({ metadata: { finalizers: [FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE] } }),
          claim({ metadata: { ...label.metadata, finalizers: [FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE] } }),
        ),
        [CLAIM],
      ],
      [
        'a protected claim that is being deleted',
        claims(
          claim({ metadata: { finalizers: [FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE] } }),
          claim({ metadata: { ...deleting.metadata, finalizers: [FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE] } }),
        ),
        [CLAIM],
      ],
      [
        'an annotation of a protected claim',
        claims(
          claim({ metadata: { finalizers: [FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE] } }),
          claim({ metadata: { annotations: {}, finalizers: [FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE] } }),
        ),
        [],
      ],
      [
        'the claim of a snapshot without a content',
        claims(undefined, claim()),
        [SNAPSHOT],
        [[volumeSnapshots, snapshot()]],
      ],
      [
        'the claim of a snapshot with its content',
        claims(undefined, claim()),
        [],
        [[volumeSnapshots, snapshot({ status: { boundVolumeSnapshotContentName: 'sc' } })]],
      ],
      [
        'a phase of the claim',
        claims(claim(), claim({ status: { phase: 'Bound' } })),
        [SNAPSHOT],
        [[volumeSnapshots, snapshot()]],
      ],
      ['a label of the claim', claims(claim(), claim(label)), [], [[volumeSnapshots, snapshot()]]],
    ],
  ],
  [
    'the protection of claims',
    createClaimProtection,
    [
      ['a claim without the finalizer', claims(undefined, claim()), ['claim-protection']],
      [
        'a claim with it',
        claims(undefined, claim({ metadata: { finalizers: [FINALIZER_PVC_PROTECTION] } })),
        [],
      ],
      [
        'a claim with it that is being deleted',
        claims(claim(), claim({ metadata: { deletionTimestamp, finalizers: [FINALIZER_PVC_PROTECTION] } })),
        ['claim-protection'],
      ],
      ['a claim without it that is being deleted', claims(claim(), claim(deleting)), []],
    ],
  ],
  [
    'the protection of volumes',
    createVolumeProtection,
    [
      ['a volume without the finalizer', volumes(undefined, volume()), ['volume-protection']],
      [
        'a volume with it',
        volumes(undefined, volume({ metadata: { finalizers: [FINALIZER_PV_PROTECTION] } })),
        [],
      ],
      [
        'the end of a bound claim',
        claims(claim({ spec: { volumeName: 'pv' } }), undefined),
        ['volume-protection'],
      ],
      ['the end of another claim', claims(claim(), undefined), []],
    ],
  ],
  [
    'the namespace controller',
    (ports) => createNamespaceController(ports as never),
    [
      [
        'a namespace',
        namespaceChanges(undefined, objectsLike('x', { spec: { finalizers: ['kubernetes'] } })()),
        [],
      ],
      [
        'a namespace that is being deleted',
        namespaceChanges(undefined, objectsLike('x', { spec: { finalizers: ['kubernetes'] } })(deleting)),
        ['namespaces'],
      ],
      [
        'a namespace that others keep',
        namespaceChanges(undefined, objectsLike('x', { spec: { finalizers: ['a/b'] } })(deleting)),
        [],
      ],
    ],
  ],
  [
    'the garbage collector of pods',
    createPodGc,
    [
      ['a pod', podChanges(undefined, pod()), []],
      ['a pod that is deleted before it is scheduled', podChanges(pod(), pod(deleting)), ['pod-garbage']],
      ['a pod without its node', podChanges(undefined, pod({ spec: { nodeName: 'n' } })), ['pod-garbage']],
      ['a pod with its node', podChanges(undefined, pod({ spec: { nodeName: 'n' } })), [], [[nodes, node()]]],
    ],
  ],
  [
    'the claims of ephemeral volumes',
    createEphemeralClaims,
    [
      ['a pod with an ephemeral volume', podChanges(undefined, pod(ephemeral)), ['ephemeral-claims']],
      [
        'a pod without one',
        podChanges(undefined, pod({ spec: { volumes: [{ name: 'e', emptyDir: {} }] } })),
        [],
      ],
      ['a pod that is being deleted', podChanges(pod(), pod({ ...ephemeral, ...deleting })), []],
      ['a pod that has ended', podChanges(pod(), pod({ ...ephemeral, status: { phase: 'Failed' } })), []],
      [
        'the end of its claim',
        claims({ ...claim(), metadata: { name: 'p-v', namespace: 'ns', uid: 'x' } }, undefined),
        ['ephemeral-claims'],
        [[pods, pod(ephemeral)]],
      ],
      ['the end of another claim', claims(claim(), undefined), [], [[pods, pod(ephemeral)]]],
    ],
  ],
  [
    'the controller of StatefulSets',
    createStatefulSetController,
    [
      ['a set', changesOf(statefulSets)(undefined, set()), ['statefulsets']],
      ['a changed set', changesOf(statefulSets)(set(), set(label)), ['statefulsets']],
      ['a member', podChanges(undefined, named('web-0')), ['statefulsets'], [[statefulSets, set()]]],
      [
        'a changed member',
        podChanges(named('web-0'), named('web-0')),
        ['statefulsets'],
        [[statefulSets, set()]],
      ],
      [
        'the end of a member',
        podChanges(named('web-0'), undefined),
        ['statefulsets'],
        [[statefulSets, set()]],
      ],
      ['a member of a set that is gone', podChanges(undefined, named('web-0')), []],
      ['a pod without an ordinal', podChanges(undefined, named('web')), [], [[statefulSets, set()]]],
      ['a pod of another set', podChanges(undefined, named('db-0')), [], [[statefulSets, set()]]],
      ['a member’s claim', claims(undefined, named('data-web-0')), ['statefulsets'], [[statefulSets, set()]]],
      [
        'a member’s claim that loses its owner',
        claims(owned('data-web-0'), named('data-web-0')),
        ['statefulsets'],
        [[statefulSets, set()]],
      ],
      [
        'a member’s claim that is being deleted',
        claims(named('data-web-0'), ending('data-web-0')),
        ['statefulsets'],
        [[statefulSets, set()]],
      ],
      [
        'another status of a member’s claim',
        claims(named('data-web-0'), { ...named('data-web-0'), status: { phase: 'Bound' } }),
        [],
        [[statefulSets, set()]],
      ],
      [
        'the end of a member’s claim',
        claims(named('data-web-0'), undefined),
        ['statefulsets'],
        [[statefulSets, set()]],
      ],
      [
        'the end of a claim without an ordinal',
        claims(named('data-web'), undefined),
        [],
        [[statefulSets, set()]],
      ],
      ['the end of another set’s claim', claims(named('data-db-0'), undefined), [], [[statefulSets, set()]]],
      [
        'the end of a claim in another namespace',
        claims(named('data-web-0', 'other'), undefined),
        [],
        [[statefulSets, set()]],
      ],
    ],
  ],
  [
    'the validator of data sources',
    createDataSourceValidator,
    [
      ['a claim', claims(undefined, claim()), ['pvc']],
      ['a change of a claim', claims(claim(), claim(label)), []],
      ['another claim of that name', claims(claim(), claim({ metadata: { uid: 'x' } })), ['pvc']],
    ],
  ],
  [
    'the usage of quotas',
    createResourceQuota,
    [
      ['a quota', changesOf(resourceQuotas)(undefined, objectsLike('q', inNamespace)()), ['resource-quota']],
      [
        'a claim',
        claims(undefined, claim()),
        ['resource-quota'],
        [[resourceQuotas, objectsLike('q', inNamespace)()]],
      ],
      [
        'a claim in another namespace',
        claims(undefined, claim()),
        [],
        [[resourceQuotas, objectsLike('q', { metadata: { namespace: 'other' } })()]],
      ],
      [
        'the end of a claim',
        claims(claim(), undefined),
        ['resource-quota'],
        [[resourceQuotas, objectsLike('q', inNamespace)()]],
      ],
    ],
  ],
];
for (const [name, create, rows] of tables) testWakes(name, create, rows);
