import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memoryLog } from '../runtime/log/log.ts';
import { VirtualClock } from '../runtime/time/virtual-clock.ts';
import { Live } from './live.ts';
import type { Observation, Observed } from './observed.ts';
import type { Message, Step } from './page-messages.ts';
import type { EndedCall, StepSource } from './step-source.ts';

const EMPTY = {
  nowMs: 0,
  pods: [],
  claims: [],
  volumes: [],
  classes: [],
  attachments: [],
  drivers: [],
  csiNodes: [],
  nodes: [],
  snapshots: [],
  groups: [],
  capacities: [],
  leases: [],
  events: [],
  unread: [],
};
const node = (name: string) => ({
  metadata: { name },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
});
const step = (seq: number): Step => ({
  seq,
  atMs: seq,
  by: 'x',
  text: `${seq}`,
  kind: 'api',
  hasFailed: false,
});

function setUp() {
  const clock = new VirtualClock();
  const log = memoryLog();
  const state = {
    nodes: [] as unknown[],
    looks: 0,
    subscribers: 0,
    followers: 0,
    broken: false,
    recordedSinceMs: undefined as number | undefined,
  };
  let changed = (): void => {};
  let happened: (step: Step, call?: EndedCall) => void = () => {};
  const observed: Observed = {
    now() {
      state.looks++;
      if (state.broken) throw new Error('broken');
      return { ...EMPTY, nodes: state.nodes } as unknown as Observation;
    },
    subscribe(onChange) {
      state.subscribers++;
      changed = onChange;
      return () => {
        state.subscribers--;
        changed = () => {};
      };
    },
  };
  const stepSource: StepSource = {
    recent: () => [step(1)],
    of: () => [],
    recording: () => ({ calls: [], changes: [], sinceMs: state.recordedSinceMs }),
    follow(listener) {
      state.followers++;
      happened = (each, call) => listener(each, call);
      return () => void state.followers--;
    },
  };
  const about = {
    version: '1',
    server: 'https://s',
    hasHistory: true,
    unread: [],
    example: '',
    allowsActions: false,
  };
  const live = new Live({ about, observed, stepSource, clock, log });
  const view = () => {
    const messages: Message[] = [];
    const leave = live.join((message) => messages.push(message));
    return { messages, leave, kinds: () => messages.map(({ kind }) => kind) };
  };
  return {
    clock,
    log,
    state,
    view,
    change: (...nodes: string[]) => {
      state.nodes = nodes.map(node);
      changed();
    },
    happen: (each: Step, call?: EndedCall) => happened(each, call),
  };
}

describe('Live', () => {
  it('sends everything first, then coalesced changes', async () => {
    const { clock, view, change } = setUp();
    const { messages } = view();
    const [first] = messages;
    assert.ok(first?.kind === 'all');
    assert.deepEqual(first.tables.nodes, []);
    assert.deepEqual(first.steps, [step(1)]);
    change('a');
    change('a', 'b');
    await clock.advance(300);
    assert.equal(messages.length, 2);
    const second = messages[1];
    assert.ok(second?.kind === 'changes');
    assert.deepEqual(
      second.changes.nodes?.put.map(({ id }) => id),
      ['a', 'b'],
    );
    assert.deepEqual(Object.keys(second.changes), ['nodes']);
  });

  it('does no work without viewers', async () => {
    const { clock, state, view, change } = setUp();
    await clock.advance(10_000);
    assert.deepEqual([state.looks, state.subscribers, state.followers], [0, 0, 0]);
    const one = view();
    const other = view();
    one.leave();
    one.leave();
    assert.deepEqual([state.subscribers, state.followers], [1, 1]);
    other.leave();
    assert.deepEqual([state.subscribers, state.followers], [0, 0]);
    const { looks } = state;
    change('a');
    await clock.advance(60_000);
    assert.equal(state.looks, looks);
    assert.deepEqual(one.kinds(), ['all']);
    const later = view();
    const [all] = later.messages;
    assert.ok(all?.kind === 'all');
    assert.deepEqual(
      all.tables.nodes.map(({ id }) => id),
      ['a'],
    );
    later.leave();
  });

  it('tells steps together, and figures of calls once a second', async () => {
    const { clock, view, happen } = setUp();
    const { messages } = view();
    happen(step(2), { method: 'CreateVolume', durationMs: 4, hasFailed: false });
    happen(step(3), { method: 'CreateVolume', durationMs: 9, hasFailed: true });
    happen(step(4));
    await clock.advance(300);
    assert.deepEqual(messages.slice(1), [{ kind: 'steps', steps: [step(2), step(3), step(4)] }]);
    await clock.advance(700);
    const sample = messages.at(-1);
    assert.ok(sample?.kind === 'sample');
    assert.deepEqual(sample.sample.calls, [
      { method: 'CreateVolume', count: 2, failed: 1, medianMs: 4, worstMs: 9 },
    ]);
    await clock.advance(1000);
    const next = messages.at(-1);
    assert.ok(next?.kind === 'sample');
    assert.deepEqual(next.sample.calls, []);
  });

  it('has samples of the time before anybody looked, where that was recorded', async () => {
    const { clock, state, view } = setUp();
    state.recordedSinceMs = clock.now();
    await clock.advance(90_000);
    const [first] = view().messages;
    assert.ok(first?.kind === 'all');
    assert.equal(first.samples.length, 92);
    assert.equal(first.samples.at(-1)?.atMs, clock.now());
    await clock.advance(86_400_000);
    const [later] = view().messages;
    assert.ok(later?.kind === 'all');
    assert.equal(later.samples.length, 600, 'the last ten minutes');
  });

  it('looks again without a change, since sentences name durations', async () => {
    const { clock, state, view } = setUp();
    view();
    const { looks } = state;
    await clock.advance(5_500);
    assert.equal(state.looks, looks + 1);
  });

  it('reports an error, and continues once it is over', async () => {
    const { clock, log, state, view, change } = setUp();
    const { messages, kinds } = view();
    state.broken = true;
    change('a');
    await clock.advance(300);
    assert.deepEqual(messages.at(-1), { kind: 'trouble', says: 'the rows could not be made: broken' });
    assert.match(log.text(), /could not make the rows/);
    state.broken = false;
    change('a', 'b');
    await clock.advance(300);
    assert.deepEqual(kinds(), ['all', 'trouble', 'changes']);
  });
});
