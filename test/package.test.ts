// The npm package as users get it: packed, installed elsewhere, run.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { silentLog } from '../src/runtime/log/log.ts';
import { realClock } from '../src/runtime/time/clock.ts';
import { crawlPage } from './crawl-page.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const run = promisify(execFile);

describe('the packed package', () => {
  let directory = '';
  let installed = '';

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'pack-'));
    // From a copy, so that the build touches nothing in the source tree.
    const copy = join(directory, 'source');
    const kept = [
      'bin',
      'docs',
      'proto',
      'scripts',
      'src',
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
    // As `npm install` of a tarball, but with the dependencies that are already installed: no network needed.
    installed = join(directory, 'app/node_modules/berth');
    await run('mkdir', ['-p', installed]);
    await run('tar', ['-xzf', join(directory, tarball), '-C', installed, '--strip-components=1']);
    for (const name of await readdir(join(root, 'node_modules'))) {
      if (name.startsWith('.')) continue;
      await symlink(join(root, 'node_modules', name), join(dirname(installed), name));
    }
  });

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
      files.filter((file) => /\.test\.|^src|(?<!\.d)\.ts$/.test(file)),
      [],
    );
  });
});

test('an old Node gets a sentence', async (t) => {
  const { stdout } = await run('sh', [
    '-c',
    'for n in /usr/bin/node /usr/local/bin/node; do [ -x $n ] && $n -v && echo $n; done; true',
  ]);
  const old = /^v(?:\d|1\d|20|21)\.\S*\n(\S+)$/m.exec(stdout)?.[1];
  if (old === undefined) return t.skip('there is no Node before 22 on this machine');
  const failure = await run(old, [join(root, 'bin/berth'), 'version']).then(
    () => assert.fail('it must not run'),
    (error: { code: number; stderr: string }) => error,
  );
  assert.equal(failure.code, 1);
  assert.match(failure.stderr, /^berth needs Node 22\.19 or newer; this is \d+/);
});
