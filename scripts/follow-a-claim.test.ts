// "Follow a claim" in docs/ARCHITECTURE.md names files and functions: they must exist, in at most 30 hops.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { projectRoot } from './source-files.ts';

const MOST_HOPS = 30;

interface Hop {
  number: number;
  file: string;
  name: string;
}

function hopsOf(document: string): Hop[] {
  const section = document.split(/^## /m).find((text) => text.startsWith('Follow a claim')) ?? '';
  return [...section.matchAll(/^\| (\d+) \| `([^`]+)` \| `([^`]+)` \|/gm)].map(
    ([, number, file = '', name = '']) => ({ number: Number(number), file, name }),
  );
}

/** An exported function, class or constant of this name. */
const exportsName = (source: string, name: string): boolean =>
  new RegExp(`^export (?:async )?(?:function|class|const) ${name}\\b`, 'm').test(source);

const hops = hopsOf(readFileSync(join(projectRoot, 'docs/ARCHITECTURE.md'), 'utf8'));

test('the way of a claim has at most 30 hops, numbered in order', () => {
  assert.ok(hops.length >= 20 && hops.length <= MOST_HOPS, `${hops.length} hops`);
  assert.deepEqual(
    hops.map(({ number }) => number),
    hops.map((_, index) => index + 1),
  );
});

for (const { number, file, name } of hops) {
  test(`hop ${number}: ${file} exports ${name}`, () => {
    const path = join(projectRoot, file);
    assert.ok(existsSync(path), `docs/ARCHITECTURE.md names ${file}, which does not exist`);
    assert.ok(exportsName(readFileSync(path, 'utf8'), name), `${file} exports no ${name}`);
  });
}

test('a function that is only mentioned, or not exported, does not count', () => {
  assert.equal(exportsName('// createLoop\nfunction createLoop() {}\n', 'createLoop'), false);
  assert.equal(exportsName('export async function createLoop() {}\n', 'createLoop'), true);
  assert.equal(exportsName('export function createLoops() {}\n', 'createLoop'), false);
});
