import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { claimedIds, requirementProblems, updateRequirements } from './check-requirements.ts';
import { withSourceFiles } from './source-files.ts';

const document = `# Title
| ID | behaviour | status | tests |
|---|---|---|---|
| ATT-1 | Attaches, \`a\\|b\`. | done | [src/a.test.ts](../src/a.test.ts) |
| ATT-2 | Detaches. | open | – |
`;
const claims = new Map([['ATT-1', ['src/a.test.ts']]]);

describe('the requirements table', () => {
  const cases: { name: string; document: string; claims: Map<string, string[]>; problems: RegExp[] }[] = [
    { name: 'fits the tests', document, claims, problems: [] },
    {
      name: 'claims what no test carries',
      document,
      claims: new Map(),
      problems: [/requirements\.md:4 is stale.*\| ATT-1 \| .* \| open \| – \|/],
    },
    {
      name: 'misses a new test',
      document,
      claims: new Map([...claims, ['ATT-2', ['src/b.test.ts']]]),
      problems: [/:5 is stale.*\| done \| \[src\/b\.test\.ts\]/],
    },
    {
      name: 'lacks an ID that a test carries',
      document,
      claims: new Map([...claims, ['ATT-9', ['src/b.test.ts']]]),
      problems: [/\[ATT-9\] in src\/b\.test\.ts is not in docs\/requirements\.md/],
    },
    {
      name: 'has an ID twice',
      document: `${document}| ATT-2 | Again. | open | – |\n`,
      claims,
      problems: [/ATT-2 has two rows/],
    },
  ];
  for (const { name, document, claims, problems } of cases) {
    test(name, () => {
      const found = requirementProblems(document, claims);
      assert.equal(found.length, problems.length, found.join('\n'));
      for (const [i, pattern] of problems.entries()) assert.match(found[i] as string, pattern);
    });
  }

  test('is put right by an update, which changes nothing else', () => {
    const more = new Map([['ATT-2', ['src/b.test.ts', 'test/c.test.ts']]]);
    const updated = updateRequirements(document, more);
    assert.deepEqual(requirementProblems(updated, more), []);
    assert.equal(updateRequirements(updated, claims), document);
  });

  test('takes rows that have no status yet', () => {
    assert.equal(updateRequirements('| REG-1 | Is new. |', new Map()), '| REG-1 | Is new. | open | – |');
  });
});

test('IDs are found in titles and tables of tests, not in comments or other files', () => {
  const root = mkdtempSync(join(tmpdir(), 'planted-'));
  try {
    mkdirSync(join(root, 'src'));
    writeFileSync(
      join(root, 'tsconfig.json'),
      '{ "compilerOptions": { "noEmit": true }, "include": ["src"] }',
    );
    writeFileSync(
      join(root, 'src/a.test.ts'),
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the template is in the planted file
      "// [NO-1]\ntest('[YES-1] [YES-2] works');\nconst cases = [{ name: `[YES-3] ${1} [YES-4]` }];\nids[NO-2];\n",
    );
    writeFileSync(join(root, 'src/a.ts'), "export const text = '[NO-3]';\n");
    assert.deepEqual([...withSourceFiles(root, claimedIds).keys()], ['YES-1', 'YES-2', 'YES-3', 'YES-4']);
  } finally {
    rmSync(root, { recursive: true });
  }
});
