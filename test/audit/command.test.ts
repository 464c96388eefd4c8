import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { persistentVolumes, volumeAttachments } from '../../src/api/kinds.ts';
import { AT_ONCE, auditWorld, DRIVER } from './world.ts';

const TIMEOUT = { timeout: 120_000 };
const EXCLUSIVE = '--exclusive';

test(
  '[AUD-1] leaks are found, planned, reviewed and removed, and nothing else is touched',
  TIMEOUT,
  async (t) => {
    const world = await auditWorld(t);
    const { driver, kube, run, audit, leak, directory } = world;
    leak('kept');
    leak('leaked');
    await world.makeVolume('pv-kept', 'kept');
    await world.makeVolume('pv-gone', 'never-was');
    await kube.create(volumeAttachments, {
      metadata: { name: 'va-gone' },
      spec: { attacher: DRIVER, nodeName: 'gone', source: { persistentVolumeName: 'pv-kept' } },
    });
    const shared = await audit();
    assert.equal(shared.code, 3);
    assert.deepEqual(
      shared.findings.map(({ id, severity, does }) => [id, severity, does]),
      [
        ['attachment-stale/va-gone', 'leak', 'delete volumeattachments/va-gone'],
        ['volume-missing/pv-gone', 'leak', 'delete persistentvolumes/pv-gone'],
        ['volume-leaked/leaked', 'doubt', undefined],
      ],
      'a volume that may be another cluster’s is not planned',
    );
    const plan = join(directory, 'plan.json');
    const planned = await run(...AT_ONCE, EXCLUSIVE, '--plan-out', plan);
    assert.equal(planned.code, 3);
    assert.match(planned.stdout, /LEAK {2}volume leaked: .*\n.*\n.*→ would DeleteVolume leaked/);
    assert.equal(driver.callsOf('DeleteVolume').length, 0, 'looking deletes nothing');

    const dry = await run('apply', plan, EXCLUSIVE, ...AT_ONCE, '--dry-run');
    assert.match(dry.stdout, /would DeleteVolume leaked/);
    assert.deepEqual([...driver.volumes.keys()], ['kept', 'leaked']);

    const applied = await run('apply', plan, EXCLUSIVE, ...AT_ONCE);
    assert.equal(applied.code, 0, applied.stderr);
    assert.match(applied.stdout, /done: DeleteVolume leaked\n3 of 3 steps done/);
    assert.deepEqual([...driver.volumes.keys()], ['kept']);
    assert.deepEqual(
      (await kube.list(persistentVolumes)).items
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
        .map(({ metadata }) => metadata.name),
      ['pv-kept'],
    );
    assert.deepEqual((await kube.list(volumeAttachments)).items, []);

    const again = await run('apply', plan, EXCLUSIVE, ...AT_ONCE);
    assert.equal(again.code, 1);
    assert.match(
      again.stderr,
      /the plan is out of date.*nothing was done.*volume-leaked\/leaked: not found any more/,
    );
  },
);

test(
  '[AUD-1] one finding is fixed by its name, and only if something may be done about it',
  TIMEOUT,
  async (t) => {
    const { driver, run, leak } = await auditWorld(t);
    leak('a');
    leak('b');
    const doubtful = await run('fix', 'volume-leaked/a', ...AT_ONCE);
    assert.equal(doubtful.code, 1);
    assert.match(doubtful.stderr, /may be another cluster’s/);
    assert.match(
      (await run('fix', 'volume-leaked/x', ...AT_ONCE)).stderr,
      /there is no finding volume-leaked\/x/,
    );
    assert.match((await run('fix', ...AT_ONCE)).stderr, /fix which/);
    const early = await run('fix', 'volume-leaked/a', EXCLUSIVE, '--confirm-after=0s');
    assert.equal(early.code, 1);
    assert.match(early.stderr, /not seen for the minimum age of 600 s yet.*nothing was done/);
    assert.equal(driver.volumes.size, 2);
    const fixed = await run('fix', 'volume-leaked/a', ...AT_ONCE, EXCLUSIVE);
    assert.equal(fixed.code, 0, fixed.stderr);
    assert.deepEqual([...driver.volumes.keys()], ['b']);
  },
);

test('[AUD-1] nothing is done while something is under way', TIMEOUT, async (t) => {
  const { driver, run, audit, leak, directory, makeClaim } = await auditWorld(t);
  leak('vol-pvc-11111111-2222-3333-4444-555555555555');
  const plan = join(directory, 'plan.json');
  await run(...AT_ONCE, EXCLUSIVE, '--plan-out', plan);
  await makeClaim('new');
  const refused = await run('apply', plan, ...AT_ONCE, EXCLUSIVE);
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr,
    /something is under way.*PersistentVolumeClaim default\/new: its volume is being made/,
  );
  leak('nameless');
  const { findings, underWay } = await audit(EXCLUSIVE);
  assert.deepEqual(
    findings.map(({ id }) => id),
    ['volume-leaked/vol-pvc-11111111-2222-3333-4444-555555555555'],
    'the volume without a name may be the one that is being made',
  );
  assert.equal(underWay[0]?.subject, 'PersistentVolumeClaim default/new');
  assert.equal(driver.callsOf('DeleteVolume').length, 0);
});

const plans: [name: string, change: (text: string) => string, expected: RegExp, code: number][] = [
  ['no JSON', () => 'steps:', /is not a plan: it is not JSON/, 2],
  [
    'another version',
    (text) => text.replace('plan/v1', 'plan/v9'),
    /its version is "berth-audit-plan\/v9"/,
    2,
  ],
  ['no steps', (text) => text.replace('"steps"', '"stairs"'), /its steps are not a list/, 2],
  ['another driver', (text) => text.replace(DRIVER, 'other.csi'), /it is for driver other\.csi/, 1],
  [
    'another cluster',
    (text) => text.replace(/"cluster": ".*?"/, '"cluster": "c"'),
    /it is for another cluster/,
    1,
  ],
  ['a year old', (text) => text.replace(/"seenAt": "\d+/, '"seenAt": "2020'), /it is out of date/, 1],
  [
    'a step that somebody wrote',
    (text) => text.replace('"volumeId": "leaked"', '"volumeId": "kept"'),
    /now it would DeleteVolume leaked/,
    1,
  ],
];
test(
  '[AUD-1] a plan that is broken, foreign, old or changed is refused, and nothing is deleted',
  TIMEOUT,
  async (t) => {
    const { driver, run, leak, directory, makeVolume } = await auditWorld(t);
    leak('kept');
    leak('leaked');
    await makeVolume('pv-kept', 'kept');
    const plan = join(directory, 'plan.json');
    await run(...AT_ONCE, EXCLUSIVE, '--plan-out', plan);
    const good = await readFile(plan, 'utf8');
    for (const [name, change, expected, code] of plans) {
      await writeFile(plan, change(good));
      const ended = await run('apply', plan, ...AT_ONCE, EXCLUSIVE);
      assert.equal(ended.code, code, `${name}: ${ended.stdout}${ended.stderr}`);
      assert.match(ended.stderr, expected, name);
    }
    assert.match((await run('apply', join(directory, 'no-plan'), ...AT_ONCE)).stderr, /cannot read/);
    assert.equal(driver.callsOf('DeleteVolume').length, 0);
    assert.equal(driver.volumes.size, 2);
  },
);
