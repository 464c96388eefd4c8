// The columns of pods as kubectl prints them: restarts, init containers, sidecars, gates.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../api/object.ts';
import { podColumns } from './pod-columns.ts';

const NOW_MS = Date.parse('2026-01-02T00:00:00Z');
const running = { name: 'c', ready: true, restartCount: 0, state: { running: {} } };
const completed = { name: 'c', state: { terminated: { reason: 'Completed', exitCode: 0 } } };
const crashed = { name: 'b', state: { terminated: { reason: 'Error', exitCode: 1 } } };
const restarted = (restartCount: number, finishedAt: string) => ({
  ...running,
  restartCount,
  lastState: { terminated: { finishedAt } },
});
const isReady = { conditions: [{ type: 'Ready', status: 'True' }] };
const sidecar = { name: 's', restartPolicy: 'Always' };
const two = { containers: [{ name: 'b' }, { name: 'c' }] };

interface Row {
  status: object;
  spec?: object;
  metadata?: object;
  cells: Record<string, string>;
}
const table: Record<string, Row> = {
  'a reason of the status wins over its phase': {
    status: { phase: 'Failed', reason: 'Evicted' },
    cells: { Status: 'Evicted', Ready: '0/1', Restarts: '0' },
  },
  'scheduling gates': {
    status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', reason: 'SchedulingGated' }] },
    cells: { Status: 'SchedulingGated' },
  },
  'a gate of another condition': {
    status: { phase: 'Pending', conditions: [{ type: 'Other', reason: 'SchedulingGated' }] },
    cells: { Status: 'Pending' },
  },
  'a restart, and when': {
    status: { phase: 'Running', containerStatuses: [restarted(3, '2026-01-01T23:58:00Z')] },
    cells: { Restarts: '3 (2m ago)', Ready: '1/1' },
  },
  'the latest restart of two containers': {
    spec: two,
    status: {
      phase: 'Running',
      containerStatuses: [restarted(1, '2026-01-01T23:59:00Z'), restarted(2, '2026-01-01T23:58:00Z')],
    },
    cells: { Restarts: '3 (60s ago)', Ready: '2/2' },
  },
  'restarts without a time': {
    status: { phase: 'Running', containerStatuses: [{ ...running, restartCount: 2 }] },
    cells: { Restarts: '2' },
  },
  'a time without restarts': {
    status: { phase: 'Running', containerStatuses: [restarted(0, '2026-01-01T23:58:00Z')] },
    cells: { Restarts: '0' },
  },
  'a container that was killed by a signal': {
    status: { phase: 'Running', containerStatuses: [{ name: 'c', state: { terminated: { signal: 9 } } }] },
    cells: { Status: 'Signal:9', Ready: '0/1' },
  },
  'a container that ended without reason': {
    status: { phase: 'Running', containerStatuses: [{ name: 'c', state: { terminated: { exitCode: 3 } } }] },
    cells: { Status: 'ExitCode:3' },
  },
  'a container that runs and is not ready': {
    status: { phase: 'Running', containerStatuses: [{ ...running, ready: false }] },
    cells: { Status: 'Running', Ready: '0/1' },
  },
  'one container ended and one runs in a ready pod': {
    spec: two,
    status: { phase: 'Running', containerStatuses: [completed, running], ...isReady },
    cells: { Status: 'Running', Ready: '1/2' },
  },
  'one container ended and one runs in a pod that is not ready': {
    spec: two,
    status: { phase: 'Running', containerStatuses: [completed, running] },
    cells: { Status: 'NotReady' },
  },
  'one container ended and one failed': {
    spec: two,
    status: { phase: 'Running', containerStatuses: [completed, crashed] },
    cells: { Status: 'Error' },
  },
  'a failed container that is listed first': {
    spec: two,
    status: { phase: 'Running', containerStatuses: [crashed, completed] },
    cells: { Status: 'Error' },
  },
  'an init container that waits': {
    spec: { containers: [{ name: 'c' }], initContainers: [{ name: 'i' }, { name: 'j' }] },
    status: {
      phase: 'Pending',
      initContainerStatuses: [{ name: 'i', state: { waiting: { reason: 'ErrImagePull' } } }],
    },
    cells: { Status: 'Init:ErrImagePull', Ready: '0/1' },
  },
  'an init container that is about to run': {
    spec: { containers: [{ name: 'c' }], initContainers: [{ name: 'i' }, { name: 'j' }] },
    status: {
      phase: 'Pending',
      initContainerStatuses: [
        { name: 'i', state: { terminated: { exitCode: 0 } } },
        { name: 'j', restartCount: 1, state: { waiting: { reason: 'PodInitializing' } } },
      ],
    },
    cells: { Status: 'Init:1/2', Restarts: '1' },
  },
  'restarts of an init container that is done are not shown': {
    spec: { containers: [{ name: 'c' }], initContainers: [{ name: 'i' }] },
    status: {
      phase: 'Running',
      initContainerStatuses: [{ name: 'i', restartCount: 4, state: { terminated: { exitCode: 0 } } }],
      containerStatuses: [running],
    },
    cells: { Status: 'Running', Restarts: '0', Ready: '1/1' },
  },
  'a sidecar counts': {
    spec: { containers: [{ name: 'c' }], initContainers: [sidecar, { name: 'i' }] },
    status: {
      phase: 'Running',
      initContainerStatuses: [
        { name: 's', started: true, ready: true, restartCount: 2, state: { running: {} } },
      ],
      containerStatuses: [running],
    },
    cells: { Status: 'Running', Restarts: '2', Ready: '2/2' },
  },
  'a sidecar that is not ready': {
    spec: { containers: [{ name: 'c' }], initContainers: [sidecar] },
    status: {
      phase: 'Running',
      initContainerStatuses: [{ name: 's', started: true, ready: false, state: { running: {} } }],
      containerStatuses: [running],
    },
    cells: { Ready: '1/2' },
  },
  'a sidecar that has not started': {
    spec: { containers: [{ name: 'c' }], initContainers: [sidecar] },
    status: {
      phase: 'Pending',
      initContainerStatuses: [{ name: 's', started: false, state: { running: {} } }],
    },
    cells: { Status: 'Init:0/1', Ready: '0/2' },
  },
  'a sidecar that failed in an initialized pod': {
    spec: { containers: [{ name: 'c' }], initContainers: [sidecar] },
    status: {
      phase: 'Running',
      conditions: [{ type: 'Initialized', status: 'True' }],
      initContainerStatuses: [{ name: 's', state: { terminated: { exitCode: 1, reason: 'Error' } } }],
      containerStatuses: [running],
    },
    cells: { Status: 'Init:Error', Ready: '1/2' },
  },
  'a pod that is being deleted': {
    metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
    status: { phase: 'Running', containerStatuses: [running] },
    cells: { Status: 'Terminating' },
  },
  'a pod that is being deleted and has failed': {
    metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
    status: { phase: 'Failed' },
    cells: { Status: 'Failed' },
  },
  'a pod that is being deleted and has succeeded': {
    metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
    status: { phase: 'Succeeded' },
    cells: { Status: 'Succeeded' },
  },
  'a pod that is being deleted on a lost node': {
    metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
    status: { phase: 'Running', reason: 'NodeLost' },
    cells: { Status: 'Unknown' },
  },
  'a pod of a lost node': {
    status: { phase: 'Running', reason: 'NodeLost' },
    cells: { Status: 'NodeLost' },
  },
  'the wide columns': {
    spec: {
      containers: [],
      nodeName: 'n1',
      readinessGates: [{ conditionType: 'a' }, { conditionType: 'b' }, { conditionType: 'c' }],
    },
    status: {
      phase: 'Running',
      podIPs: [{ ip: '10.0.0.1' }],
      nominatedNodeName: 'n2',
      conditions: [
        { type: 'a', status: 'True' },
        { type: 'b', status: 'False' },
      ],
    },
    cells: { IP: '10.0.0.1', Node: 'n1', 'Nominated Node': 'n2', 'Readiness Gates': '1/3' },
  },
  'empty wide columns': {
    spec: { containers: [] },
    status: {},
    cells: { IP: '<none>', Node: '<none>', 'Nominated Node': '<none>', 'Readiness Gates': '<none>' },
  },
};
for (const [name, { status, spec = { containers: [{ name: 'c' }] }, metadata, cells }] of Object.entries(
  table,
)) {
  test(`printing of pods: ${name}`, () => {
    const pod = { metadata: { name: 'x', ...metadata }, spec, status } as unknown as KubeObject;
    const printed = podColumns
      .filter((column) => column.name in cells)
      .map((column) => [column.name, column.cell(pod, NOW_MS)]);
    assert.deepEqual(Object.fromEntries(printed), cells);
  });
}
