// `npm run mutants -- FOLDER [--seed N] [--count N] [--jobs N] [--longest SECONDS] [--at-least PERCENT] [--unreached]
// [--compiling]`: mutation testing. Mutates the sources of a folder one site at a time, runs the tests of the folder
// that reach it, the fastest file first, and lists the surviving mutants. Slow; not part of `npm test`.
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, delimiter, dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { seededRandom } from '../src/runtime/random.ts';
import { programDirectories } from '../test/capabilities.ts';
import { clearAway, leftBehind } from './left-behind.ts';
import {
  type CoveredFile,
  type CoveredTest,
  ran,
  readCoverage,
  testsThatRan,
} from './mutants/covered-code.ts';
import { Judge } from './mutants/judge.ts';
import { type Mutation, mutationsOf } from './mutants/mutation-sites.ts';
import { switchableSource } from './mutants/switchable-source.ts';
import { isTest, projectRoot, type TypeCheck, withSourceFiles, withTypeChecks } from './source-files.ts';
import { runTestFile } from './test-file.ts';

/** Folders below test/ that belong to a folder of src/. */
const testFolders: Readonly<Record<string, readonly string[]>> = {
  apiserver: ['apiserver', 'attacks', 'fuzz'],
  'control-plane': ['control-plane', 'differential', 'snapshots'],
  node: ['node'],
  sidecars: ['differential', 'provisioner', 'snapshots'],
};

interface JudgingFile extends CoveredFile {
  readonly path: string;
  /** It can be imported several times into a process. */
  readonly isReusable: boolean;
}

/** A test file, and those of its tests that reach a mutant. */
interface ReachingTests {
  readonly file: JudgingFile;
  readonly tests: readonly CoveredTest[];
  readonly durationMs: number;
}

/** Hooks outside of any suite run once in a process. */
const ROOT_HOOKS = /^(before|after|beforeEach|afterEach)\(/m;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '200' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    longest: { type: 'string', default: '10' },
    'at-least': { type: 'string' },
    unreached: { type: 'boolean' },
    compiling: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  },
});
const folder = positionals[0]?.replace(/\/+$/, '');
if (values.help || folder === undefined || !folder.startsWith('src/')) {
  print(
    'npm run mutants -- src/FOLDER [--seed N] [--count N] [--jobs N] [--longest SECONDS] [--at-least PERCENT] [--unreached] [--compiling]',
  );
  process.exit(values.help ? 0 : 2);
}
const jobs = Number(values.jobs);
/** Tests that take longer do not judge. */
const longestMs = Number(values.longest) * 1000;
/** What test files execute, kept between runs: by the hash of the file and of the folder's sources. */
const coverageDirectory = join(tmpdir(), 'berth-mutants-coverage');
const base = mkdtempSync(join(tmpdir(), 'bm-'));
process.on('exit', () => rmSync(base, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));

const sites = mutationSites(folder);
print(`${folder} has ${sites.length} mutation sites; first its tests run as they are`);
const files = await runBaseline(testsOf(folder));
print(`${files.reduce((sum, { tests }) => sum + tests.length, 0)} tests in ${files.length} files judge`);
const unreached = sites.filter((site) => reachingTests(site).length === 0);
print(`no test reaches ${unreached.length} of the sites`);
if (values.unreached) {
  const wanted = values.compiling
    ? withTypeChecks(projectRoot, (check) => compiling(unreached, check))
    : unreached;
  for (const { path, line, before } of wanted) print(`${path}:${line}: ${oneLine(before)}`);
  process.exit();
}
const mutations = choose(sites, { seed: Number(values.seed), count: Number(values.count) });
print(`${mutations.length} mutants, seed ${values.seed}`);
const loadMutant = {
  ...preload('load-mutant.ts'),
  // Halves a process's start. Not for the baseline: V8 counts no calls of functions that come from a cache.
  NODE_COMPILE_CACHE: join(base, 'compiled'),
};
const judgeOptions = {
  cwd: projectRoot,
  directory: base,
  env: { ...testEnvironment(), ...loadMutant, BERTH_MUTANT_SOURCES: writeSwitchableSources() },
};
const survivors: string[] = [];
const startMs = performance.now();
let judged = 0;
const remaining = mutations.entries();
await Promise.all(
  Array.from({ length: jobs }, async () => {
    const judge = new Judge(judgeOptions);
    for (const [number, mutation] of remaining) {
      const reaching = reachingTests(mutation);
      const noticedBy = await firstToNotice(judge, number, reaching);
      judged += 1;
      const change = `${oneLine(mutation.before)}  →  ${oneLine(mutation.after)}`;
      const verdict = noticedBy ?? (reaching.length === 0 ? 'NO TEST REACHES IT' : 'NOT NOTICED');
      const line = `${mutation.path}:${mutation.line}: ${change}: ${verdict}`;
      if (noticedBy === undefined) survivors.push(line);
      print(`${judged}/${mutations.length} ${line}`);
    }
    judge.stop();
  }),
);
const perMinute = (60_000 * judged) / (performance.now() - startMs);
const share = (100 * (mutations.length - survivors.length)) / Math.max(1, mutations.length);
print(`\nnot noticed:\n${survivors.toSorted().join('\n')}\n`);
print(`${mutations.length - survivors.length} of ${mutations.length} noticed, ${share.toFixed(1)} %`);
print(`${perMinute.toFixed(1)} mutants a minute`);
process.exit(share < Number(values['at-least'] ?? 0) ? 1 : 0);

