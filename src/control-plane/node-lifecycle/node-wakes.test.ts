// Which changes wake the controllers of nodes and of the pods on them.

import { leases, nodes, pods } from '../../api/kinds.ts';
import { changesOf } from '../../runtime/informer/testing/woken-loops.ts';
import { createPodGc } from '../pod-gc/pod-gc.ts';
import { deleting, objectsLike, testWakes, type WakeRow } from '../testing/wake-rows.ts';
import { createNodeLifecycle } from './node-lifecycle.ts';

const [NODE, EVICTION] = ['node-lifecycle', 'taint-eviction'] as const;
const node = objectsLike('n', { metadata: { creationTimestamp: '2026-01-01T00:00:00Z' } });
const ready = (status: string, lastHeartbeatTime = 'x') => ({
  status: { conditions: [{ type: 'Ready', status, lastHeartbeatTime }] },
});
const tainted = (effect: string) => ({ spec: { taints: [{ key: 'a', effect }] } });
const pod = objectsLike('p', { metadata: { namespace: 'ns' }, spec: { nodeName: 'n' } });
const tolerant = pod({ spec: { tolerations: [{ key: 'a', operator: 'Exists' }] } });
const lease = (namespace: string, name = 'n') => objectsLike(name, { metadata: { namespace } })();
const nodeChanges = changesOf(nodes);
const podChanges = changesOf(pods);
const leaseChanges = changesOf(leases);
const known: WakeRow[3] = [[nodes, node()]];

testWakes('the lifecycle of nodes', createNodeLifecycle, [
  ['a node', nodeChanges(undefined, node()), [NODE]],
  ['the end of a node', nodeChanges(node(), undefined), [NODE]],
  [
    'a heartbeat of a node that is alive',
    nodeChanges(node(ready('True')), node(ready('True', 'y'))),
    [],
    known,
  ],
  [
    'a node that is not ready any more',
    nodeChanges(node(ready('True')), node(ready('False'))),
    [NODE],
    known,
  ],
  ['a heartbeat of an unknown node', nodeChanges(node(), node({ metadata: { labels: {} } })), [NODE]],
  ['a lease', leaseChanges(undefined, lease('kube-node-lease')), [NODE]],
  ['a lease of a node that is alive', leaseChanges(undefined, lease('kube-node-lease')), [], known],
  ['a renewed lease', leaseChanges(lease('kube-node-lease'), lease('kube-node-lease')), [NODE]],
  ['a lease of another namespace', leaseChanges(undefined, lease('kube-system')), []],
  [
    'a taint',
    nodeChanges(node(), node(tainted('NoExecute'))),
    [NODE, EVICTION],
    [
      [nodes, node()],
      [pods, pod()],
    ],
  ],
  [
    'a taint that evicts nobody',
    nodeChanges(node(), node(tainted('NoSchedule'))),
    [NODE],
    [
      [nodes, node()],
      [pods, pod()],
    ],
  ],
  [
    'a taint that the pod tolerates',
    nodeChanges(node(), node(tainted('NoExecute'))),
    [NODE],
    [
      [nodes, node()],
      [pods, tolerant],
    ],
  ],
  [
    'a pod of a tainted node',
    podChanges(undefined, pod()),
    [EVICTION],
    [[nodes, node(tainted('NoExecute'))]],
  ],
  ['a changed pod of it', podChanges(tolerant, pod()), [EVICTION], [[nodes, node(tainted('NoExecute'))]]],
  ['a tolerant pod of it', podChanges(undefined, tolerant), [], [[nodes, node(tainted('NoExecute'))]]],
  [
    'a pod of another node',
    podChanges(undefined, pod({ spec: { nodeName: 'm' } })),
    [],
    [[nodes, node(tainted('NoExecute'))]],
  ],
  [
    'a pod without a node',
    podChanges(undefined, pod({ spec: { nodeName: undefined } })),
    [],
    [[nodes, node(tainted('NoExecute'))]],
  ],
]);

const outOfService = {
  spec: { taints: [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }] },
  ...ready('False'),
};
const going: WakeRow[3] = [
  [nodes, node()],
  [pods, pod(deleting)],
];
testWakes('the garbage collector of pods', createPodGc, [
  [
    'the end of a node',
    nodeChanges(node(), undefined),
    ['pod-garbage'],
    [
      [nodes, node()],
      [pods, pod()],
    ],
  ],
  [
    'the end of another node',
    nodeChanges(objectsLike('m')(), undefined),
    [],
    [
      [nodes, node()],
      [pods, pod()],
    ],
  ],
  ['a node that is out of service', nodeChanges(node(), node(outOfService)), ['pod-garbage'], going],
  [
    'a node that is out of service, whose pods stay',
    nodeChanges(node(), node(outOfService)),
    [],
    [
      [nodes, node()],
      [pods, pod()],
    ],
  ],
  ['another change of a node', nodeChanges(node(), node(ready('False'))), [], going],
  [
    'another change of one out of service',
    nodeChanges(node(outOfService), node({ ...outOfService, metadata: { labels: {} } })),
    [],
    [
      [nodes, node(outOfService)],
      [pods, pod(deleting)],
    ],
  ],
]);
