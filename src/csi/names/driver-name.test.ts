import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  driverNameProblem,
  escapeQualifiedName,
  parseDriverName,
  parseNodeId,
  parseVolumeHandle,
  sanitizedDriverName,
} from './driver-name.ts';

describe('driver names', () => {
  const good = ['a', 'hostpath.csi.k8s.io', 'EBS.csi.aws.com', 'x-1.y', '1.2.3', 'a'.repeat(63)];
  for (const name of good) {
    it(`[REG-1] accepts ${name}`, () => {
      assert.equal(driverNameProblem(name), undefined);
      assert.equal(sanitizedDriverName(parseDriverName(name)), name);
    });
  }

  const bad: [name: string, problem: RegExp][] = [
    ['', /empty/],
    ['a'.repeat(64), /64 characters, at most 63/],
    ['..', /begin and end/],
    ['.a', /begin and end/],
    ['a.', /begin and end/],
    ['a..b', /begin and end/],
    ['-a', /begin and end/],
    ['a-', /begin and end/],
    ['a.-b', /begin and end/],
    ['a/b', /only letters/],
    ['../../etc', /only letters/],
    ['a b', /only letters/],
    ['a\nb', /only letters/],
    ['a\0', /only letters/],
    ['ä', /only letters/],
    ['a_b', /only letters/],
    ['a~b', /only letters/],
  ];
  for (const [name, problem] of bad) {
    it(`[REG-1] refuses ${JSON.stringify(name)} and says why`, () => {
      assert.match(driverNameProblem(name) ?? '', problem);
      assert.throws(
        () => parseDriverName(name),
        (error: Error) => {
          assert.match(error.message, problem);
          assert.ok(error.message.includes(JSON.stringify(name)));
          return true;
        },
      );
    });
  }

  it('[REG-1] lets no name through that could leave its directory', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', 'Z', '0', '.', '-', '/', '\\', '~', '\0', ' ', 'é') }),
        (name) => {
          if (driverNameProblem(name) !== undefined) return;
          const segment = sanitizedDriverName(parseDriverName(name));
          assert.match(segment, /^[a-zA-Z0-9]([-a-zA-Z0-9.]{0,61}[a-zA-Z0-9])?$/);
          assert.ok(!segment.includes('..'));
        },
      ),
    );
  });

  it('turns a qualified name into one path segment', () => {
    assert.equal(escapeQualifiedName('kubernetes.io/csi'), 'kubernetes.io~csi');
  });
});

describe('identifiers from the driver', () => {
  it('refuses empty and oversized ones', () => {
    assert.equal(parseVolumeHandle('v'), 'v');
    assert.equal(parseNodeId('é'.repeat(128)), 'é'.repeat(128));
    assert.throws(() => parseVolumeHandle(''), /empty volume ID/);
    assert.throws(() => parseNodeId(''), /empty node ID/);
    assert.throws(() => parseNodeId('é'.repeat(129)), /258 bytes; at most 256/);
  });
});
