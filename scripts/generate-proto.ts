// Generates src/csi/generated from proto/ with the locally installed buf and protoc-gen-es; works offline.
// With --check it generates into a temporary directory instead, compares, and fails naming each file that is stale.

import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const generated = join(root, 'src/csi/generated');
const binaries = join(root, 'node_modules/.bin');

/** buf writes to `<output>/src/csi/generated`, as buf.gen.yaml says. */
async function generate(output: string): Promise<void> {
  await promisify(execFile)(join(binaries, 'buf'), ['generate', '--output', output], {
    cwd: root,
    env: { ...process.env, PATH: `${binaries}${delimiter}${process.env.PATH ?? ''}` },
  });
}

async function filesUnder(directory: string): Promise<Map<string, string>> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = new Map<string, string>();
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files.set(relative(directory, path), await readFile(path, 'utf8'));
  }
  return files;
}

async function staleFiles(): Promise<string[]> {
  const output = await mkdtemp(join(tmpdir(), 'berth-proto-'));
  try {
    await generate(output);
    const fresh = await filesUnder(join(output, 'src/csi/generated'));
    const committed = await filesUnder(generated);
    const names = new Set([...fresh.keys(), ...committed.keys()]);
    return [...names].filter((name) => fresh.get(name) !== committed.get(name)).sort();
  } finally {
    await rm(output, { recursive: true, force: true });
  }
}

const unknown = process.argv.slice(2).filter((argument) => argument !== '--check');
if (unknown.length > 0) {
  console.error(`generate-proto: unknown argument ${unknown.join(' ')}; usage: generate-proto.ts [--check]`);
  process.exitCode = 2;
} else if (process.argv.includes('--check')) {
  const stale = await staleFiles();
  for (const name of stale) console.error(`stale: src/csi/generated/${name}`);
  if (stale.length > 0) {
    console.error(
      'generated code does not match proto/: run `node scripts/generate-proto.ts` and commit the result',
    );
    process.exitCode = 1;
  }
} else {
  await generate(root);
}
