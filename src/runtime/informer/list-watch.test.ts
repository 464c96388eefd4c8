// Listing and watching as a table: state and input to state and effects, and what holds for any sequence of inputs.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { KubeObject } from '../../api/object.ts';
import { isNewer } from '../../api/resource-version.ts';
import { KubeError, type KubeErrorReason } from '../kube/kube-error.ts';
import {
  backoffMs,
  type Effect,
  type Input,
  initialState,
  type ListWatchState,
  transition,
} from './list-watch.ts';

function object(name: string, resourceVersion: string): KubeObject {
  const metadata = { name, uid: name, resourceVersion, creationTimestamp: '' };
  return { apiVersion: 'v1', kind: 'Node', metadata };
}

function failure(reason: KubeErrorReason, code: number, retryAfterSeconds?: number): Input {
  const details = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
  return { kind: 'failed', livedMs: 0, error: new KubeError({ reason, code, message: reason, details }) };
}

const paged = initialState({ streams: false, optional: false });
const streaming = initialState({ streams: true, optional: false });
const optional = initialState({ streams: false, optional: true });
const watching: ListWatchState = { ...paged, phase: { name: 'watching', from: '10' }, resourceVersion: '10' };
const midway: ListWatchState = {
  ...paged,
  phase: { name: 'listing', whole: false, continue: 'c', resourceVersion: '9' },
};
const a = object('a', '11');

interface Case {
  name: string;
  given: ListWatchState;
  when: Input;
  then: Partial<ListWatchState>;
  effects: (string | Effect)[];
}

