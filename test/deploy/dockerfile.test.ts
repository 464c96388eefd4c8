// The Dockerfile, built by buildah without a registry: the image that it starts from is made here, of Debian's packages and this Node.

import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { lacking, programPath } from '../capabilities.ts';
import { type Ended, run, temporaryDirectory, undoAfter } from '../e2e/up-process.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** As the Dockerfile names it. */
const BASE = 'docker.io/library/node:24-bookworm';
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
/** A build may take long on a busy machine: it fetches packages and compiles. */
const STEP_LIMIT_MS = 280_000;

const absent = ['buildah', 'mmdebstrap'].filter((name) => programPath(name) === undefined);
const skip = lacking('root') || (absent.length > 0 && `this machine has no ${absent.join(', ')}`);

test('[REAL-3] the Dockerfile gives the image with the file system tools, and every part of it runs', {
  skip,
  timeout: 590_000,
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const storage = ['--root', join(directory, 's'), '--runroot', join(directory, 'r')];
  // Neither a kernel's overlay nor a container runtime is needed.
  const env = { STORAGE_DRIVER: 'vfs', BUILDAH_ISOLATION: 'chroot' };
  const attempt = (...args: readonly string[]): Promise<Ended> =>
    run('buildah', [...storage, ...args], { env, timeoutMs: STEP_LIMIT_MS });
  const buildah = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await attempt(...args);
    assert.equal(code, 0, `buildah ${args[0]}: ${stderr.slice(-2000)}`);
    return stdout.trim();
  };
  undoAfter(t, () => attempt('rm', '--all'));

  const debian = join(directory, 'debian.tar');
  const made = await run('mmdebstrap', ['--variant=apt', '--include=ca-certificates', 'bookworm', debian], {
    timeoutMs: STEP_LIMIT_MS,
  });
  if (made.code !== 0) {
    t.skip(`Debian's packages cannot be fetched: ${made.stderr.trim().split('\n').at(-1)}`);
    return;
  }
  const npm = dirname(dirname(process.env.npm_execpath ?? '/usr/lib/node_modules/npm/bin/npm-cli.js'));
  const base = await buildah('from', 'scratch');
  await buildah('add', '-q', base, debian, '/');
  await buildah('add', '-q', base, process.execPath, '/usr/local/bin/node');
  await buildah('add', '-q', base, npm, '/usr/local/lib/node_modules/npm');
  await buildah('add', '-q', base, CERTIFICATES, CERTIFICATES);
  await buildah(
    'run',
    base,
    '--',
    'ln',
    '-s',
    '../lib/node_modules/npm/bin/npm-cli.js',
    '/usr/local/bin/npm',
  );
  await buildah('config', '--env', `NODE_EXTRA_CA_CERTS=${CERTIFICATES}`, base);
  await buildah('config', '--env', 'PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', base);
  await buildah('commit', '-q', '--rm', base, BASE);

  await buildah('bud', '-q', '--pull-never', '--network=host', '--tag=berth:built', ROOT);
  const container = await buildah('from', '--pull-never', 'berth:built');
  const inside = (...args: readonly string[]): Promise<string> => buildah('run', ...args);
  assert.match(await inside(container, '--', 'berth', 'version'), /^berth \d/);
  for (const part of ['sidecars', 'provisioner', 'snapshot-controller', 'node-registrar']) {
    assert.match(
      await inside('--user=65532', container, '--', 'berth', part, '--help'),
      /--kubeconfig|--csi-/,
    );
  }
  await inside(container, '--', 'mkfs.ext4', '-V');
  await inside(container, '--', 'mkfs.xfs', '-V');
  const bill = await inside(container, '--', 'cat', '/usr/share/berth/sbom.spdx.json');
  assert.equal(JSON.parse(bill).spdxVersion, 'SPDX-2.3');
  const { config } = JSON.parse(await buildah('inspect', '--type=image', 'berth:built')).OCIv1;
  assert.deepEqual(config.Entrypoint, ['berth']);
  assert.equal(config.Labels['org.opencontainers.image.title'], 'berth');
});
