import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VolumeRow } from '../../page-messages.ts';
import { offersFor } from './offers.ts';
import { volume } from './testing/rows.ts';

const attachment = (more: Partial<VolumeRow['attachments'][number]> = {}) => ({
  name: 'va',
  node: 'n1',
  attached: true,
  isGoing: false,
  ...more,
});
const user = { name: 'web', node: 'n1', phase: 'Running', isMounted: true };

const cases: { name: string; given: Partial<VolumeRow>; then: string[] }[] = [
  { name: 'well', given: { attachments: [attachment()], pods: [user] }, then: [] },
  { name: 'not provisioned', given: { state: 'stuck', phase: 'Pending' }, then: ['retry-claim'] },
  { name: 'a volume that is lost', given: { state: 'stuck', phase: 'Lost' }, then: [] },
  {
    name: 'not attached',
    given: { state: 'waits', attachments: [attachment({ attached: false })], pods: [user] },
    then: ['retry-claim', 'retry-attachment', 'delete-attachment'],
  },
  {
    name: 'attached where nobody uses it',
    given: { attachments: [attachment()] },
    then: ['delete-attachment'],
  },
  {
    name: 'attached to a node that is lost',
    given: { state: 'stuck', attachments: [attachment()], pods: [user] },
    then: ['retry-claim', 'delete-attachment'],
  },
  {
    name: 'being detached',
    given: { state: 'waits', attachments: [attachment({ isGoing: true })] },
    then: ['retry-claim', 'retry-attachment'],
  },
];
for (const { name, given, then } of cases) {
  test(`what can be done: ${name}`, () => {
    const offers = offersFor({ kind: 'volume', row: volume('a', given) });
    assert.deepEqual(
      offers.map(({ request }) => request.action),
      then,
    );
    for (const { request, confirm } of offers) {
      assert.equal(confirm !== undefined, request.action === 'delete-attachment');
    }
  });
}