const cases: Case[] = [
  {
    name: 'a page with more to come is staged, and the next is asked for',
    given: paged,
    when: { kind: 'page', items: [a], resourceVersion: '9', continue: 'c' },
    then: midway,
    effects: [{ kind: 'stage', objects: [a] }],
  },
  {
    name: 'the last page becomes the cache, and the watch starts at the version of the first',
    given: midway,
    when: { kind: 'page', items: [a], resourceVersion: '12' },
    then: { phase: { name: 'watching', from: '9' }, resourceVersion: '9' },
    effects: ['stage', 'swap'],
  },
  {
    name: 'a continue token that expired: everything at once',
    given: midway,
    when: failure('Expired', 410),
    then: { phase: { name: 'listing', whole: true } },
    effects: ['unstage'],
  },
  {
    name: 'a list that fails is tried again later',
    given: paged,
    when: failure('InternalError', 500),
    then: { phase: { name: 'waiting', then: 'list' }, failures: 1 },
    effects: ['unstage', 'report', { kind: 'wait', delayMs: 800, orderedMs: 0 }],
  },
  {
    name: 'a server that says when to come back is believed',
    given: paged,
    when: failure('TooManyRequests', 429, 20),
    then: { phase: { name: 'waiting', then: 'list' } },
    effects: ['unstage', 'report', { kind: 'wait', delayMs: 20_000, orderedMs: 20_000 }],
  },
  {
    name: 'a kind that is missing is an error',
    given: paged,
    when: failure('NotFound', 404),
    then: { phase: { name: 'waiting', then: 'list' } },
    effects: ['unstage', 'report', 'wait'],
  },
  {
    name: 'an optional kind that is missing is an empty kind, looked for again',
    given: optional,
    when: failure('NotFound', 404),
    then: { phase: { name: 'waiting', then: 'list' } },
    effects: ['unstage', 'swap', 'absent', 'wait'],
  },
  {
    name: 'an optional kind that may not be read is an empty kind too',
    given: optional,
    when: failure('Forbidden', 403),
    then: { phase: { name: 'waiting', then: 'list' } },
    effects: ['unstage', 'swap', 'absent', 'wait'],
  },
  {
    name: 'an optional kind that was read and now may not be keeps what is cached',
    given: { ...optional, resourceVersion: '10' },
    when: failure('Forbidden', 403),
    then: { phase: { name: 'waiting', then: 'list' }, resourceVersion: '10' },
    effects: ['unstage', 'report', 'wait'],
  },
  {
    name: 'a streaming list stages initial events',
    given: streaming,
    when: { kind: 'event', event: { type: 'ADDED', object: a } },
    then: streaming,
    effects: [{ kind: 'stage', objects: [a] }],
  },
  {
    name: 'an object deleted during a streaming list is taken out again',
    given: streaming,
    when: { kind: 'event', event: { type: 'DELETED', object: a } },
    then: streaming,
    effects: [{ kind: 'unstageOne', object: a }],
  },
  {
    name: 'the end of the initial events swaps the cache, and the stream goes on as the watch',
    given: streaming,
    when: { kind: 'event', event: { type: 'BOOKMARK', resourceVersion: '20', initialEventsEnd: true } },
    then: { phase: { name: 'watching', from: '20' }, resourceVersion: '20' },
    effects: ['swap'],
  },
  {
    name: 'an ordinary bookmark does not end the initial events',
    given: streaming,
    when: { kind: 'event', event: { type: 'BOOKMARK', resourceVersion: '20', initialEventsEnd: false } },
    then: streaming,
    effects: [],
  },
  {
    name: 'a server without streaming lists is listed in pages at once, for good',
    given: streaming,
    when: failure('Invalid', 422),
    then: { phase: { name: 'listing', whole: false }, streams: false },
    effects: ['unstage'],
  },
  {
    name: 'a server that fails inside at a streaming list is listed in pages at once, this time',
    given: streaming,
    when: failure('InternalError', 500),
    then: { phase: { name: 'listing', whole: false }, streams: true },
    effects: ['unstage'],
  },
  {
    name: 'a first streaming list that breaks is tried again',
    given: streaming,
    when: failure('Unreachable', 0),
    then: { phase: { name: 'waiting', then: 'list' }, streams: true, streamFailures: 1 },
    effects: ['unstage', 'report', 'wait'],
  },
  {
    name: 'a second streaming list that breaks leads to pages',
    given: { ...streaming, streamFailures: 1 },
    when: failure('Unreachable', 0),
    then: { phase: { name: 'waiting', then: 'list' }, streams: false },
    effects: ['unstage', 'report', 'wait'],
  },
  {
    name: 'an event moves the version on',
    given: { ...watching, failures: 3 },
    when: { kind: 'event', event: { type: 'MODIFIED', object: a } },
    then: { resourceVersion: '11', failures: 0, phase: { name: 'watching', from: '10' } },
    effects: [{ kind: 'apply', type: 'MODIFIED', object: a }],
  },
  {
    name: 'a late event does not move the version back',
    given: watching,
    when: { kind: 'event', event: { type: 'MODIFIED', object: object('a', '9') } },
    then: { resourceVersion: '10' },
    effects: ['apply'],
  },
  {
    name: 'a bookmark moves the version on',
    given: watching,
    when: { kind: 'event', event: { type: 'BOOKMARK', resourceVersion: '100', initialEventsEnd: false } },
    then: { resourceVersion: '100' },
    effects: [],
  },
  {
    name: 'a watch that ends after a while goes on from the last version',
    given: { ...watching, resourceVersion: '15' },
    when: { kind: 'ended', livedMs: 300_000 },
    then: { phase: { name: 'watching', from: '15' } },
    effects: [],
  },
  {
    name: 'a watch that ends at once without an event is a failure',
    given: watching,
    when: { kind: 'ended', livedMs: 5 },
    then: { phase: { name: 'waiting', then: 'watch' }, failures: 1 },
    effects: ['report', { kind: 'wait', delayMs: 800, orderedMs: 0 }],
  },
  {
    name: 'a dropped connection that had brought something is resumed at once',
    given: { ...watching, resourceVersion: '15' },
    when: failure('Unreachable', 0),
    then: { phase: { name: 'watching', from: '15' }, failures: 0 },
    effects: ['report'],
  },
  {
    name: 'a server that is away is asked again later, from the same version',
    given: { ...watching, failures: 2 },
    when: failure('Unreachable', 0),
    then: { phase: { name: 'waiting', then: 'watch' }, failures: 3, resourceVersion: '10' },
    effects: ['report', { kind: 'wait', delayMs: 3200, orderedMs: 0 }],
  },
  {
    name: 'a version that is gone: list now',
    given: watching,
    when: failure('Expired', 410),
    then: { phase: { name: 'listing', whole: false }, failures: 1 },
    effects: ['unstage'],
  },
  {
    name: 'gone again right after the list: list later',
    given: { ...watching, failures: 1 },
    when: failure('Gone', 410),
    then: { phase: { name: 'waiting', then: 'list' }, failures: 2 },
    effects: ['report', 'wait'],
  },
  {
    name: 'garbage three times from the same version: list',
    given: { ...watching, failures: 2 },
    when: failure('BadAnswer', 200),
    then: { phase: { name: 'waiting', then: 'list' } },
    effects: ['report', 'wait'],
  },
  {
    name: 'a watch that is refused as such: list',
    given: watching,
    when: failure('BadRequest', 400),
    then: { phase: { name: 'waiting', then: 'list' } },
    effects: ['report', 'wait'],
  },
  {
    name: 'credentials that are refused may be renewed: the same watch later',
    given: watching,
    when: failure('Unauthorized', 401),
    then: { phase: { name: 'waiting', then: 'watch' } },
    effects: ['report', 'wait'],
  },
  {
    name: 'a cache that is doubted is listed again',
    given: watching,
    when: { kind: 'doubted' },
    then: { phase: { name: 'listing', whole: false }, resourceVersion: watching.resourceVersion },
    effects: ['unstage'],
  },
  {
    name: 'a list that is doubted goes on: it may have begun in time',
    given: midway,
    when: { kind: 'doubted' },
    then: midway,
    effects: [],
  },
  {
    name: 'after waiting, the watch resumes',
    given: { ...watching, phase: { name: 'waiting', then: 'watch' } },
    when: { kind: 'waited', isEarly: false },
    then: { phase: { name: 'watching', from: '10' } },
    effects: [],
  },
  {
    name: 'after waiting, a new list forgets what was staged',
    given: { ...watching, phase: { name: 'waiting', then: 'list' } },
    when: { kind: 'waited', isEarly: false },
    then: { phase: { name: 'listing', whole: false } },
    effects: ['unstage'],
  },
  {
    name: 'after a pause that was cut short the next ones begin short again',
    given: { ...watching, failures: 7, phase: { name: 'waiting', then: 'list' } },
    when: { kind: 'waited', isEarly: true },
    then: { phase: { name: 'listing', whole: false }, failures: 0 },
    effects: ['unstage'],
  },
  {
    name: 'but not for a kind that is absent: that was the answer',
    given: { ...watching, failures: 7, resourceVersion: '', phase: { name: 'waiting', then: 'list' } },
    when: { kind: 'waited', isEarly: true },
    then: { failures: 7 },
    effects: ['unstage'],
  },
];

