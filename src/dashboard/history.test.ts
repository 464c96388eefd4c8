// Samples from a recording: what was there at each moment, and what was called in between.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { historyOf } from './history.ts';
import type { Sample, Tables } from './page-messages.ts';
import type { RecordedChange, Recording } from './step-source.ts';

const claim = (name: string, phase: string, attached?: boolean) => ({
  subject: 'claim',
  namespace: 'ns',
  name,
  phase,
  attachments: attached === undefined ? [] : [{ name: `va-${name}`, attached }],
});
const sampled = (
  given: { changes?: RecordedChange[]; calls?: Recording['calls'] },
  tables: { volumes?: unknown[]; pods?: unknown[] },
): Sample[] =>
  historyOf({
    recording: { changes: given.changes ?? [], calls: given.calls ?? [], sinceMs: 0 },
    tables: { volumes: [], pods: [], ...tables } as unknown as Tables,
    fromMs: 0,
    toMs: 5_000,
    stepMs: 1_000,
  });

test('what has no recorded change was always as it is', () => {
  const samples = sampled(
    {},
    { volumes: [claim('a', 'Bound', true)], pods: [{ namespace: 'ns', name: 'web', phase: 'Running' }] },
  );
  assert.deepEqual(
    samples.map(({ atMs }) => atMs),
    [0, 1_000, 2_000, 3_000, 4_000, 5_000],
  );
  for (const sample of samples) {
    const { claims, bound, pods, running, attached } = sample;
    assert.deepEqual([claims, bound, pods, running, attached], [1, 1, 1, 1, 1]);
  }
});

test('a life from creation to deletion, phase by phase', () => {
  const key = 'claim ns/a';
  const samples = sampled(
    {
      changes: [
        { atMs: 900, key, verb: 'created', phase: 'Pending' },
        { atMs: 2_500, key, verb: 'changed', phase: 'Bound' },
        { atMs: 4_000, key, verb: 'deleted', phase: 'Bound' },
      ],
    },
    {},
  );
  assert.deepEqual(
    samples.map(({ claims, bound }) => [claims, bound]),
    [
      [0, 0],
      [1, 0],
      [1, 0],
      [1, 1],
      [0, 0],
      [0, 0],
    ],
  );
});

test('what was there before the recording, and came again under its name', () => {
  const samples = sampled(
    {
      changes: [
        { atMs: 1_500, key: 'pod ns/web', verb: 'deleted', phase: 'Running' },
        { atMs: 3_500, key: 'pod ns/web', verb: 'created', phase: 'Pending' },
        { atMs: 4_500, key: 'pod ns/web', verb: 'changed', phase: 'Running' },
        { atMs: 2_500, key: 'attachment va-a', verb: 'changed', phase: 'true' },
      ],
    },
    {
      pods: [{ namespace: 'ns', name: 'web', phase: 'Running' }],
      volumes: [claim('a', 'Bound', true)],
    },
  );
  assert.deepEqual(
    samples.map(({ pods, running }) => [pods, running]),
    [
      [1, 1],
      [1, 1],
      [0, 0],
      [0, 0],
      [1, 0],
      [1, 1],
    ],
  );
});

test('calls are counted where they ended; those before the first sample are not', () => {
  const call = (atMs: number, method: string, hasFailed = false) => ({
    atMs,
    method,
    durationMs: 4,
    hasFailed,
  });
  const samples = sampled(
    {
      calls: [
        call(-10, 'Old'),
        call(1_200, 'CreateVolume'),
        call(1_900, 'CreateVolume', true),
        call(5_000, 'Last'),
      ],
    },
    {},
  );
  assert.deepEqual(
    samples.map(({ calls = [] }) => calls.map(({ method, count, failed }) => `${method} ${count} ${failed}`)),
    [[], [], ['CreateVolume 2 1'], [], [], ['Last 1 0']],
  );
});
