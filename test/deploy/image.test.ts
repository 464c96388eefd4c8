// `npm run image` in two directories: the images are equal byte by byte. Needs Debian's package registry.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, symlink } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { programPath } from '../capabilities.ts';
import { type Ended, run, temporaryDirectory } from '../e2e/up-process.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NOT_COPIED = ['node_modules', '.git', 'dist', 'image'];
/** All three would show in files that carry a name, a date or an order of their own. */
const PLACES = [
  { TZ: 'UTC', LC_ALL: 'C', umask: '022' },
  { TZ: 'Pacific/Auckland', LC_ALL: 'C.UTF-8', umask: '077' },
];

test('[REAL-3] the images built in two directories are equal byte by byte', {
  skip: programPath('apt-get') === undefined && 'this machine has no apt-get',
  timeout: 600_000,
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const copy = join(directory, 'elsewhere', 'source');
  await mkdir(copy, { recursive: true });
  for (const name of readdirSync(ROOT)) {
    if (!NOT_COPIED.includes(name)) await cp(join(ROOT, name), join(copy, name), { recursive: true });
  }
  await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'));

  const sums: Map<string, string>[] = [];
  for (const [index, source] of [ROOT, copy].entries()) {
    const output = join(directory, String(index), 'berth');
    const built = await build(source, output, index);
    if (built.stderr.includes('apt-get update failed')) {
      t.skip(`Debian's packages cannot be fetched: ${built.stderr.trim().split('\n').at(-1)}`);
      return;
    }
    assert.equal(built.code, 0, built.stderr);
    sums.push(checksums(join(directory, String(index))));
  }
  const [first, second] = sums;
  assert(first && [...first.keys()].some((path) => path.includes('/blobs/sha256/')));
  assert([...first.keys()].includes('berth.tar'));
  assert.deepEqual(second, first);
});

function build(source: string, output: string, index: number): Promise<Ended> {
  const { umask, ...env } = PLACES[index] ?? { umask: '' };
  const script = 'umask "$1"; mkdir -p "$(dirname "$4")"; exec "$2" "$3" --output "$4"';
  const argv = [umask, process.execPath, join(source, 'scripts', 'image.ts'), output];
  return run('sh', ['-c', script, 'sh', ...argv], {
    env: { ...env, SOURCE_DATE_EPOCH: '1700000000' },
    timeoutMs: 280_000,
  });
}

/** By path. */
function checksums(directory: string): Map<string, string> {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  return new Map(
    files.map((path) => [
      relative(directory, path),
      createHash('sha256').update(readFileSync(path)).digest('hex'),
    ]),
  );
}
