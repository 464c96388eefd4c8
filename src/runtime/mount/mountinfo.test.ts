import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { escapeMountPath, findMountinfo, parseMountinfo, unescapeMountPath } from './mountinfo.ts';

const table = [
  '36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:7 - ext3 /dev/root rw,errors=continue',
  '37 35 98:0 / /with\\040space/and\\134slash ro - fuse.sshfs user@host:/a\\043b ro,user_id=0',
  '38 35 0:42 / /mnt2 rw - tmpfs tmpfs rw',
  '39 35 0:43 / /mnt2/deeper rw - tmpfs tmpfs rw',
  '40 35 0:43 / /cut',
  '',
].join('\n');

describe('mountinfo', () => {
  it('reads fixed, optional and trailing fields and skips a line that is cut short', () => {
    const entries = parseMountinfo(table);
    assert.deepEqual(
      entries.map((entry) => entry.id),
      [36, 37, 38, 39],
    );
    assert.deepEqual(entries[0], {
      id: 36,
      parentId: 35,
      device: '98:0',
      root: '/mnt1',
      mountPoint: '/mnt2',
      options: ['rw', 'noatime'],
      optionalFields: ['master:1', 'shared:7'],
      fsType: 'ext3',
      source: '/dev/root',
      superOptions: ['rw', 'errors=continue'],
    });
    assert.equal(entries[1]?.mountPoint, '/with space/and\\slash');
    assert.equal(entries[1]?.source, 'user@host:/a#b');
  });

  it('finds the stack at one path, the visible mount last, and not those below it', () => {
    assert.deepEqual(
      findMountinfo(table, '/mnt2').map((entry) => entry.id),
      [36, 38],
    );
    assert.deepEqual(
      findMountinfo(table, '/with space/and\\slash').map((entry) => entry.id),
      [37],
    );
    // The root column of the first line is not a mount point.
    assert.deepEqual(findMountinfo(table, '/mnt1'), []);
  });

  it('escapes and unescapes any path without loss', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', ' ', '\t', '\n', '\\', '#', '0', '4', 'é') }),
        (path) => {
          assert.equal(unescapeMountPath(escapeMountPath(path)), path);
          assert.doesNotMatch(escapeMountPath(path), /[ \t\n]/);
        },
      ),
    );
  });
});
