import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  configKeyProblems,
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  labelValueProblems,
  qualifiedNameProblems,
} from './names.ts';

const table: [string, (text: string) => string[], string[], string[]][] = [
  [
    'DNS label',
    dns1123LabelProblems,
    ['a', 'a-1', '1a', 'x'.repeat(63)],
    ['', 'A', 'a.b', '-a', 'a-', 'x'.repeat(64)],
  ],
  [
    'DNS subdomain',
    dns1123SubdomainProblems,
    ['a.b-c.d', 'x'.repeat(253)],
    ['', 'a..b', '.a', 'a_b', 'x'.repeat(254)],
  ],
  ['label value', labelValueProblems, ['', 'A_b.c-1'], ['-a', 'a b', 'x'.repeat(64)]],
  [
    'qualified name',
    qualifiedNameProblems,
    ['a', 'example.com/My_name'],
    ['', '/a', 'a/', 'a/b/c', 'UPPER.com/a', 'a b'],
  ],
  ['config key', configKeyProblems, ['a.b', '_x', 'A-1'], ['', '.', '..', '..a', 'a/b']],
];
for (const [what, problems, good, bad] of table) {
  test(`${what}: good and bad ones`, () => {
    for (const text of good) assert.deepEqual(problems(text), [], text);
    for (const text of bad) assert.notEqual(problems(text).length, 0, text);
  });
}

test('the message is the one people know', () => {
  assert.deepEqual(dns1123LabelProblems('Bad_Name'), [
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
  ]);
});