function mutationSites(within: string): Mutation[] {
  return withSourceFiles(projectRoot, (parsed) =>
    parsed
      .filter(({ path }) => path.startsWith(`${within}/`) && !isTest(path) && !path.includes('/generated/'))
      .flatMap(mutationsOf),
  );
}

function choose(all: readonly Mutation[], { seed, count }: { seed: number; count: number }): Mutation[] {
  const shuffled = [...all];
  const random = seededRandom(seed);
  for (let index = shuffled.length - 1; index > 0; index--) {
    const other = random.int(index + 1);
    [shuffled[index], shuffled[other]] = [shuffled[other] as Mutation, shuffled[index] as Mutation];
  }
  if (!values.compiling) return shuffled.slice(0, count);
  return withTypeChecks(projectRoot, (check) => {
    const chosen: Mutation[] = [];
    while (chosen.length < count && shuffled.length > 0)
      chosen.push(...compiling(shuffled.splice(0, count), check));
    return chosen.slice(0, count);
  });
}

/** Those that compile: the static checks notice the others. */
function compiling(all: readonly Mutation[], check: TypeCheck): Mutation[] {
  const wrong = new Set<Mutation>();
  // One of each file at a time.
  for (let left = all; left.length > 0; ) {
    const round = new Map(left.toReversed().map((mutation) => [mutation.path, mutation]));
    const failed = check(new Map([...round].map(([path, mutation]) => [path, mutated(mutation)])));
    for (const path of failed) wrong.add(round.get(path) as Mutation);
    left = left.filter((mutation) => round.get(mutation.path) !== mutation);
  }
  return all.filter((mutation) => !wrong.has(mutation));
}

function mutated({ path, start, end, after }: Mutation): string {
  const original = readFileSync(join(projectRoot, path), 'utf8');
  return original.slice(0, start) + after + original.slice(end);
}

/** Test files below the folder, and those below test/ that belong to it. */
function testsOf(within: string): string[] {
  const room = within.split('/')[1] ?? '';
  const folders = [within, ...(testFolders[room] ?? []).map((name) => `test/${name}`)];
  return folders.flatMap((name) => filesBelow(name, (file) => file.endsWith('.test.ts')));
}

function filesBelow(directory: string, isWanted: (name: string) => boolean): string[] {
  return readdirSync(join(projectRoot, directory), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && isWanted(entry.name))
    .map((entry) => relative(projectRoot, join(entry.parentPath, entry.name)))
    .toSorted();
}

/** Learns which code the tests execute. */
async function runBaseline(paths: readonly string[]): Promise<JudgingFile[]> {
  mkdirSync(coverageDirectory, { recursive: true });
  const sources = createHash('sha256');
  for (const path of filesBelow(folder ?? '', (name) => name.endsWith('.ts') && !name.endsWith('.test.ts')))
    sources.update(path).update(readFileSync(join(projectRoot, path)));
  const found: JudgingFile[] = [];
  await eachOf(paths, async (path) => {
    const hash = sources
      .copy()
      .update(path)
      .update(readFileSync(join(projectRoot, path)));
    const kept = join(coverageDirectory, hash.digest('hex'));
    if (!existsSync(kept)) await keepCoverage(path, kept);
    const covered = JSON.parse(readFileSync(kept, 'utf8')) as CoveredFile;
    const { tests } = covered;
    const quick = tests.filter(({ durationMs }) => durationMs <= longestMs);
    found.push({
      ...covered,
      path,
      tests: quick,
      isReusable: !ROOT_HOOKS.test(readFileSync(join(projectRoot, path), 'utf8')),
    });
    if (quick.length < tests.length) print(`${path}: ${tests.length - quick.length} tests take too long`);
  });
  return found;
}

