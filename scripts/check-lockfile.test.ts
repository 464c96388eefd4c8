import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lockfileProblems } from './check-lockfile.ts';

test('a lock file with every variant and no host is fine', () => {
  const packages = {
    '': {},
    'node_modules/a': { optionalDependencies: { 'a-linux': '1.0.0', 'a-mac': '1.0.0' } },
    'node_modules/a-linux': {},
    'node_modules/a/node_modules/a-mac': {},
  };
  assert.deepEqual(lockfileProblems({ packages }), []);
});

test('a missing variant and a host are found', () => {
  const packages = {
    'node_modules/a': { optionalDependencies: { 'a-mac': '1.0.0' } },
    'node_modules/b': { resolved: 'https://registry.example/b.tgz' },
  };
  const problems = lockfileProblems({ packages });
  assert.equal(problems.length, 2);
  assert.match(problems[0] as string, /a-mac@1\.0\.0, which has no entry/);
  assert.match(problems[1] as string, /registry\.example/);
});
