// `npm test`: the static checks, then every test file, then one line with the counts. With `--static` only the checks
// (`npm run check`); with arguments only the test files whose path contains one of them.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, relative } from 'node:path';
import {
  canUnshare,
  capabilities,
  IN_NAMESPACE,
  programDirectories,
  programPath,
  UNSHARE,
} from '../test/capabilities.ts';
import { clearAway, describeLeftBehind, leftBehind, type Tracked } from './left-behind.ts';
import { projectRoot } from './source-files.ts';
import { runStaticCheck, staticChecks } from './static-checks.ts';
import { type FileResult, runTestFile } from './test-file.ts';

const CONCURRENCY = 2;
/** Far above the time of any test, so that only a hang exceeds it. */
const TEST_TIMEOUT_MS = 60_000;
const FILE_TIMEOUT_MS = 180_000;
/** Of files that build an image, run whole clusters of the official programs, fill a large cluster, or simulate until each deliberate bug is noticed. */
const LONG_FILE_TIMEOUT_MS = 600_000;
const LONG_FILES =
  /test\/(?:deploy\/(?:(?:in|kube)-cluster|controller-shapes|two-nodes|image|dockerfile)|interop\/(?:moving|upgrading)|simulation\/(?:snapshot-)?mutations|scale\/large-cluster)\.test\.ts$/;
const LINGER_MS = 10_000;
/** Grace time of a process after SIGTERM. */
const SETTLE_MS = 2_000;

const counts = { passed: 0, failed: 0, skipped: 0 };
const skipReasons = new Map<string, number>();

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

const indent = (text: string): string => text.trimEnd().replaceAll(/^/gm, '    ');
const seconds = (sinceMs: number): string => `${((performance.now() - sinceMs) / 1000).toFixed(1)} s`;

/** Runs `work` on all items with limited concurrency. */
async function forEachConcurrently<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const remaining = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (const item of remaining) await work(item);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

async function runStaticChecks(): Promise<void> {
  await forEachConcurrently(staticChecks(), async (check) => {
    const startMs = performance.now();
    const { ok, output } = await runStaticCheck(check);
    counts[ok ? 'passed' : 'failed'] += 1;
    print(`${ok ? '✔' : '✖'} ${check.name} (${seconds(startMs)})`);
    if (!ok) print(indent(output));
  });
}

