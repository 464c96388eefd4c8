import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { lacking } from '../../../test/capabilities.ts';
import { errorCode } from '../../runtime/mount/mount-error.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { diskFiles } from './disk-files.ts';
import { UnsafePathError } from './volume-files.ts';

const GID = 4711;
const signal = new AbortController().signal;
/** Longer than any file system takes: an error that means neither "absent" nor "in the way". */
const TOO_LONG = 'x'.repeat(300);

async function inDirectory(t: TestContext) {
  const root = await mkdtemp(join(tmpdir(), 'df-'));
  t.after(() => rm(root, { recursive: true }));
  return { root, files: diskFiles(root, realClock), at: (...names: string[]) => join(root, ...names) };
}

async function listen(t: TestContext, path: string): Promise<{ stop(): Promise<unknown> }> {
  const server = createServer().listen(path);
  await once(server, 'listening');
  const stop = async () => {
    if (server.listening) await once(server.close(), 'close');
  };
  t.after(stop);
  return { stop };
}

const unsafe = (text: RegExp) => (error: unknown) => {
  assert(error instanceof UnsafePathError, String(error));
  assert.match(error.message, text);
  return true;
};
const failsWith = (code: string) => (error: unknown) => {
  assert.equal(errorCode(error), code);
  assert(!(error instanceof UnsafePathError));
  return true;
};

test('a directory is created with its parents, the root included, idempotently', async (t) => {
  const { root, at } = await inDirectory(t);
  const files = diskFiles(at('new', 'root'), realClock);
  await files.makeDirectory(at('new', 'root', 'a', 'b', 'c'));
  await files.makeDirectory(at('new', 'root', 'a', 'b', 'c'));
  await files.makeDirectory(at('new', 'root', 'a', 'd'));
  assert.deepEqual((await readdir(root, { recursive: true })).sort(), [
    'new',
    'new/root',
    'new/root/a',
    'new/root/a/b',
    'new/root/a/b/c',
    'new/root/a/d',
  ]);
});

test('the root itself may be asked for, and may be reached through a link', async (t) => {
  const { at } = await inDirectory(t);
  await mkdir(at('real'));
  await symlink(at('real'), at('link'));
  const files = diskFiles(at('link'), realClock);
  await files.makeDirectory(at('link'));
  await files.makeDirectory(at('link', 'a', 'b'));
  assert.deepEqual(await readdir(at('real'), { recursive: true }), ['a', 'a/b']);
});

test('no directory is made outside of the root, and names that begin with two dots are inside', async (t) => {
  const { root, at } = await inDirectory(t);
  const files = diskFiles(at('root'), realClock);
  await assert.rejects(files.makeDirectory(root), unsafe(/is outside of/));
  await assert.rejects(files.makeDirectory(at('elsewhere')), unsafe(/is outside of/));
  await files.makeDirectory(at('root', '..data'));
  assert.deepEqual((await readdir(root, { recursive: true })).sort(), ['root', 'root/..data']);
});

test('what is in the way of a directory is named and left alone', async (t) => {
  const { files, at } = await inDirectory(t);
  await mkdir(at('real'));
  await symlink(at('real'), at('link'));
  await writeFile(at('file'), 'text');
  await assert.rejects(
    files.makeDirectory(at('link')),
    unsafe(/link should be a directory and is a symlink/),
  );
  await assert.rejects(
    files.makeDirectory(at('link', 'x')),
    unsafe(/link should be a directory and is a symlink/),
  );
  await assert.rejects(files.makeDirectory(at('file')), unsafe(/file should be a directory and is a file/));
  await assert.rejects(files.makeDirectory(at('file', 'x')), unsafe(/file should be a directory and is/));
  await assert.rejects(files.makeDirectory(at(TOO_LONG)), failsWith('ENAMETOOLONG'));
  assert.deepEqual(await readdir(at('real')), []);
  assert.equal(await readFile(at('file'), 'utf8'), 'text');
});

test('only an empty directory is removed', async (t) => {
  const { root, files, at } = await inDirectory(t);
  await mkdir(at('empty'));
  await mkdir(at('full', 'sub'), { recursive: true });
  await writeFile(at('file'), '');
  await symlink(at('full', 'sub'), at('link'));
  await files.removeDirectory(at('empty'));
  await files.removeDirectory(at('empty'));
  await assert.rejects(files.removeDirectory(at('full')), unsafe(/full is not empty/));
  await assert.rejects(files.removeDirectory(at('file')), unsafe(/file should be a directory and is a file/));
  await assert.rejects(
    files.removeDirectory(at('link')),
    unsafe(/link should be a directory and is a symlink/),
  );
  await assert.rejects(files.removeDirectory(`${root}/.`), failsWith('EINVAL'));
  assert.deepEqual((await readdir(root, { recursive: true })).sort(), ['file', 'full', 'full/sub', 'link']);
});

test('only an empty file is removed', async (t) => {
  const { root, files, at } = await inDirectory(t);
  await mkdir(at('directory'));
  await writeFile(at('empty'), '');
  await writeFile(at('full'), 'x');
  await symlink(at('full'), at('link'));
  await files.removeEmptyFile(at('empty'));
  await files.removeEmptyFile(at('empty'));
  for (const name of ['directory', 'full', 'link']) {
    await assert.rejects(files.removeEmptyFile(at(name)), unsafe(/should be an empty file and is not/), name);
  }
  assert.deepEqual((await readdir(root)).sort(), ['directory', 'full', 'link']);
});

