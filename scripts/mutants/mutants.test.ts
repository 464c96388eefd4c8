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
import { switchableSource } from './switchable-source.ts';

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

test('a source with several mutants behaves as the chosen one', (t) => {
  t.after(() => choose(undefined));
  const choose = (number: number | undefined): void =>
    void Object.assign(globalThis, { berthMutant: number });
  const text = `const a = (x, y) => {
  for (const z of [1, 2]) { if (!y && x < (z ?? 3)) continue; else return 'a'; }
  return x - 1 === 1 ? 'b' : 'c';
};
return JSON.stringify([a(1, false), a(2, false), a(3, true), a(0, true)]);`;
  const run = (source: string): string => new Function(source)();
  const mutants = new Map(mutationsIn(text).entries());
  const switchable = switchableSource(text, mutants);
  choose(undefined);
  assert.equal(run(switchable), run(text));
  const seen = new Set<string>();
  for (const [number, { start, end, after }] of mutants) {
    choose(number);
    const mutant = run(text.slice(0, start) + after + text.slice(end));
    assert.equal(run(switchable), mutant);
    seen.add(mutant);
  }
  assert.ok(seen.size > 3, 'the mutants differ');
});

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
  assert.deepEqual(testsThatRan({ tests: [one, two], loaded: {}, processes: {} }, place), [one]);
  assert.deepEqual(testsThatRan({ tests: [one, two], loaded: covered, processes: {} }, place), [one, two]);
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
