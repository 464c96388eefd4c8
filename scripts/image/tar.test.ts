import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { file, withDirectories } from './oci-layout.ts';
import { readTar, type TarFile, writeTar } from './tar.ts';

const LONG = `${'directory-with-a-name/'.repeat(6)}${'n'.repeat(99)}`;
const LONGER = `${'deep/'.repeat(30)}${'m'.repeat(120)}`;

function temporary(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'tar-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

test('[REAL-3] what is written is read by tar(1), and gives the same bytes again', (t) => {
  const files: TarFile[] = [
    file(LONG, 'long'),
    file('bin/program', 'x', 0o755),
    { path: 'bin/also', type: 'hardlink', mode: 0o755, target: 'bin/program' },
    { path: 'link', type: 'symlink', mode: 0o777, target: 'bin/program' },
    { path: 'tmp', type: 'directory', mode: 0o1777 },
  ];
  const archive = writeTar(withDirectories(files), 1_700_000_000);
  assert.deepEqual(writeTar(withDirectories(files.toReversed()), 1_700_000_000), archive);
  const directory = temporary(t);
  execFileSync('tar', ['-x', '-C', directory, '--preserve-permissions'], { input: archive });
  assert.equal(readFileSync(join(directory, LONG), 'utf8'), 'long');
  const { mode, nlink, mtimeMs } = statSync(join(directory, 'bin/program'));
  assert.deepEqual([mode & 0o7777, nlink, mtimeMs], [0o755, 2, 1_700_000_000_000]);
  assert.equal(readlinkSync(join(directory, 'link')), 'bin/program');
  assert.equal(statSync(join(directory, 'tmp')).mode & 0o7777, 0o1777);
  assert.deepEqual(
    readTar(archive).map(({ path, type }) => [path, type]),
    withDirectories(files).map(({ path, type }) => [path, type]),
  );
});

test('[REAL-3] what tar(1) writes is read, with names that are longer than the format has room for', (t) => {
  const directory = temporary(t);
  mkdirSync(join(directory, LONGER, '..'), { recursive: true });
  writeFileSync(join(directory, LONGER), 'deep');
  symlinkSync(LONGER, join(directory, 'link'));
  const archive = execFileSync('tar', ['-c', '--format=gnu', '-C', directory, '.']);
  const files = new Map(readTar(archive).map((each) => [each.path, each]));
  assert.equal(files.get(LONGER)?.data?.toString(), 'deep');
  assert.equal(files.get('link')?.target, LONGER);
});

test('[REAL-3] a path that the format cannot hold is refused by name', () => {
  assert.throws(() => writeTar([file(LONGER, '')], 0), /m{120}: the path is too long for a tar file/);
});
