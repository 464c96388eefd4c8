import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isPrintable, printableLine, printableText } from './printable.ts';

const cases: [string, string, string][] = [
  ['plain text, ünïcödé and 日本 stay', 'plain, ünïcödé 日本 👩‍👧', 'plain, ünïcödé 日本 👩‍👧'],
  ['an escape sequence', '\u001b[2J\u001b]0;title\u0007', '\\u001b[2J\\u001b]0;title\\u0007'],
  ['C1, which some terminals obey as well', '\u009b31m', '\\u009b31m'],
  ['DEL and backspace', 'a\u007f\b', 'a\\u007f\\u0008'],
  ['a carriage return that would overwrite the line', 'no\ryes', 'no\\ryes'],
  ['controls that reorder text', 'a\u202eb\u2066c\u200f', 'a\\u202eb\\u2066c\\u200f'],
];
for (const [name, given, expected] of cases) {
  test(`printable: ${name}`, () => {
    assert.equal(printableLine(given), expected);
    assert.equal(printableText(given), expected);
  });
}

test('printable text keeps line breaks and tabs, a printable line has none', () => {
  assert.equal(printableText('a\n\tb\r\n'), 'a\n\tb\\r\n');
  assert.equal(printableLine('a\n\tb'), 'a\\n\\tb');
});

test('[DOOR-6] whatever the text, no control character is left, and JSON means the same', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      assert.ok(isPrintable(printableLine(text)));
      assert.equal(JSON.parse(printableText(JSON.stringify(text))), text);
    }),
  );
});
