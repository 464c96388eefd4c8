// `npm run mutants -- FOLDER [--seed N] [--count N] [--jobs N] [--longest SECONDS] [--at-least PERCENT]`: mutation
// testing. Mutates the sources of a folder one site at a time, runs the folder's tests that reach it, the fastest first,
// and lists the surviving mutants. Slow; not part of `npm test`.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { delimiter, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { seededRandom } from '../src/runtime/random.ts';
import { programDirectories } from '../test/capabilities.ts';
import { clearAway, leftBehind } from './left-behind.ts';
import { type CoveredCode, ran, readCoverage } from './mutants/covered-code.ts';
import { type Mutation, mutationsOf } from './mutants/mutation-sites.ts';
import { isTest, projectRoot, withSourceFiles } from './source-files.ts';
import { runTestFile } from './test-file.ts';

/** Folders below test/ that belong to a folder of src/. */
const testFolders: Readonly<Record<string, readonly string[]>> = {
  apiserver: ['apiserver', 'attacks'],
  'control-plane': ['control-plane', 'snapshots'],
  node: ['node'],
  sidecars: ['provisioner', 'snapshots'],
};

interface JudgingTest {
  readonly path: string;
  readonly durationMs: number;
  readonly covered: CoveredCode;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '200' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    longest: { type: 'string', default: '10' },
    'at-least': { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  },
});
const folder = positionals[0]?.replace(/\/+$/, '');
if (values.help || folder === undefined || !folder.startsWith('src/')) {
  print(
    'npm run mutants -- src/FOLDER [--seed N] [--count N] [--jobs N] [--longest SECONDS] [--at-least PERCENT]',
  );
  process.exit(values.help ? 0 : 2);
}
const jobs = Number(values.jobs);
/** Test files that take longer do not judge. */
const longestMs = Number(values.longest) * 1000;
const base = mkdtempSync(join(tmpdir(), 'bm-'));
process.on('exit', () => rmSync(base, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));

const mutations = chooseMutations(folder, { seed: Number(values.seed), count: Number(values.count) });
print(`${mutations.length} mutants of ${folder}, seed ${values.seed}; first its tests as they are`);
const tests = await runBaseline(testsOf(folder));
const survivors: string[] = [];
let judged = 0;
await eachOf(mutations, async (mutation) => {
  const reached = tests.filter(({ covered }) =>
    ran(covered, { path: mutation.path, offset: mutation.start }),
  );
  const noticedBy = await firstToNotice(mutation, reached);
  judged += 1;
  const change = `${oneLine(mutation.before)}  →  ${oneLine(mutation.after)}`;
  const verdict = noticedBy ?? (reached.length === 0 ? 'NO TEST REACHES IT' : 'NOT NOTICED');
  const line = `${mutation.path}:${mutation.line}: ${change}: ${verdict}`;
  if (noticedBy === undefined) survivors.push(line);
  print(`${judged}/${mutations.length} ${line}`);
});
const share = (100 * (mutations.length - survivors.length)) / Math.max(1, mutations.length);
print(`\nnot noticed:\n${survivors.toSorted().join('\n')}\n`);
print(`${mutations.length - survivors.length} of ${mutations.length} noticed, ${share.toFixed(1)} %`);
process.exit(share < Number(values['at-least'] ?? 0) ? 1 : 0);

function chooseMutations(within: string, { seed, count }: { seed: number; count: number }): Mutation[] {
  const all = withSourceFiles(projectRoot, (files) =>
    files
      .filter(({ path }) => path.startsWith(`${within}/`) && !isTest(path) && !path.includes('/generated/'))
      .flatMap(mutationsOf),
  );
  const random = seededRandom(seed);
  for (let index = all.length - 1; index > 0; index--) {
    const other = random.int(index + 1);
    [all[index], all[other]] = [all[other] as Mutation, all[index] as Mutation];
  }
  return all.slice(0, count);
}

/** Test files below the folder, and those below test/ that belong to it. */
function testsOf(within: string): string[] {
  const room = within.split('/')[1] ?? '';
  const folders = [within, ...(testFolders[room] ?? []).map((name) => `test/${name}`)];
  return folders
    .flatMap((name) => readdirSync(join(projectRoot, name), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name.endsWith('.test.ts'))
    .map((entry) => relative(projectRoot, join(entry.parentPath, entry.name)));
}

async function runBaseline(paths: readonly string[]): Promise<JudgingTest[]> {
  const found: JudgingTest[] = [];
  await eachOf(paths, async (path) => {
    const coverage = mkdtempSync(join(base, 'c-'));
    const startMs = performance.now();
    const failed = await failures(path, {
      env: { NODE_V8_COVERAGE: coverage },
      limitMs: Math.max(60_000, 2 * longestMs),
    });
    const durationMs = performance.now() - startMs;
    const seconds = (durationMs / 1000).toFixed(1);
    if (failed !== undefined) print(`left out: ${path} fails without any change: ${failed}`);
    // A lower bound is found in a tenth of the time: such a test would run for almost every mutant that survives.
    else if (durationMs > longestMs) print(`left out: ${path} takes ${seconds} s`);
    else found.push({ path, durationMs, covered: readCoverage(coverage) });
    rmSync(coverage, { recursive: true, force: true });
  });
  return found.toSorted((a, b) => a.durationMs - b.durationMs);
}

async function firstToNotice(
  mutation: Mutation,
  reached: readonly JudgingTest[],
): Promise<string | undefined> {
  const original = readFileSync(join(projectRoot, mutation.path), 'utf8');
  const file = join(mkdtempSync(join(base, 'm-')), 'mutant.ts');
  writeFileSync(file, original.slice(0, mutation.start) + mutation.after + original.slice(mutation.end));
  const env = {
    NODE_OPTIONS: `--import ${new URL('./mutants/load-mutant.ts', import.meta.url).href}`,
    BERTH_MUTANT_FILE: file,
    BERTH_MUTANT_URL: pathToFileURL(join(projectRoot, mutation.path)).href,
    // Halves a test's start. Not for the baseline: V8 counts no calls of functions that come from a cache.
    NODE_COMPILE_CACHE: join(base, 'compiled'),
  };
  for (const { path, durationMs } of reached) {
    // Ample, because the machine may be busy; a mutant that never ends is detected by this time-out.
    const failed = await failures(path, { env, limitMs: 3 * durationMs + 10_000 });
    if (failed !== undefined) return `noticed by ${path}`;
  }
  return undefined;
}

/** The first failure of a test file, in one line; undefined when all of it passed. */
async function failures(
  path: string,
  { env, limitMs }: { env: NodeJS.ProcessEnv; limitMs: number },
): Promise<string | undefined> {
  const directory = mkdtempSync(join(base, 't-'));
  const result = await runTestFile({
    path,
    cwd: projectRoot,
    env: {
      ...process.env,
      PATH: [join(projectRoot, 'node_modules/.bin'), ...programDirectories()].join(delimiter),
      BERTH_TEST_FILE: directory,
      TMPDIR: directory,
      ...env,
    },
    testTimeoutMs: limitMs,
    fileTimeoutMs: limitMs,
    lingerMs: 5000,
    stopAtFailure: true,
  });
  // Stopped at its first failure, a test cleans up nothing.
  clearAway(leftBehind({ mark: `BERTH_TEST_FILE=${directory}`, directory }));
  rmSync(directory, { recursive: true, force: true });
  return result.failures[0] === undefined ? undefined : oneLine(result.failures[0].title);
}

async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const remaining = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (const item of remaining) await work(item);
  };
  await Promise.all(Array.from({ length: jobs }, worker));
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
