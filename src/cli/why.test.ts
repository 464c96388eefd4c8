import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Link } from '../why/chain.ts';
import { linesOf } from './why.ts';

const link = (state: Link['state'], subject: string, says: string, todo: string[] = []): Link => ({
  subject,
  state,
  says,
  todo,
  said: state === 'ok' ? [] : ['kubelet said 1m0s ago: FailedMount: no'],
});

test('the answer comes first, then the chain, then what to do', () => {
  const links = [
    link('ok', 'Pod ns/web', 'Pending on node n1'),
    link('ok', 'PersistentVolumeClaim ns/data', 'bound to pv1, 1Gi'),
    link('stuck', 'driver d.csi.test', 'is not on node n1', ['see that the driver runs on n1']),
  ];
  assert.deepEqual(linesOf('Pod ns/web', links, ['leases']), [
    'driver d.csi.test: is not on node n1',
    '  → see that the driver runs on n1',
    '',
    '  ok      Pod ns/web                      Pending on node n1',
    '  ok      PersistentVolumeClaim ns/data   bound to pv1, 1Gi',
    '  STUCK   driver d.csi.test               is not on node n1',
    '        kubelet said 1m0s ago: FailedMount: no',
    '',
    'This account may not list leases, or the server does not serve them: the answer may be incomplete.',
  ]);
  assert.equal(linesOf('Pod ns/web', [], [])[0], 'nothing is wrong with Pod ns/web');
});
