// The npm package as users get it: packed, installed elsewhere, run.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { silentLog } from '../src/runtime/log/log.ts';
import { realClock } from '../src/runtime/time/clock.ts';
import { lacking } from './capabilities.ts';
import { crawlPage } from './crawl-page.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const run = promisify(execFile);

/** It compiles everything, and installs from a registry. */
const LONG = { timeout: 170_000 };

describe('the packed package', LONG, () => {
  let directory = '';
  let installed = '';
  let isInstalledByNpm = false;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'pack-'));
    // From a copy, so that the build touches nothing in the source tree.
    const copy = join(directory, 'source');
    const kept = [
      ...['bin', 'deploy', 'docs', 'examples', 'proto', 'scripts', 'src'],
      ...['README.md', 'CHANGELOG.md', 'LICENSE'],
      'package.json',
      'tsconfig.json',
      'tsconfig.build.json',
      'tsconfig.page.json',
    ];
    for (const name of kept) await cp(join(root, name), join(copy, name), { recursive: true });
    await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
    await run('npm', ['pack', '--silent', '--pack-destination', directory], { cwd: copy });
    const tarball = (await readdir(directory)).find((name) => name.endsWith('.tgz'));
    assert.ok(tarball !== undefined);
    const app = join(directory, 'app');
    installed = join(app, 'node_modules/berth');
    await mkdir(app);
    await writeFile(join(app, 'package.json'), '{"private": true}');
    const install = ['install', '--no-audit', '--no-fund', '--prefer-offline', join(directory, tarball)];
    isInstalledByNpm = await run('npm', install, { cwd: app, timeout: 120_000 }).then(
      ({ stderr }) => {
        assert.doesNotMatch(stderr, /EBADENGINE|deprecated/);
        return true;
      },
      () => false,
    );
    if (isInstalledByNpm) return;
    // Without a registry: with the dependencies that are already here.
    await run('mkdir', ['-p', installed]);
    await run('tar', ['-xzf', join(directory, tarball), '-C', installed, '--strip-components=1']);
    for (const name of await readdir(join(root, 'node_modules'))) {
      if (name.startsWith('.') || existsSync(join(dirname(installed), name))) continue;
      await symlink(join(root, 'node_modules', name), join(dirname(installed), name));
    }
  }, LONG);

  after(() => rm(directory, { recursive: true, force: true }));

  test('runs', async () => {
    const { stdout } = await run(process.execPath, [join(installed, 'bin/berth'), 'version']);
    assert.match(stdout, /^berth \d+\.\d+\.\d+ \(Node /);
  });

  test('lists every command that the source tree has', async () => {
    const fromPackage = await run(process.execPath, [join(installed, 'bin/berth'), 'help']);
    const fromSource = await run(process.execPath, [join(root, 'bin/berth'), 'help']);
    assert.equal(fromPackage.stdout, fromSource.stdout);
    assert.doesNotMatch(fromPackage.stdout, /not available/);
  });

  test('runs every documented command, on the example that it names', {
    skip: lacking('root'),
    timeout: 120_000,
  }, async (t) => {
    if (!isInstalledByNpm) t.diagnostic('no registry was reached: the dependencies are links');
    const program = join(directory, 'app/node_modules/.bin/berth');
    const berth = async (...args: string[]): Promise<string> => {
      const { stdout, stderr } = await run(isInstalledByNpm ? program : join(installed, 'bin/berth'), args, {
        cwd: join(directory, 'app'),
        maxBuffer: 1 << 26,
        env: {
          ...process.env,
          PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
          KUBECONFIG: kubeconfig,
        },
      });
      return stdout + stderr;
    };
    const kubeconfig = join(directory, 'd/kubeconfig');
    // In a process of its own, with the dependencies that were installed.
    const loader = join(directory, 'app/load.mjs');
    const rows = join(installed, 'dist/cli/commands.js');
    await writeFile(
      loader,
      `import { commands } from ${JSON.stringify(rows)}; for (const row of Object.values(commands)) await row.load();`,
    );
    await run(process.execPath, [loader]);
    await berth('completion', 'bash');
    assert.match(await berth('sim', '--seeds=1..3'), /3 seeds/);
    assert.match(
      await berth('manifests', '--driver-name=a.b', '--image=i', '--part=snapshot-controller'),
      /kind: Deployment/,
    );
    await berth('manifests', '--driver-name=a.b', '--image=i', '--format=helm', '--output=chart');
    const up = spawn(
      process.execPath,
      [join(installed, 'bin/berth'), 'up', '--data-dir', dirname(kubeconfig)],
      {
        cwd: join(directory, 'app'),
      },
    );
    const ended = once(up, 'exit');
    t.after(async () => {
      if (up.exitCode === null) up.kill();
      await ended;
    });
    let banner = '';
    for await (const chunk of up.stdout) {
      banner += chunk;
      if (banner.includes('Ctrl-C stops it')) break;
    }
    const example = /\S*examples\/\S+\.yaml/.exec(banner)?.[0] ?? '';
    assert(
      example !== '' && existsSync(join(directory, 'app', example)),
      `${example} of the banner:\n${banner}`,
    );
    await berth('apply', '-f', example);
    await berth('wait', 'pod/web', '--for=condition=Ready', '--timeout=60s');
    assert.match(await berth('get', 'pods,pvc', '-o', 'wide'), /web/);
    assert.match(await berth('describe', 'pod', 'web'), /Running/);
    assert.match(await berth('why', 'pod', 'web'), /nothing is wrong/);
    assert.match(await berth('trace', 'pod', 'web'), /NodePublishVolume/);
    await berth('logs');
    await berth('support-bundle', '--output=bundle.tar.gz');
    await berth('delete', '-f', example);
    up.kill();
    assert.deepEqual(await ended, [0, null]);
  });

  test('can be imported by its parts', async () => {
    const { default: manifest } = await import('../package.json', { with: { type: 'json' } });
    const parts = Object.keys(manifest.exports).filter((name) => name !== './package.json');
    const app = join(directory, 'app/app.mjs');
    await writeFile(app, parts.map((part) => `await import('berth/${part.slice(2)}');\n`).join(''));
    await run(process.execPath, [app]);
  });

  test('has the page, with everything that it loads', async () => {
    const { serveDashboard } = (await import(
      join(installed, 'dist/dashboard/serve-dashboard.js')
    )) as typeof import('../src/dashboard/serve-dashboard.ts');
    const stop = new AbortController();
    const { url, stopped } = await serveDashboard({
      version: '',
      server: '',
      example: '',
      port: 0,
      isFlexible: false,
      token: 'token',
      clock: realClock,
      log: silentLog,
      signal: stop.signal,
      ports: () => assert.fail('nobody looks'),
    });
    const loaded = await crawlPage(url);
    stop.abort();
    await stopped;
    for (const path of ['/page/main.js', '/page/style.css', '/modules/uplot.js'])
      assert.ok(loaded.includes(path), path);
  });

  test('holds no tests and no sources', async () => {
    const files = await readdir(installed, { recursive: true });
    assert.deepEqual(
      files.filter((file) => /\.test\.|^src|^(?!examples).*(?<!\.d)\.ts$/.test(file)),
      [],
    );
  });
});

