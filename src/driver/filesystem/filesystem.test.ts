import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, open, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { detectContent } from './detect-content.ts';
import { type FilesystemTools, formatIfBlank, linuxFilesystemTools } from './filesystem-tools.ts';

const path = `${process.env.PATH}:/usr/sbin:/sbin`;

describe('what is on a device', () => {
  let root = '';
  let count = 0;
  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'berth-fs-'));
  });
  after(() => rm(root, { recursive: true }));

  const image = async (sizeBytes: number, bytes: [offset: number, text: string][] = []): Promise<string> => {
    count += 1;
    const file = join(root, String(count));
    await writeFile(file, '');
    await truncate(file, sizeBytes);
    const handle = await open(file, 'r+');
    for (const [offset, text] of bytes)
      await handle.write(Buffer.from(text, 'latin1'), 0, text.length, offset);
    await handle.close();
    return file;
  };
  const size = 8 << 20;
  const cases: [string, [number, string][], unknown][] = [
    ['zeros', [], 'blank'],
    ['a byte at the start', [[0, 'x']], 'unknown'],
    ['a byte within the first two MiB', [[(2 << 20) - 1, 'x']], 'unknown'],
    ['a byte at the very end', [[size - 1, 'x']], 'unknown'],
    ['a partition table', [[510, '\x55\xaa']], 'unknown'],
    ['LUKS', [[0, 'LUKS\xba\xbe']], { fsType: 'crypto_LUKS' }],
    ['btrfs', [[0x10040, '_BHRfS_M']], { fsType: 'btrfs' }],
  ];
  for (const [name, bytes, expected] of cases) {
    it(name, async () => assert.deepEqual(await detectContent(await image(size, bytes)), expected));
  }

  for (const [program, fsType, bytes] of [
    ['mkfs.ext2', 'ext2', size],
    ['mkfs.ext3', 'ext3', size],
    ['mkfs.ext4', 'ext4', size],
    ['mkfs.xfs', 'xfs', 320 << 20],
  ] as const) {
    it(`${fsType}, made by its own program, and not made again`, { skip: missing(program) }, async () => {
      const file = await image(bytes);
      const request = { device: file, fsType, resume: false };
      assert.equal(await formatIfBlank(linuxFilesystemTools, request), 'formatted');
      assert.deepEqual(await detectContent(file), { fsType });
      assert.equal(await formatIfBlank(linuxFilesystemTools, request), 'present');
      await linuxFilesystemTools.check(file, fsType);
      const other = fsType === 'ext4' ? 'ext3' : 'ext4';
      await assert.rejects(formatIfBlank(linuxFilesystemTools, { ...request, fsType: other }), {
        code: 'FAILED_PRECONDITION',
      });
    });
  }

  it('nothing but zeros is ever formatted, unless the format was begun', async () => {
    const formatted: string[] = [];
    const tools: FilesystemTools = {
      ...linuxFilesystemTools,
      format: async (device) => void formatted.push(device),
    };
    const data = await image(size, [[4096, 'precious']]);
    const request = { device: data, fsType: 'ext4', resume: false };
    await assert.rejects(formatIfBlank(tools, request), { code: 'FAILED_PRECONDITION' });
    assert.deepEqual(formatted, []);
    await formatIfBlank(tools, { ...request, resume: true });
    assert.deepEqual(formatted, [data]);
  });

  it('an unknown filesystem is refused by name', async () => {
    await assert.rejects(linuxFilesystemTools.format('/dev/null', 'ntfs'), {
      code: 'INVALID_ARGUMENT',
      message: /"ntfs" is not supported, only ext2, ext3, ext4, xfs/,
    });
  });
});

function missing(program: string): string | false {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore', env: { PATH: path } });
    return false;
  } catch {
    return `${program} is not installed`;
  }
}
