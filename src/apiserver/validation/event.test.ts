import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validateEvent, validateNewEvent, validateNewEventUpdate } from './event.ts';
import { validateLease } from './lease.ts';
import { type Body, changedFields, rows } from './testing/rows.ts';

const inNamespace = (namespace: string, involved?: string) => ({
  metadata: { namespace },
  involvedObject: involved === undefined ? {} : { namespace: involved },
});
const reported = {
  eventTime: '2026-01-01T00:00:00.000000Z',
  reportingComponent: 'c',
  reportingInstance: 'i',
  action: 'a',
  reason: 'r',
};
rows(validateEvent, {}, [
  ['an event beside its object', inNamespace('a', 'a'), []],
  ['an event elsewhere', inNamespace('a', 'b'), ['involvedObject.namespace: Invalid value: "b"']],
  ['an event of an object of the cluster', inNamespace('default'), []],
  [
    'an event of an object of the cluster, with the system',
    inNamespace('kube-system'),
    ['involvedObject.namespace: Invalid value: ""'],
  ],
  [
    'a newer event of an object of the cluster, with the system',
    { ...inNamespace('kube-system'), ...reported },
    [],
  ],
  ['a newer event elsewhere', { ...inNamespace('a', 'b'), ...reported }, []],
  [
    'a newer event that does not say who reports it',
    { ...inNamespace('default'), ...reported, reportingComponent: '' },
    ['reportingComponent: Required value', 'reportingComponent: Invalid', 'reportingComponent: Invalid'],
  ],
  [
    'an event of an object of the cluster, elsewhere',
    inNamespace('a'),
    ['involvedObject.namespace: Invalid value: ""'],
  ],
]);

const event = { metadata: { namespace: 'default' }, involvedObject: {}, type: 'Normal', ...reported };
rows((each: Parameters<typeof validateNewEvent>[0]) => validateNewEvent(each, undefined), event, [
  ['a good new event', { message: 'x'.repeat(1024), reason: 'x'.repeat(128) }, []],
  ['a new event without a time', { eventTime: null, type: undefined }, ['eventTime: Req', 'type: Invalid']],
  [
    'a new event of nothing',
    { reportingInstance: '', action: '', reason: '' },
    ['reportingInstance: Req', 'action: Req', 'reason: Req'],
  ],
  [
    'a new event that is too long',
    { message: 'x'.repeat(1025), reason: 'x'.repeat(129) },
    ['reason: Invalid', 'message: Invalid'],
  ],
  ['a series of one', { series: { count: 1 } }, ['series.count: Invalid', 'series.lastObservedTime: Req']],
  [
    'a new event with the fields of an old one',
    { count: 1, firstTimestamp: '2026-01-01T00:00:00Z', source: { component: 'c' } },
    ['firstTimestamp: Invalid', 'count: Invalid', 'source: Invalid'],
  ],
]);

test('only the series of a new event changes', () => {
  const changed = (after: Body) => changedFields(validateNewEventUpdate, event, { ...event, ...after });
  const series = { count: 2, lastObservedTime: '2026-01-01T00:00:00.000000Z' };
  assert.deepEqual(changed({ series, message: '' }), []);
  assert.deepEqual(changed({ series: { ...series, count: 1 } }), ['series.count']);
  assert.deepEqual(changed({ action: 'b', reportingComponent: 'd' }), ['action', 'reportingController']);
});

rows(validateLease, {}, [
  ['a good lease', { spec: { leaseDurationSeconds: 1, leaseTransitions: 0 } }, []],
  ['an empty lease', {}, []],
  [
    'a lease of no duration',
    { spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } },
    ['spec.leaseDurationSeconds: Invalid', 'spec.leaseTransitions: Invalid'],
  ],
]);
