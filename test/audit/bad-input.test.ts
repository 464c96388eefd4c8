// Drivers that list nothing, page badly, list other people's volumes, or die in the middle: reported, and nothing is deleted.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { ListVolumesResponse_EntrySchema } from '../../src/csi/generated/csi/v1/csi_pb.ts';
import type { Behaviour } from '../../src/csi/testing/scripted-driver.ts';
import { create } from '../../src/wire/protobuf/create.ts';
import { AT_ONCE, auditWorld } from './world.ts';

const TIMEOUT = { timeout: 120_000 };
const entry = (volumeId: string) => create(ListVolumesResponse_EntrySchema, { volume: { volumeId } });
const page = (nextToken: string, ...ids: string[]): Behaviour => ({
  answer: { entries: ids.map(entry), nextToken },
});

const listings: [name: string, behaviours: Behaviour[], problem: RegExp][] = [
  [
    'gives a token twice',
    [page('a', 'v1'), page('a', 'v2'), page('a', 'v3')],
    /gives the page token "a" twice/,
  ],
  ['goes in circles', [page('a', 'v1'), page('b', 'v2'), page('a', 'v1')], /twice/],
  ['lists a volume on two pages', [page('a', 'v1'), page('', 'v1')], /lists "v1" twice: its pages overlap/],
  ['lists a volume without an ID', [page('', '')], /lists a volume without an ID/],
  [
    'calls its own token invalid, again and again',
    Array.from({ length: 3 }, () => [page('a', 'v1'), { fail: 'ABORTED' as const }]).flat(),
    /did not come to its end/,
  ],
  ['dies in the middle', [page('a', 'v1'), { fail: 'UNAVAILABLE' }], /did not come to its end/],
  ['fails', [{ fail: 'INTERNAL', message: 'the array is on fire' }], /the array is on fire/],
];

for (const [name, behaviours, problem] of listings) {
  test(
    `[AUD-1] a driver that ${name}: reported, nothing is concluded and nothing is done`,
    TIMEOUT,
    async (t) => {
      const { driver, audit, run, leak, directory, makeVolume } = await auditWorld(t);
      leak('leaked');
      await makeVolume('pv-gone', 'never-was');
      const plan = join(directory, 'plan.json');
      await run(...AT_ONCE, '--exclusive', '--plan-out', plan);
      driver.script('ListVolumes', ...behaviours);
      const { code, findings, problems } = await audit('--exclusive');
      assert.equal(code, 4);
      assert.deepEqual(findings, []);
      assert.match(problems.join('\n'), problem);
      driver.script('ListVolumes', ...behaviours);
      const applied = await run('apply', plan, ...AT_ONCE, '--exclusive');
      assert.equal(applied.code, 1);
      assert.match(applied.stderr, /the audit is not complete; nothing was done/);
      assert.equal(driver.volumes.has('leaked'), true);
      assert.equal(driver.callsOf('DeleteVolume').length, 0);
    },
  );
}

test('[AUD-1] a token that became invalid once: the list is read again', TIMEOUT, async (t) => {
  const { driver, audit, leak } = await auditWorld(t);
  leak('leaked');
  driver.script('ListVolumes', page('a', 'v1'), { fail: 'ABORTED' });
  const { findings, problems } = await audit('--exclusive');
  assert.deepEqual(problems, []);
  assert.deepEqual(
    findings.map(({ id }) => id),
    ['volume-leaked/leaked'],
  );
});

test(
  '[AUD-1] a driver that lists nothing: what the cluster alone can tell is still compared',
  TIMEOUT,
  async (t) => {
    const { audit, leak } = await auditWorld(t, { controller: ['CREATE_DELETE_VOLUME'] });
    leak('leaked');
    const { code, findings, limits } = await audit('--exclusive');
    assert.equal(code, 4);
    assert.deepEqual(findings, []);
    assert.match(limits.join(), /lacks LIST_VOLUMES/);
  },
);

test(
  '[AUD-1] a driver that leaves a volume out, and knows it when asked: its list is wrong, not the cluster',
  TIMEOUT,
  async (t) => {
    const { driver, audit, leak, makeVolume } = await auditWorld(t, {
      controller: ['CREATE_DELETE_VOLUME', 'LIST_VOLUMES', 'GET_VOLUME'],
    });
    leak('hidden');
    await makeVolume('pv-1', 'hidden');
    driver.always('ListVolumes', { answer: { entries: [] } });
    const { findings, problems } = await audit();
    assert.deepEqual(findings, []);
    assert.match(problems.join(), /does not list hidden, and says that it exists/);
  },
);

test('[AUD-1] other people’s volumes are named as possibly theirs, and never planned', TIMEOUT, async (t) => {
  const { driver, audit, run, leak, directory } = await auditWorld(t);
  for (const id of ['theirs-1', 'vol-pvc-99999999-2222-3333-4444-555555555555']) leak(id);
  const { code, findings } = await audit();
  assert.equal(code, 4);
  for (const { severity, does, advice } of findings) {
    assert.deepEqual([severity, does], ['doubt', undefined]);
    assert.match(advice ?? '', /may be another cluster’s/);
  }
  assert.equal(findings.length, 2);
  const plan = join(directory, 'plan.json');
  assert.match((await run(...AT_ONCE, '--plan-out', plan)).stdout, /0 steps written/);
  assert.match((await run('apply', plan, ...AT_ONCE)).stdout, /the plan has no steps/);
  assert.equal(driver.volumes.size, 2);
});

test(
  '[AUD-1] a driver that refuses a deletion ends the plan there, and says what was done',
  TIMEOUT,
  async (t) => {
    const { driver, run, leak, directory } = await auditWorld(t);
    for (const id of ['a', 'b', 'c']) leak(id);
    const plan = join(directory, 'plan.json');
    await run(...AT_ONCE, '--exclusive', '--plan-out', plan);
    driver.script('DeleteVolume', {}, { fail: 'FAILED_PRECONDITION', message: 'busy' });
    const applied = await run('apply', plan, ...AT_ONCE, '--exclusive');
    assert.equal(applied.code, 1);
    assert.match(applied.stdout, /done: DeleteVolume a/);
    assert.match(
      applied.stderr,
      /DeleteVolume b: .*busy.*1 steps were done before, and the rest was not tried/,
    );
    assert.deepEqual([...driver.volumes.keys()], ['b', 'c']);
  },
);