function testFiles(filters: readonly string[]): string[] {
  return ['src', 'test', 'bench', 'scripts']
    .flatMap((folder) => readdirSync(join(projectRoot, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name.endsWith('.test.ts'))
    .map((entry) => relative(projectRoot, join(entry.parentPath, entry.name)))
    .filter((path) => filters.length === 0 || filters.some((filter) => path.includes(filter)))
    .sort();
}

function printMissingCapabilities(): void {
  for (const { missing, without } of Object.values(capabilities)) {
    const reason = missing();
    if (reason !== undefined) print(`– ${reason}: skipping ${without}`);
  }
}

/** PATH with this Node first, and the directories that `capabilities` searches. */
function testPath(): string {
  return [join(projectRoot, 'node_modules/.bin'), ...programDirectories()].join(delimiter);
}

async function runTests(files: readonly string[]): Promise<void> {
  // Short, because unix socket paths are limited to 107 bytes.
  const base = mkdtempSync(join(tmpdir(), 'bt-'));
  // Traversable by others: a process that a test starts as another user must reach its directory.
  chmodSync(base, 0o711);
  await forEachConcurrently([...files.entries()], async ([index, path]) => {
    const startMs = performance.now();
    const tracked: Tracked = {
      mark: `BERTH_TEST_FILE=${base}/${index}`,
      directory: join(base, String(index)),
    };
    mkdirSync(tracked.directory);
    const result = await runTestFile({
      path,
      cwd: projectRoot,
      env: {
        ...process.env,
        PATH: testPath(),
        BERTH_TEST_FILE: tracked.directory,
        TMPDIR: tracked.directory,
        // One for all: a cache in each TMPDIR would compile everything anew, and leave hundreds of files to be deleted.
        NODE_COMPILE_CACHE: join(base, 'compiled'),
      },
      testTimeoutMs: TEST_TIMEOUT_MS,
      fileTimeoutMs: LONG_FILES.test(path) ? LONG_FILE_TIMEOUT_MS : FILE_TIMEOUT_MS,
      lingerMs: LINGER_MS,
    });
    reportFile(path, withLeaks(result, await leaksOf(tracked)), startMs, files.length);
    rmSync(tracked.directory, { recursive: true, force: true });
  });
  rmSync(base, { recursive: true, force: true });
}

async function leaksOf(tracked: Tracked): Promise<string[]> {
  const endMs = performance.now() + SETTLE_MS;
  let left = leftBehind(tracked);
  while (describeLeftBehind(left).length > 0 && performance.now() < endMs) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    left = leftBehind(tracked);
  }
  clearAway(left);
  return describeLeftBehind(left);
}

function withLeaks(result: FileResult, leaks: readonly string[]): FileResult {
  if (leaks.length === 0) return result;
  const failure = { title: 'left behind after the tests', detail: leaks.join('\n') };
  return { ...result, failed: result.failed + 1, failures: [...result.failures, failure] };
}

/** Seconds that each file took last time, on this machine. */
const TIMES_FILE = join(projectRoot, 'node_modules', '.cache', 'test-times.json');
/** Of a file that has not run here yet. */
const USUAL_S = 5;

function readTimes(): Record<string, number> {
  try {
    return JSON.parse(readFileSync(TIMES_FILE, 'utf8')) as Record<string, number>;
  } catch {
    return {};
  }
}

const times = readTimes();

function printPlan(files: readonly string[]): void {
  const totalS = files.reduce((sum, path) => sum + (times[path] ?? USUAL_S), 0) / CONCURRENCY;
  const about = totalS < 90 ? `${Math.ceil(totalS)} s` : `${Math.ceil(totalS / 60)} min`;
  const known = files.filter((path) => path in times).length;
  print(
    `${files.length} test files, about ${about}${known === 0 ? ' (a guess: none has run here yet)' : ''}`,
  );
}

let reported = 0;

function reportFile(path: string, result: FileResult, startMs: number, total: number): void {
  reported += 1;
  times[path] = Math.round((performance.now() - startMs) / 100) / 10;
  counts.passed += result.passed;
  counts.failed += result.failed;
  counts.skipped += result.skipped;
  for (const reason of result.skips) skipReasons.set(reason, (skipReasons.get(reason) ?? 0) + 1);
  print(
    `${result.failed > 0 ? '✖' : '✔'} ${path}: ${countsText(result)} (${seconds(startMs)}, ${reported} of ${total})`,
  );
  for (const { title, detail } of result.failures) print(`  ✖ ${title}\n${indent(detail)}`);
  if (result.failed > 0 && result.output.trim() !== '') print(`  it printed:\n${indent(result.output)}`);
}

function countsText({
  passed,
  failed,
  skipped,
}: {
  passed: number;
  failed: number;
  skipped: number;
}): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

/** Without root, the tests run as root of a user namespace: those that only mount need no more. */
function enterNamespace(): void {
  if (process.getuid?.() === 0 || !canUnshare()) return;
  const path = programPath(UNSHARE[0]);
  const env = Object.fromEntries(
    Object.entries(process.env).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
  const argv = [...UNSHARE, process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  if (path !== undefined) process.execve?.(path, argv, { ...env, [IN_NAMESPACE]: '1' });
}

enterNamespace();
const args = process.argv.slice(2);
const startMs = performance.now();
const filters = args.filter((argument) => !argument.startsWith('-'));
const files = args.includes('--static') ? [] : testFiles(filters);
if (files.length > 0) printPlan(files);
if (filters.length === 0) await runStaticChecks();
if (files.length > 0) {
  printMissingCapabilities();
  await runTests(files);
  mkdirSync(dirname(TIMES_FILE), { recursive: true });
  writeFileSync(TIMES_FILE, JSON.stringify(times));
  for (const [reason, number] of skipReasons) print(`– ${number} skipped: ${reason}`);
}
print(`took ${seconds(startMs)}`);
print(countsText(counts));
process.exit(counts.failed > 0 ? 1 : 0);
