// `berth chaos`: every scenario that comes with Berth, on hostpath with real mounts; a driver that leaks; bad files.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, test } from 'node:test';
import type { ChaosReport } from '../../src/chaos/chaos-report.ts';
import { lacking } from '../capabilities.ts';
import { runBerth } from '../run-berth.ts';
import { serveDirectoryDriver } from './directory-driver.ts';
import { EXAMPLES, temporaryDirectory } from './up-process.ts';

const skip = lacking('mounts');
const names = readdirSync(join(EXAMPLES, 'chaos')).map((file) => file.replace(/\.yaml$/, ''));

async function chaos(...args: string[]) {
  const { code, stdout, stderr } = await runBerth(['chaos', 'run', '-o', 'json', ...args]);
  return { code, stderr, report: stdout === '' ? undefined : (JSON.parse(stdout) as ChaosReport) };
}

describe('[FLT-1] what people suffer from, caused on purpose', () => {
  for (const name of names) {
    it(name, { skip }, async () => {
      const { code, report, stderr } = await chaos(name);
      const [result] = report?.results ?? [];
      const failed = result?.steps.filter(({ missing }) => missing.length > 0);
      assert.deepEqual(failed, [], `${stderr}${result?.timeline.join('\n')}`);
      assert.equal(result?.state, 'passed', result?.why);
      assert.equal(code, 0);
      // A fault that strikes nothing proves nothing.
      assert.ok(result.faults.length > 0);
      for (const { fault, struck } of result.faults) assert.ok(struck > 0, fault);
    });
  }
});

const leakScenario = `
name: leak
about: A volume is made and deleted.
steps:
- fault: CreateVolume lose-answer once
- volumes: 1
- expect: running within 20s
- delete: all
- expect: gone within 20s
expect:
- nothing leaked within 1s
`;

/** What is under way hides leaks: a claim whose volume is being made for ever. */
const restlessScenario = `
name: restless
about: A volume is never made.
steps:
- fault: CreateVolume fail INVALID_ARGUMENT
- volumes: 1
- expect: struck
expect:
- nothing leaked within 1s
`;

test('[FLT-1] a driver that leaks is found by the auditor, with what a report to its project needs', {
  skip,
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const file = join(directory, 'leak.yaml');
  const restless = join(directory, 'restless.yaml');
  await writeFile(file, leakScenario);
  await writeFile(restless, restlessScenario);
  const { socket, volumes } = await serveDirectoryDriver(t, directory, { keepsDeleted: true });
  const { code, stdout } = await runBerth(['chaos', 'run', file, `--driver=${socket}`, '-o', 'markdown']);
  assert.equal(code, 1);
  const [leaked] = volumes;
  assert.match(stdout, /^# berth chaos: 0 passed, 1 failed, 0 skipped$/m);
  assert.match(stdout, /^Driver: directory.csi.test 1.2.3\. Reproduce: `berth chaos run .*leak.yaml`/m);
  const says = 'the driver lists it, and no PersistentVolume, pod or VolumeAttachment names it';
  assert.ok(stdout.includes(`volume ${leaked}: ${says}; it was made for claim UID `), stdout);
  assert.match(stdout, /^- fault `CreateVolume lose-answer once` struck once$/m);
  assert.match(stdout, /^\| CreateVolume \| 2 \| UNAVAILABLE 1 \|$/m);
  assert.match(stdout, /Calls to the driver[\s\S]*provisioner +CreateVolume .*set on purpose/);
  const text = await runBerth(['chaos', 'run', file, restless, `--driver=${socket}`]);
  assert.match(text.stdout, /leak on directory.csi.test 1.2.3: failed/);
  assert.match(text.stdout, /FAIL .*expect nothing leaked within 1s/);
  // What the first run left there is none of the second's.
  const [, second] = volumes;
  assert.ok(text.stdout.includes(`volume ${second}: ${says}`), text.stdout);
  assert.ok(!text.stdout.includes(`volume ${leaked}: `), text.stdout);
  assert.match(
    text.stdout,
    /restless on .*: failed[\s\S]*FAIL .*expect nothing leaked within 1s\n +PersistentVolumeClaim default\/data-1: its volume is being made, so that it cannot be judged\n/,
  );
});

test('[FLT-1] a scenario that a driver cannot run is skipped, and one that cannot be done fails', {
  skip,
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const { socket } = await serveDirectoryDriver(t, directory);
  const file = join(directory, 's.yaml');
  await writeFile(file, 'name: k\nabout: k\nsteps:\n- kill: driver\nexpect: [bound]\n');
  const { code, report } = await chaos('snapshot-race', 'crash-after-create', file, `--driver=${socket}`);
  assert.equal(code, 1);
  const [race, create, kill] = report?.results ?? [];
  assert.match(String(race?.why), /does not have CREATE_DELETE_SNAPSHOT, LIST_SNAPSHOTS/);
  assert.match(String(create?.why), /does not have LIST_VOLUMES/);
  assert.match(String(kill?.steps[0]?.missing), /was not started by Berth and cannot be killed/);
});

test('[FLT-1] bad scenarios are refused before anything is started', async (t) => {
  const directory = await temporaryDirectory(t);
  const file = join(directory, 's.yaml');
  const head = 'name: s\nabout: s\n';
  for (const [text, why] of [
    ['steps: [', /s\.yaml: .*at line 1/],
    ['[]', /not a scenario: name, about and steps are missing/],
    ['name: S P\nabout: x', /name: must be of a-z/],
    [`${head}stps: []`, /unknown stps; did you mean steps\?/],
    [`${head}steps: []`, /nothing is expected: it could not fail/],
    [`${head}steps:\n- aply: x`, /step 1: unknown aply; did you mean apply\?/],
    [`${head}steps:\n- fault: MountVolume delay 1s`, /step 1: there is no CSI call "MountVolume"/],
    [`${head}steps:\n- apply: { kind: Pod }`, /apiVersion and kind/],
    [`${head}steps:\n- wait: soon`, /wait needs a time/],
    [`${head}expect: [runing]`, /expect 1: "runing" cannot be expected; did you mean running\?/],
    [`${head}expect: [running within 5]`, /within needs a time/],
    [`${head}nodes: 0\nexpect: [running]`, /nodes: must be 1 to 20/],
    [
      `${head}flags: { atacher-timeout: 1s }\nexpect: [running]`,
      /flags: unknown flag --atacher-timeout; did you mean --attacher-timeout/,
    ],
  ] as const) {
    await writeFile(file, text);
    const { code, stderr } = await chaos(file);
    assert.equal(code, 2, text);
    assert.match(stderr, why);
  }
  assert.match((await chaos('no-such')).stderr, /no file no-such, and no scenario of that name/);
});

test('[FLT-1] every row of docs/faults.md has its scenario, and every scenario its row', async () => {
  const docs = await readFile(new URL('../../docs/faults.md', import.meta.url), 'utf8');
  const linked = [...docs.matchAll(/\(\.\.\/examples\/chaos\/([a-z-]+)\.yaml\)/g)].map(([, name]) => name);
  assert.deepEqual([...new Set(linked)].sort(), [...names].sort());
  const { code, stdout } = await runBerth(['chaos', 'list']);
  assert.equal(code, 0);
  for (const name of names) assert.match(stdout, new RegExp(`^${name} `, 'm'));
});