/** A Node that is too old for Berth. */
async function oldNode(): Promise<string | undefined> {
  const { stdout } = await run('sh', [
    '-c',
    'for n in /usr/bin/node /usr/local/bin/node; do [ -x $n ] && $n -v && echo $n; done; true',
  ]);
  return /^v(?:\d|1\d|20|21)\.\S*\n(\S+)$/m.exec(stdout)?.[1];
}

test('with an old Node, an installed Berth says what it needs', async (t) => {
  const old = await oldNode();
  if (old === undefined) return t.skip('there is no Node before 22 on this machine');
  const directory = await mkdtemp(join(tmpdir(), 'old-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  await cp(join(root, 'bin'), join(directory, 'bin'), { recursive: true });
  await writeFile(join(directory, 'package.json'), '{"type": "module"}');
  const failure = await run(old, [join(directory, 'bin/berth'), 'version']).then(
    () => assert.fail('it must not run'),
    (error: { code: number; stderr: string }) => error,
  );
  assert.equal(failure.code, 1);
  assert.match(failure.stderr, /^berth needs Node 22\.19 or newer; this is \d+/);
});

test('with an old Node, npm ci installs a source tree without warnings about engines', async (t) => {
  const old = await oldNode();
  if (old === undefined) return t.skip('there is no Node before 22 on this machine');
  const directory = await mkdtemp(join(tmpdir(), 'ci-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  for (const name of ['package.json', 'package-lock.json', '.npmrc'])
    await cp(join(root, name), join(directory, name));
  const env = { ...process.env, PATH: `${dirname(old)}:/usr/bin:/bin` };
  const { stderr } = await run('npm', ['ci', '--dry-run', '--ignore-scripts'], { cwd: directory, env });
  assert.doesNotMatch(stderr, /EBADENGINE|Unsupported engine/);
});

test('with an old Node, a source tree uses the Node of its dependencies', async (t) => {
  const old = await oldNode();
  if (old === undefined) return t.skip('there is no Node before 22 on this machine');
  const { stdout } = await run(old, [join(root, 'bin/berth'), 'version', '--json']);
  assert(Number(JSON.parse(stdout).node.split('.')[0]) >= 22, stdout);
  // Exit codes and signals pass through.
  const wrong = await run(old, [join(root, 'bin/berth'), 'no-such-command']).catch((error) => error);
  assert.equal(wrong.code, 2);
  const up = spawn(old, [join(root, 'bin/berth'), 'apiserver', '--ephemeral'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(up, 'exit');
  await Promise.race([once(up.stdout, 'data'), once(up.stderr, 'data')]);
  up.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);
});
