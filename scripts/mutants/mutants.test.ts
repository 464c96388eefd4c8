import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { withSourceFiles } from '../source-files.ts';
import { type CoveredCode, ran, testsThatRan } from './covered-code.ts';
import { type Mutation, mutationsOf } from './mutation-sites.ts';

function mutationsIn(text: string): Mutation[] {
  const root = mkdtempSync(join(tmpdir(), 'mutants-'));
  writeFileSync(join(root, 'tsconfig.json'), '{"files": ["one.ts"]}');
  writeFileSync(join(root, 'one.ts'), text);
  return withSourceFiles(root, (files) => files.filter(({ path }) => path === 'one.ts').flatMap(mutationsOf));
}

const cases = [
  { text: 'export const a = (x: number) => x === 1;', changes: ['=== → !=='] },
  { text: 'export const a = (x: number) => x < 1 && x > 0;', changes: ['&& → ||', '< → <=', '> → >='] },
  { text: 'export const a = (x?: number) => x ?? 1;', changes: ['x ?? 1 → x'] },
  { text: 'export const a = (x: boolean) => (x ? 1 : 2);', changes: ['x → !(x)'] },
  { text: 'export const a = (x: boolean) => !x;', changes: ['!x → x'] },
  {
    text: 'for (const x of [1]) { if (x > 0) continue; }',
    changes: ['continue; → ;', '> → >=', 'x > 0 → !(x > 0)'],
  },
  { text: 'export const a = true; export type B = false;', changes: ['true → false'] },
  { text: 'export function a(): void { return; }', changes: ['return; → ;'] },
];
for (const { text, changes } of cases) {
  test(`mutants of: ${text}`, () => {
    const found = mutationsIn(text).map(({ before, after }) => `${before} → ${after}`);
    assert.deepEqual(found.toSorted(), changes.toSorted());
  });
}

test('the innermost block decides whether code ran', () => {
  const range = (startOffset: number, endOffset: number, count: number) => ({
    startOffset,
    endOffset,
    count,
  });
  const covered: CoveredCode = { 'src/a.ts': [[range(0, 100, 1), range(20, 40, 0)]] };
  assert.equal(ran(covered, { path: 'src/a.ts', offset: 10 }), true);
  assert.equal(ran(covered, { path: 'src/a.ts', offset: 30 }), false);
  assert.equal(ran(covered, { path: 'src/b.ts', offset: 10 }), false);
  const one = { name: 'one', durationMs: 1, covered };
  const two = { name: 'two', durationMs: 1, covered: {} };
  const place = { path: 'src/a.ts', offset: 10 };
  assert.deepEqual(testsThatRan({ tests: [one, two], shared: {} }, place), [one]);
  assert.deepEqual(testsThatRan({ tests: [one, two], shared: covered }, place), [one, two]);
});

test('a process that judges a mutant runs its source instead of the file', () => {
  const directory = mkdtempSync(join(tmpdir(), 'mutants-'));
  const original = join(directory, 'one.ts');
  writeFileSync(original, 'console.log("the file" as string);');
  const mutant = join(directory, 'mutant.ts');
  writeFileSync(mutant, 'console.log("the mutant" as string);');
  const { stdout } = spawnSync(process.execPath, [original], {
    encoding: 'utf8',
    env: {
      ...process.env,
      NODE_OPTIONS: `--import ${new URL('./load-mutant.ts', import.meta.url).href}`,
      BERTH_MUTANT_FILE: mutant,
      BERTH_MUTANT_URL: pathToFileURL(original).href,
    },
  });
  assert.equal(stdout, 'the mutant\n');
});
