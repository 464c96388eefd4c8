// The GitHub Action and the GitLab template: their scripts, as they stand there, with hostpath as the driver.

import assert from 'node:assert/strict';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import { lacking } from '../capabilities.ts';
import { hostpath } from './tried.ts';
import { BERTH, mountsBelow, run, temporaryDirectory } from './up-process.ts';

const skip = lacking('mounts');

/** A directory with `berth` and `sudo`, and the environment that the scripts get. */
async function surroundings(t: TestContext) {
  const directory = await temporaryDirectory(t);
  const bin = join(directory, 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'berth'), `#!/bin/sh\nexec ${process.execPath} ${BERTH} "$@"\n`);
  await writeFile(join(bin, 'sudo'), '#!/bin/sh\nexec "$@"\n');
  for (const name of ['berth', 'sudo']) await chmod(join(bin, name), 0o755);
  const reports = join(directory, 'reports');
  const env = {
    PATH: `${bin}:${process.env.PATH}`,
    TMPDIR: directory,
    DRIVER: hostpath(join(directory, 's')),
    CLASS_PARAMETERS: '',
    SIZE: '1Mi',
    CHECK_FLAGS: '--only=^(Identity|CreateVolume|Lifecycle)',
    REPORTS: reports,
    GITHUB_OUTPUT: join(directory, 'output'),
  };
  const report = (name: string): Promise<string> => readFile(join(reports, name), 'utf8');
  return { directory, env, report };
}

async function assertWell(report: (name: string) => Promise<string>): Promise<void> {
  assert.match(await report('try.xml'), /<testsuites name="berth try" tests="11" failures="0"/);
  assert.match(await report('check.xml'), /<testsuites name="berth check" tests="\d{2}" failures="0"/);
  assert.match(await report('up.log'), /classes .*other\.csi\.test \(default\)/);
}

/** Three starts of a cluster each, so more time than other tests have on a busy machine. */
const LONG_MS = 150_000;

async function runScript(script: string, t: TestContext): Promise<string> {
  const { directory, env, report } = await surroundings(t);
  const { code, stderr } = await run('bash', ['-eo', 'pipefail', '-c', script], { env, timeoutMs: LONG_MS });
  assert.equal(code, 0, stderr);
  await assertWell(report);
  assert.deepEqual(mountsBelow(directory), []);
  return readFile(env.GITHUB_OUTPUT, 'utf8').catch(() => '');
}

const read = async (path: string) => parse(await readFile(new URL(`../../${path}`, import.meta.url), 'utf8'));

test('[BYO-6] the GitHub Action and the GitLab template try the driver, run berth up with it, and check it', {
  skip,
  timeout: LONG_MS,
}, async (t) => {
  const { steps } = (await read('action.yml')).runs;
  const step = (name: string): string => steps.find((each: { name?: string }) => each.name === name).run;
  const socket = 'SOCKET=$(sed -n "s/^socket=//p" "$GITHUB_OUTPUT")';
  const github = `${step('Try')}\n${step('Up')}\nup=$!\n${socket}\n${step('Check')}\nkill $up; wait $up`;
  const gitlab = (await read('templates/berth.gitlab-ci.yml'))['.berth'].script.join('\n');
  const [output] = await Promise.all([runScript(github, t), runScript(gitlab, t)]);
  assert.match(output, /^kubeconfig=.*\/kubeconfig\nsocket=.*\/csi\.sock\n$/);
});
