import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Body, changedFields, rows } from './testing/rows.ts';
import { validateStatefulSetUpdate, validateWorkload, validateWorkloadUpdate } from './workload.ts';

const labels = { app: 'web' };
const podSpec = { containers: [{ name: 'c', image: 'i' }] };
const template = { metadata: { labels }, spec: podSpec };
const spec = { selector: { matchLabels: labels }, template };
const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const set = (change: Body) => ({ spec: { ...spec, ...change } });
const mounting = {
  ...podSpec,
  containers: [{ name: 'c', image: 'i', volumeMounts: [{ name: 'data', mountPath: '/d' }] }],
};
rows(validateWorkload, { kind: 'StatefulSet' }, [
  ['a good set', set({ replicas: 0 }), []],
  ['fewer than no replicas', set({ replicas: -1 }), ['spec.replicas: Invalid value: -1']],
  [
    'no selector',
    set({ selector: undefined }),
    ['spec.selector: Required value', 'spec.template.metadata.labels: Invalid value'],
  ],
  [
    'an empty selector',
    set({ selector: {} }),
    ['spec.selector: Invalid value: {}: empty selector is invalid for statefulset'],
  ],
  [
    'a selector of other pods',
    set({ selector: { matchLabels: { app: 'db' } } }),
    ['spec.template.metadata.labels: Invalid'],
  ],
  [
    'a template without labels',
    set({ template: { spec: podSpec } }),
    ['spec.template.metadata.labels: Invalid value: {}'],
  ],
  [
    'a selector that is none',
    set({ selector: { matchExpressions: [{ key: 'a', operator: 'Near' }] } }),
    ['spec.selector.matchExpressions[0].operator: Invalid'],
  ],
  [
    'no containers',
    set({ template: { metadata: { labels } } }),
    ['spec.template.spec.containers: Required value'],
  ],
  [
    'pods that end',
    set({ template: { ...template, spec: { ...podSpec, restartPolicy: 'Never' } } }),
    ['spec.template.spec.restartPolicy: Unsupported'],
  ],
  [
    'pods that run for ever',
    set({ template: { ...template, spec: { ...podSpec, restartPolicy: 'Always' } } }),
    [],
  ],
  [
    'a mount of a claim',
    set({
      template: { ...template, spec: mounting },
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim }],
    }),
    [],
  ],
  [
    'a mount of nothing',
    set({ template: { ...template, spec: mounting } }),
    ['spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"'],
  ],
  [
    'a claim under the name of a volume',
    set({
      template: { ...template, spec: { ...mounting, volumes: [{ name: 'data', emptyDir: {} }] } },
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim }],
    }),
    [],
  ],
  [
    'a claim that is none',
    set({ volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: {} }] }),
    [
      'spec.volumeClaimTemplates[0].spec.accessModes: Req',
      'spec.volumeClaimTemplates[0].spec.resources[storage]: Req',
    ],
  ],
]);

test('immutable fields of a StatefulSet, and the selector of any workload', () => {
  const before = set({
    serviceName: 's',
    volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim }],
  });
  const changed = (change: Body) =>
    changedFields(validateStatefulSetUpdate, before, { spec: { ...before.spec, ...change } });
  assert.deepEqual(changed({ replicas: 5, template: {} }), []);
  assert.deepEqual(changed({ serviceName: 'other' }), ['spec']);
  assert.deepEqual(changed({ volumeClaimTemplates: [] }), ['spec']);
  assert.deepEqual(changed({ podManagementPolicy: 'Parallel' }), ['spec']);
  assert.deepEqual(validateStatefulSetUpdate(set({}) as never, before as never, 'status'), []);
  const selector = { matchLabels: { app: 'db' } };
  assert.deepEqual(changedFields(validateWorkloadUpdate, before, { spec: { ...before.spec, selector } }), [
    'spec.selector',
  ]);
  assert.deepEqual(validateWorkloadUpdate({ spec: { selector } } as never, before as never, 'status'), []);
});

test('the counts in a status are possible ones', () => {
  const found = (kind: string, status: Body, before: Body = {}) =>
    validateWorkloadUpdate({ kind, status } as never, { kind, status: before } as never, 'status').map(
      ({ field, message }) => `${field}: ${message}`,
    );
  assert.deepEqual(found('StatefulSet', { replicas: 3, readyReplicas: 3, availableReplicas: 2 }), []);
  assert.deepEqual(found('DaemonSet', { numberReady: -1 }), [
    'status.numberReady: Invalid value: -1: must be greater than or equal to 0',
  ]);
  assert.deepEqual(found('StatefulSet', { replicas: 1, updatedReplicas: 2 }), [
    'status.updatedReplicas: Invalid value: 2: cannot be greater than status.replicas',
  ]);
  assert.deepEqual(found('Deployment', { replicas: 2, readyReplicas: 1, availableReplicas: 2 }), [
    'status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas',
  ]);
  assert.deepEqual(found('DaemonSet', {}, { collisionCount: 1 }), [
    'status.collisionCount: Invalid value: 0: cannot be decremented',
  ]);
});
