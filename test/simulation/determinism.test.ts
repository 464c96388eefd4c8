import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { digestOf, exactLineOf } from '../../src/simulation/render.ts';
import { simulate } from '../../src/simulation/simulate.ts';
import { makeStartImage } from '../../src/simulation/start-image.ts';

const run = promisify(execFile);
const berth = new URL('../../bin/berth', import.meta.url).pathname;

test('the same seed twice gives the same history, in one process and in another', async () => {
  const start = await makeStartImage();
  for (const seed of [3, 20, 47]) {
    const first = digestOf((await simulate(seed, { start })).entries);
    const second = digestOf((await simulate(seed, { start })).entries);
    assert.equal(second, first, `seed ${seed} in one process`);
  }
  const seed = 20;
  const here = (await simulate(seed, { start })).entries.map(exactLineOf).join('\n');
  const { stdout } = await run(
    process.execPath,
    [berth, 'sim', '--seed', String(seed), '--trace', '--json'],
    {
      maxBuffer: 1 << 28,
    },
  );
  assert.equal(stdout.trimEnd(), here, 'to the byte');
});

test('other seeds give other histories', async () => {
  const start = await makeStartImage();
  const digests = await Promise.all(
    [1, 2, 3].map(async (seed) => digestOf((await simulate(seed, { start })).entries)),
  );
  assert.equal(new Set(digests).size, 3);
});