for (const { name, given, when, then, effects } of cases) {
  test(name, () => {
    const result = transition(given, when);
    for (const [field, value] of Object.entries(then)) {
      assert.deepEqual(result.state[field as keyof ListWatchState], value, field);
    }
    assert.deepEqual(
      result.effects.map((effect, index) => (typeof effects[index] === 'string' ? effect.kind : effect)),
      effects,
    );
  });
}

test('delays double from 800 ms to 30 s', () => {
  assert.deepEqual([1, 2, 3, 6, 7, 1000].map(backoffMs), [800, 1600, 3200, 25_600, 30_000, 30_000]);
});

test('versions compare as numbers where both are numbers', () => {
  assert.ok(isNewer('10', '9'));
  assert.ok(!isNewer('9', '10'));
  assert.ok(!isNewer('10', '10'));
  assert.ok(isNewer('18446744073709551615', '18446744073709551614'));
  assert.ok(isNewer('abc', '10'));
  assert.ok(!isNewer('abc', 'abc'));
  assert.ok(!isNewer('abc', '10', 'older'));
});

const input: fc.Arbitrary<Input> = fc.oneof(
  fc.record({
    kind: fc.constant('page' as const),
    items: fc.constant([a]),
    resourceVersion: fc.nat(50).map((version) => String(version + 1)),
  }),
  fc.record({
    kind: fc.constant('event' as const),
    event: fc
      .nat(50)
      .map((version) => ({ type: 'ADDED' as const, object: object('a', String(version + 1)) })),
  }),
  fc.constant<Input>({
    kind: 'event',
    event: { type: 'BOOKMARK', resourceVersion: '30', initialEventsEnd: true },
  }),
  fc.record({ kind: fc.constant('ended' as const), livedMs: fc.nat(5000) }),
  fc.constantFrom(
    failure('Expired', 410),
    failure('Unreachable', 0),
    failure('NotFound', 404),
    failure('Invalid', 422),
    failure('BadAnswer', 200),
  ),
  fc.constant<Input>({ kind: 'waited', isEarly: false }),
  fc.constant<Input>({ kind: 'doubted' }),
);

test('for any input, a wait has a delay, a swap only ends a list, and a watch has a version', () => {
  fc.assert(
    fc.property(
      fc.array(input, { maxLength: 60 }),
      fc.boolean(),
      fc.boolean(),
      (inputs, streams, isOptional) => {
        let state = initialState({ streams, optional: isOptional });
        for (const each of inputs) {
          const before = state.phase.name;
          const next = transition(state, each);
          const kinds = next.effects.map((effect) => effect.kind);
          state = next.state;
          if (kinds.includes('swap')) assert.ok(before === 'listing' || before === 'streaming');
          if (state.phase.name === 'waiting' && before !== 'waiting') assert.ok(kinds.includes('wait'));
          if (state.phase.name === 'watching') assert.notEqual(state.phase.from, '');
          if (kinds.includes('apply')) assert.equal(before, 'watching');
        }
      },
    ),
  );
});