/** Runs a test file without any change. Kept, because a room's tests take minutes and its sources change rarely. */
async function keepCoverage(path: string, to: string): Promise<void> {
  const directory = mkdtempSync(join(base, 'c-'));
  const file = join(base, `${basename(directory)}.jsonl`);
  writeFileSync(file, '');
  const failed = await failures(path, {
    env: { ...preload('record-tests.ts'), BERTH_RECORD_FILE: file, NODE_V8_COVERAGE: directory },
    // Tests that have not ended by then do not judge. Ample, because the machine may be busy.
    limitMs: 600_000,
  });
  // Those of its tests that passed can judge nevertheless.
  if (failed !== undefined) print(`${path} fails without any change: ${failed}`);
  writeFileSync(to, JSON.stringify(readCoverage({ file, directory, folder: folder ?? '' })));
  rmSync(directory, { recursive: true, force: true });
  rmSync(file, { force: true });
}

/**
 * Files beside the mutated one come first: their tests state its rules. Then the fastest. The whole expression has to be
 * reached: for V8 an operator such as `&&` is part of the operand after it, which may never be evaluated.
 */
function reachingTests({ path, whole: { start } }: Mutation): ReachingTests[] {
  const isFar = ({ file }: ReachingTests): number => (dirname(file.path) === dirname(path) ? 0 : 1);
  return files
    .map((file) => {
      const tests = testsThatRan(file, { path, offset: start });
      const durationMs = tests.reduce((sum, test) => sum + test.durationMs, 0);
      return { file, tests, durationMs };
    })
    .filter(({ tests }) => tests.length > 0)
    .toSorted((a, b) => isFar(a) - isFar(b) || a.durationMs - b.durationMs);
}

async function firstToNotice(
  judge: Judge,
  number: number,
  reaching: readonly ReachingTests[],
): Promise<string | undefined> {
  const mutation = mutations[number] as Mutation;
  const mutant = {
    number,
    file: join(mkdtempSync(join(base, 'm-')), 'mutant.ts'),
    url: urlOf(mutation.path),
  };
  writeFileSync(mutant.file, mutated(mutation));
  for (const { file, tests, durationMs } of reaching) {
    const names = [...new Set(tests.map(({ name }) => name))];
    const limitMs = 2 * durationMs + 3000;
    // What runs while modules are loaded cannot be switched on later.
    const needsNewProcess =
      !file.isReusable || ran(file.loaded, { path: mutation.path, offset: mutation.whole.start });
    const isNoticed = needsNewProcess
      ? (await failures(file.path, {
          env: {
            ...loadMutant,
            BERTH_MUTANT_FILE: mutant.file,
            BERTH_MUTANT_URL: mutant.url,
            BERTH_MUTANT_LIMIT_MS: String(limitMs),
          },
          only: names,
          limitMs: 3 * limitMs + 60_000,
        })) !== undefined
      : await judge.notices({ url: urlOf(file.path), names, mutant, limitMs });
    if (isNoticed) return `noticed by ${file.path}`;
  }
  return undefined;
}

/** A file with the source texts that hold all mutants, by URL. */
function writeSwitchableSources(): string {
  const numbered = [...mutations.entries()];
  const sources = [...new Set(mutations.map(({ path }) => path))].map((path) => {
    const ofSource = new Map(numbered.filter(([, mutation]) => mutation.path === path));
    return [urlOf(path), switchableSource(readFileSync(join(projectRoot, path), 'utf8'), ofSource)];
  });
  const file = join(base, 'sources.json');
  writeFileSync(file, JSON.stringify(Object.fromEntries(sources)));
  return file;
}

function urlOf(path: string): string {
  return pathToFileURL(join(projectRoot, path)).href;
}

function testEnvironment(): NodeJS.ProcessEnv {
  return {
    ...process.env,
    PATH: [join(projectRoot, 'node_modules/.bin'), ...programDirectories()].join(delimiter),
  };
}

function preload(name: string): NodeJS.ProcessEnv {
  return { NODE_OPTIONS: `--import ${new URL(`./mutants/${name}`, import.meta.url).href}` };
}

/** The first failure of a test file, in one line; undefined when all of it passed. */
async function failures(
  path: string,
  { env, only, limitMs }: { env: NodeJS.ProcessEnv; only?: readonly string[]; limitMs: number },
): Promise<string | undefined> {
  const directory = mkdtempSync(join(base, 't-'));
  const result = await runTestFile({
    path,
    cwd: projectRoot,
    env: { ...testEnvironment(), BERTH_TEST_FILE: directory, TMPDIR: directory, ...env },
    ...(only && { only }),
    testTimeoutMs: limitMs,
    fileTimeoutMs: limitMs,
    lingerMs: 5000,
    stopAtFailure: only !== undefined,
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