test('a record has mode 0600, is replaced atomically, and is removed together with leftovers of a crash', async (t) => {
  const { root, files, at } = await inDirectory(t);
  const path = at('record');
  await files.removeRecord(path);
  await files.writeRecord(path, 'one');
  await files.writeRecord(path, 'two');
  assert.equal(await files.readRecord(path), 'two');
  assert.equal((await lstat(path)).mode & 0o777, 0o600);
  assert.deepEqual(await readdir(root), ['record']);
  await writeFile(`${path}.new`, 'torn');
  await files.removeRecord(path);
  assert.deepEqual(await readdir(root), []);
});

test('what is absent reads as nothing; any other error is one', async (t) => {
  const { root, files, at } = await inDirectory(t);
  await writeFile(at('file'), '');
  for (const path of [at('absent'), at('file', 'below')]) {
    assert.equal(await files.readRecord(path), undefined);
    assert.deepEqual(await files.list(path), []);
    assert.equal(await files.kindOf(path), 'absent');
  }
  await assert.rejects(files.readRecord(root), failsWith('EISDIR'));
  await assert.rejects(files.list(at(TOO_LONG)), failsWith('ENAMETOOLONG'));
  await assert.rejects(files.kindOf(at(TOO_LONG)), failsWith('ENAMETOOLONG'));
  await assert.rejects(files.socketIdentity(at(TOO_LONG)), failsWith('ENAMETOOLONG'));
});

test('kinds are those of the path itself, and lists are sorted', async (t) => {
  const { root, files, at } = await inDirectory(t);
  await mkdir(at('d'));
  await writeFile(at('f'), '');
  await symlink(at('f'), at('l'));
  await listen(t, at('a'));
  const names = await files.list(root);
  assert.deepEqual(names, ['a', 'd', 'f', 'l']);
  const kinds = await Promise.all(names.map((name) => files.kindOf(at(name))));
  assert.deepEqual(kinds, ['other', 'directory', 'file', 'symlink']);
});

test('a block device is told from other special files', { skip: lacking('root') }, async (t) => {
  const { files, at } = await inDirectory(t);
  execFileSync('mknod', [at('block'), 'b', '7', '250']);
  execFileSync('mknod', [at('character'), 'c', '1', '3']);
  assert.equal(await files.kindOf(at('block')), 'device');
  assert.equal(await files.kindOf(at('character')), 'other');
});

test('a recreated socket has another identity; other files have none', async (t) => {
  const { files, at } = await inDirectory(t);
  const first = await listen(t, at('s'));
  const identity = await files.socketIdentity(at('s'));
  assert.ok(identity);
  assert.equal(await files.socketIdentity(at('s')), identity);
  await first.stop();
  assert.equal(await files.socketIdentity(at('s')), undefined);
  await listen(t, at('s'));
  assert.notEqual(await files.socketIdentity(at('s')), identity);
  await writeFile(at('f'), '');
  assert.equal(await files.socketIdentity(at('f')), undefined);
});

test('a watch reports a new entry', async (t) => {
  const { root, files, at } = await inDirectory(t);
  const told = Promise.withResolvers<void>();
  t.after(files.watch(root, () => told.resolve()));
  await writeFile(at('f'), '');
  await told.promise;
});

test('fsGroup is applied unless the root shows that it was', {
  skip: lacking('root'),
}, async (t) => {
  const given = async (name: string, root: { gid: number; mode: number }, onlyIfRootDiffers: boolean) => {
    const { files, at } = await inDirectory(t);
    await mkdir(at('v'));
    await writeFile(at('v', 'f'), '');
    await chmod(at('v', 'f'), 0o600);
    await chown(at('v'), 0, root.gid);
    await chmod(at('v'), root.mode);
    await files.changeGroup(at('v'), { gid: GID, onlyIfRootDiffers }, signal);
    const facts = [await lstat(at('v')), await lstat(at('v', 'f'))].map(({ gid, mode }) => [
      gid,
      mode & 0o7777,
    ]);
    return { name, facts };
  };
  const walked = [
    [GID, 0o2770],
    [GID, 0o660],
  ];
  const left = [
    [GID, 0o2770],
    [0, 0o600],
  ];
  const table: [string, { gid: number; mode: number }, boolean, number[][]][] = [
    ['root is right', { gid: GID, mode: 0o2770 }, true, left],
    ['root is right, and every mount walks', { gid: GID, mode: 0o2770 }, false, walked],
    ['another group', { gid: 0, mode: 0o2770 }, true, walked],
    ['no set-group-ID bit', { gid: GID, mode: 0o770 }, true, walked],
    ['the group may not write', { gid: GID, mode: 0o2750 }, true, walked],
  ];
  for (const [name, root, onlyIfRootDiffers, facts] of table) {
    assert.deepEqual(await given(name, root, onlyIfRootDiffers), { name, facts });
  }
});

test('fsGroup changes the group of a symlink, not its target or mode', {
  skip: lacking('root'),
}, async (t) => {
  const { files, at } = await inDirectory(t);
  await mkdir(at('v'));
  await writeFile(at('outside'), '');
  await chmod(at('outside'), 0o600);
  await symlink(at('outside'), at('v', 'link'));
  await files.changeGroup(at('v'), { gid: GID, onlyIfRootDiffers: false }, signal);
  assert.equal((await lstat(at('v', 'link'))).gid, GID);
  const { gid, mode } = await lstat(at('outside'));
  assert.deepEqual([gid, mode & 0o7777], [0, 0o600]);
});

test('a cancelled fsGroup change leaves the root marked as not done', {
  skip: lacking('root'),
}, async (t) => {
  const { files, at } = await inDirectory(t);
  await mkdir(at('v'));
  await writeFile(at('v', 'f'), '');
  const change = files.changeGroup(at('v'), { gid: GID, onlyIfRootDiffers: true }, AbortSignal.abort());
  await assert.rejects(change, { name: 'AbortError' });
  assert.equal((await lstat(at('v'))).gid, 0);
});
