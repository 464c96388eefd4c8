import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { keyFromToken, paginate, tokenAfter } from './pagination.ts';

const reader = (keys: () => string[]) => ({
  read: (after: string, limit: number) =>
    keys()
      .toSorted()
      .filter((key) => key > after)
      .slice(0, limit),
  keyOf: (key: string) => key,
});

describe('pagination', () => {
  it('gives everything once, in pages of the size asked for', () => {
    const keys = ['d', 'a', 'c', 'b', 'e'];
    const pages: string[][] = [];
    let startingToken = '';
    do {
      const page = paginate(
        { maxEntries: 2, startingToken },
        reader(() => keys),
      );
      pages.push(page.items);
      startingToken = page.nextToken;
    } while (startingToken !== '');
    assert.deepEqual(pages, [['a', 'b'], ['c', 'd'], ['e']]);
  });

  it('gives no token after the last entry, also when the page is exactly full', () => {
    assert.equal(
      paginate(
        { maxEntries: 2, startingToken: '' },
        reader(() => ['a', 'b']),
      ).nextToken,
      '',
    );
    assert.equal(
      paginate(
        { maxEntries: 0, startingToken: '' },
        reader(() => ['a', 'b']),
      ).nextToken,
      '',
    );
  });

  it('lists each surviving entry exactly once, with any changes between pages', () => {
    const key = fc.stringMatching(/^[a-z]{1,3}$/);
    const changes = fc.array(fc.record({ add: fc.array(key), remove: fc.array(key) }), { maxLength: 5 });
    fc.assert(
      fc.property(
        fc.uniqueArray(key, { minLength: 1 }),
        changes,
        fc.integer({ min: 1, max: 4 }),
        (initial, steps, size) => {
          let current = new Set(initial);
          const stayed = new Set(initial);
          const seen: string[] = [];
          let startingToken = '';
          let turn = 0;
          do {
            const page = paginate(
              { maxEntries: size, startingToken },
              reader(() => [...current]),
            );
            seen.push(...page.items);
            startingToken = page.nextToken;
            const step = steps[turn];
            turn += 1;
            current = new Set([...current, ...(step?.add ?? [])]);
            for (const gone of step?.remove ?? []) {
              current.delete(gone);
              stayed.delete(gone);
            }
          } while (startingToken !== '');
          assert.equal(new Set(seen).size, seen.length, 'nothing twice');
          for (const survivor of stayed) assert.ok(seen.includes(survivor), survivor);
        },
      ),
    );
  });

  for (const token of ['1', 'after-', 'after-%%%', `${tokenAfter('a')}x`, 'before-YQ']) {
    it(`answers ABORTED to the token ${token}`, () => {
      assert.throws(() => keyFromToken(token), { code: 'ABORTED' });
    });
  }
});
