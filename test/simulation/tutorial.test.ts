// docs/simulating-a-driver.md: its code is that of the example, and each of its commands does what the page says.

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runBerth } from '../run-berth.ts';

const root = new URL('../../', import.meta.url);
const page = await readFile(new URL('docs/simulating-a-driver.md', root), 'utf8');
const blocks = (kind: string): string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${kind}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, text]) => text ?? '');

test('[REC-1] the code of the tutorial is that of its example', async () => {
  const directory = new URL('examples/simulated-driver/', root);
  const files = await Promise.all(
    (await readdir(directory)).map((file) => readFile(new URL(file, directory), 'utf8')),
  );
  const found = blocks('ts');
  assert.ok(found.length >= 7);
  for (const block of found)
    assert.ok(
      files.some((text) => text.includes(block)),
      block,
    );
});

/** What the page says of each command, in its order. */
const expected = [
  { code: 0, says: /no violation/ },
  { code: 1, says: /violates leak: [\s\S]*again: berth sim --seed \d+ --driver-module \S+ --trace/ },
  {
    code: 1,
    says: /violates driver-promise: [\s\S]*NodeUnpublishVolume \S+ answered OK, and \S+ is still mounted/,
  },
];

test('[REC-1] the commands of the tutorial do what it says', { timeout: 600_000 }, async (t) => {
  const commands = blocks('sh');
  assert.equal(commands.length, expected.length);
  for (const [at, command] of commands.entries()) {
    // Shrinking a failing run takes up to a minute.
    await t.test(command.trim(), { timeout: 300_000 }, async () => {
      const args = command.trim().split(' ').slice(1);
      const inPlace = args.map((arg) =>
        arg.startsWith('examples/') ? fileURLToPath(new URL(arg, root)) : arg,
      );
      const { code, stdout, stderr } = await runBerth(inPlace);
      assert.equal(code, expected[at]?.code, stdout + stderr);
      assert.match(stdout, expected[at]?.says ?? /never/);
    });
  }
});
