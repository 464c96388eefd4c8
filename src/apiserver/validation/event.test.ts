import { validateEvent, validateNewEvent } from './event.ts';
import { validateLease } from './lease.ts';
import { rows } from './testing/rows.ts';

const inNamespace = (namespace: string, involved?: string) => ({
  metadata: { namespace },
  involvedObject: involved === undefined ? {} : { namespace: involved },
});
rows(validateEvent, {}, [
  ['an event beside its object', inNamespace('a', 'a'), []],
  ['an event elsewhere', inNamespace('a', 'b'), ['involvedObject.namespace: Invalid value: "b"']],
  ['an event of an object of the cluster', inNamespace('default'), []],
  ['an event of an object of the cluster, with the system', inNamespace('kube-system'), []],
  [
    'an event of an object of the cluster, elsewhere',
    inNamespace('a'),
    ['involvedObject.namespace: Invalid value: ""'],
  ],
]);

const event = {
  metadata: { namespace: 'default' },
  regarding: {},
  eventTime: '2026-01-01T00:00:00Z',
  reportingController: 'c',
  reportingInstance: 'i',
  action: 'a',
  reason: 'r',
  type: 'Normal',
};
rows(validateNewEvent, event, [
  ['a good new event', { note: 'x'.repeat(1024), reason: 'x'.repeat(128) }, []],
  [
    'a new event of nothing',
    {
      eventTime: null,
      reportingController: '',
      reportingInstance: '',
      action: '',
      reason: '',
      type: undefined,
    },
    [
      'eventTime: Req',
      'reportingController: Req',
      'reportingInstance: Req',
      'action: Req',
      'reason: Req',
      'type: Unsupported',
    ],
  ],
  [
    'a new event that is too long',
    { note: 'x'.repeat(1025), reason: 'x'.repeat(129) },
    ['reason: Too long', 'note: Too long'],
  ],
]);

rows(validateLease, {}, [
  ['a good lease', { spec: { leaseDurationSeconds: 1, leaseTransitions: 0 } }, []],
  ['an empty lease', {}, []],
  [
    'a lease of no duration',
    { spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } },
    ['spec.leaseDurationSeconds: Invalid', 'spec.leaseTransitions: Invalid'],
  ],
]);
