// Each stage of a volume's life, from its row.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VolumeRow } from '../../page-messages.ts';
import { describeLifeLine, lifeLine, progressOf, type StageState } from './life-line.ts';

const row = (more: Partial<VolumeRow> = {}): VolumeRow => ({
  id: 'v',
  subject: 'claim',
  namespace: 'ns',
  name: 'data',
  state: 'ok',
  says: '',
  phase: 'Bound',
  isGoing: false,
  createdMs: 0,
  accessModes: [],
  volume: 'pv',
  attachments: [],
  pods: [],
  ...more,
});
const pending = { phase: 'Pending', attachments: [], pods: [] } as const;
const pod = (node: string | undefined, phase = 'Running') => ({
  name: `pod-${node}`,
  phase,
  isMounted: phase === 'Running',
  ...(node === undefined ? {} : { node }),
});
const attached = (node: string) => ({ name: `va-${node}`, node, attached: true, isGoing: false });
const asked = (node: string, error?: string) => ({
  name: `va-${node}`,
  node,
  attached: false,
  isGoing: false,
  ...(error === undefined ? {} : { error }),
});
const unmade = (): VolumeRow => {
  const { volume: _, ...rest } = row(pending);
  return rest;
};

/** One letter per stage. */
const letters: Readonly<Record<string, StageState>> = {
  o: 'ok',
  w: 'working',
  f: 'failed',
  '.': 'not-yet',
  '-': 'not-needed',
};

const cases: { name: string; given: VolumeRow; attachRequired?: boolean; then: string }[] = [
  { name: 'just claimed', given: { ...unmade(), state: 'waits' }, then: 'ow....' },
  { name: 'cannot be provisioned', given: { ...unmade(), state: 'stuck' }, then: 'of....' },
  {
    name: 'waits for the node of its pod',
    given: { ...unmade(), state: 'waits', pods: [pod(undefined, 'Pending')] },
    then: 'ow....',
  },
  {
    name: 'placed before it is provisioned',
    given: { ...unmade(), pods: [pod('n', 'Pending')] },
    then: 'ow.o..',
  },
  { name: 'made, not bound', given: row({ phase: 'Pending', state: 'waits' }), then: 'oow...' },
  { name: 'its volume is lost', given: row({ phase: 'Lost', state: 'stuck' }), then: 'oof...' },
  { name: 'bound, and nobody uses it', given: row(), then: 'ooo...' },
  { name: 'an expansion is stuck: no stage of its way', given: row({ state: 'stuck' }), then: 'ooo...' },
  { name: 'its pod has no node', given: row({ pods: [pod(undefined, 'Pending')] }), then: 'ooow..' },
  {
    name: 'its pod fits no node',
    given: row({ state: 'stuck', pods: [pod(undefined, 'Pending')] }),
    then: 'ooof..',
  },
  { name: 'to be attached', given: row({ pods: [pod('n', 'Pending')] }), then: 'oooow.' },
  {
    name: 'attaching fails',
    given: row({ state: 'waits', pods: [pod('n', 'Pending')], attachments: [asked('n', 'full')] }),
    then: 'oooof.',
  },
  {
    name: 'attached elsewhere still',
    given: row({ state: 'stuck', pods: [pod('n', 'Pending')], attachments: [attached('old')] }),
    then: 'oooof.',
  },
  {
    name: 'to be mounted',
    given: row({ pods: [pod('n', 'Pending')], attachments: [attached('n')] }),
    then: 'ooooow',
  },
  { name: 'in use', given: row({ pods: [pod('n')], attachments: [attached('n')] }), then: 'oooooo' },
  {
    name: 'in use on two nodes, attached to one',
    given: row({ pods: [pod('n'), pod('m', 'Pending')], attachments: [attached('n'), asked('m')] }),
    then: 'ooooww',
  },
  {
    name: 'mounted, while an image is pulled',
    given: row({ pods: [{ ...pod('n', 'Pending'), isMounted: true }], attachments: [attached('n')] }),
    then: 'oooooo',
  },
  {
    name: 'mounted by one pod, another has no node yet',
    given: row({ pods: [pod('n'), pod(undefined, 'Pending')], attachments: [attached('n')] }),
    then: 'ooowoo',
  },
  {
    name: 'a driver that attaches nothing',
    given: row({ pods: [pod('n')] }),
    attachRequired: false,
    then: 'oooo-o',
  },
  {
    name: 'to be mounted without being attached',
    given: row({ pods: [pod('n', 'Pending')] }),
    attachRequired: false,
    then: 'oooo-w',
  },
  { name: 'its pod has ended', given: row({ pods: [pod('n', 'Succeeded')] }), then: 'ooo...' },
  {
    name: 'its pod has ended, and it is attached still',
    given: row({ pods: [pod('n', 'Succeeded')], attachments: [attached('n')] }),
    then: 'ooo.o.',
  },
  {
    name: 'deleted while a pod uses it',
    given: row({ isGoing: true, state: 'waits', pods: [pod('n')], attachments: [attached('n')] }),
    then: 'ooooow',
  },
  {
    name: 'deleted, and cannot be detached',
    given: row({ isGoing: true, state: 'stuck', attachments: [{ ...attached('n'), isGoing: true }] }),
    then: 'ooo.f.',
  },
  {
    name: 'deleted before it was made',
    given: { ...unmade(), isGoing: true, state: 'waits' },
    then: 'w.....',
  },
  { name: 'a free volume', given: row({ subject: 'volume', phase: 'Available' }), then: '.o....' },
  {
    name: 'a volume that was kept',
    given: row({ subject: 'volume', phase: 'Released' }),
    then: '.o....',
  },
  {
    name: 'a volume that is being reclaimed',
    given: row({ subject: 'volume', phase: 'Released', state: 'waits' }),
    then: '.w....',
  },
  {
    name: 'a volume that cannot be reclaimed',
    given: row({ subject: 'volume', phase: 'Failed', state: 'stuck' }),
    then: '.f....',
  },
];

for (const { name, given, attachRequired = true, then } of cases) {
  test(`the life of a volume: ${name}`, () => {
    const states = lifeLine(given, { attachRequired }).map(({ state }) => state);
    assert.deepEqual(
      states,
      [...then].map((letter) => letters[letter]),
    );
  });
}

test('a volume whose driver is not known counts as one that is attached', () => {
  assert.equal(lifeLine(row({ pods: [pod('n')] }))[4]?.state, 'working');
});

test('how far it is: stages that are done, or need not be', () => {
  assert.equal(progressOf(lifeLine(row())), 3);
  assert.equal(progressOf(lifeLine(row({ pods: [pod('n')] }), { attachRequired: false })), 6);
});

test('in words, stages that are alike together', () => {
  assert.equal(
    describeLifeLine(lifeLine(row({ pods: [pod('n', 'Pending')] }))),
    'claimed, provisioned, bound, placed; attached working; mounted not yet',
  );
});
