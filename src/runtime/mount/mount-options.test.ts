import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mountArguments } from './mount-command.ts';
import { MS, parseMountOptions, propagationFlags } from './mount-options.ts';

describe('mount options', () => {
  const cases: [name: string, options: string[], expected: Partial<ReturnType<typeof parseMountOptions>>][] =
    [
      ['nothing', [], { flags: 0, cleared: 0, data: '', propagation: undefined }],
      ['flags', ['ro', 'noexec', 'nosuid'], { flags: MS.RDONLY | MS.NOEXEC | MS.NOSUID, data: '' }],
      ['the last word wins', ['ro', 'rw'], { flags: 0, cleared: MS.RDONLY }],
      ['the last word wins, back again', ['rw', 'ro'], { flags: MS.RDONLY, cleared: 0 }],
      [
        'several in one string',
        ['ro,noatime', 'data=ordered'],
        { flags: MS.RDONLY | MS.NOATIME, data: 'data=ordered' },
      ],
      ['a quoted comma', ['context="a,b",discard'], { flags: 0, data: 'context="a,b",discard' }],
      ['what only fstab knows', ['defaults', '_netdev', 'nofail'], { flags: 0, data: '' }],
      ['propagation', ['rshared'], { flags: 0, data: '', propagation: 'rshared' }],
    ];
  for (const [name, options, expected] of cases) {
    it(`parses ${name}`, () => {
      const parsed = parseMountOptions(options);
      assert.deepEqual({ ...parsed, ...expected }, parsed);
    });
  }

  it('turns propagation into flags', () => {
    assert.equal(propagationFlags('private'), MS.PRIVATE);
    assert.equal(propagationFlags('rprivate'), MS.PRIVATE | MS.REC);
    assert.equal(propagationFlags('rslave'), MS.SLAVE | MS.REC);
    assert.equal(propagationFlags('unbindable'), MS.UNBINDABLE);
  });

  it('passes the same options to mount(8) as to the kernel', () => {
    const base = { operation: 'test', source: '/a', target: '/b', fsType: null, data: null };
    assert.deepEqual(mountArguments({ ...base, flags: MS.BIND }), ['-n', '-o', 'bind', '--', '/a', '/b']);
    assert.deepEqual(mountArguments({ ...base, source: null, flags: MS.REMOUNT | MS.BIND }), [
      '-n',
      '-o',
      'bind,remount,rw',
      '--',
      '/b',
    ]);
    assert.deepEqual(mountArguments({ ...base, source: null, flags: MS.PRIVATE | MS.REC }), [
      '--make-rprivate',
      '--',
      '/b',
    ]);
    assert.deepEqual(mountArguments({ ...base, fsType: 'ext4', flags: MS.RDONLY, data: 'discard' }), [
      '-n',
      '-t',
      'ext4',
      '-o',
      'ro,discard',
      '--',
      '/a',
      '/b',
    ]);
  });
});
