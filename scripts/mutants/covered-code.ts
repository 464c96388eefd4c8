// The code that each test of a file executed, from V8 coverage: a mutant is run only against tests that reach it.
// Node's type stripping keeps positions, so V8's offsets are those of the source text.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectRoot } from '../source-files.ts';

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

export interface Report {
  readonly result: readonly { readonly url: string; readonly functions: readonly { ranges: Range[] }[] }[];
}

/** Ranges per source file and report; nested ranges are inner blocks. */
export type CoveredCode = Readonly<Record<string, readonly (readonly Range[])[]>>;

export interface CoveredTest {
  readonly name: string;
  readonly durationMs: number;
  readonly covered: CoveredCode;
}

export interface CoveredFile {
  readonly tests: readonly CoveredTest[];
  /** What ran before the first test, when modules are loaded: each test may depend on it. */
  readonly loaded: CoveredCode;
  /** What ran in processes that the tests started: any of them. */
  readonly processes: CoveredCode;
}

/**
 * Reads what record-tests.ts wrote to `file`, and what other processes wrote into `directory` (NODE_V8_COVERAGE), about
 * the sources below `folder`.
 */
export function readCoverage(where: { file: string; directory: string; folder: string }): CoveredFile {
  const { file, directory, folder } = where;
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { name: string | null; durationMs: number; reports: Report[] });
  const processes = readdirSync(directory).flatMap((name) => {
    try {
      return [JSON.parse(readFileSync(join(directory, name), 'utf8')) as Report];
    } catch {
      return []; // Killed while it wrote.
    }
  });
  return {
    tests: lines.flatMap(({ name, durationMs, reports }) =>
      name === null ? [] : [{ name, durationMs, covered: codeOf(reports, folder) }],
    ),
    loaded: codeOf(
      lines.filter(({ name }) => name === null).flatMap(({ reports }) => reports),
      folder,
    ),
    processes: codeOf(processes, folder),
  };
}

function codeOf(reports: readonly Report[], folder: string): CoveredCode {
  const covered: Record<string, Range[][]> = {};
  for (const { url, functions } of reports.flatMap(({ result }) => result)) {
    if (!url.startsWith('file:')) continue;
    const path = relative(projectRoot, fileURLToPath(url));
    if (!path.startsWith(`${folder}/`)) continue;
    covered[path] = [...(covered[path] ?? []), functions.flatMap(({ ranges }) => ranges)];
  }
  return covered;
}

/** Tests that executed the code at an offset; all of them when it ran outside of them. */
export function testsThatRan(
  { tests, loaded, processes }: CoveredFile,
  place: { path: string; offset: number },
): readonly CoveredTest[] {
  return ran(loaded, place) || ran(processes, place)
    ? tests
    : tests.filter(({ covered }) => ran(covered, place));
}

/** Whether the code at an offset ran: the smallest range around it decides. */
export function ran(covered: CoveredCode, place: { path: string; offset: number }): boolean {
  return (covered[place.path] ?? []).some((ranges) => {
    let innermost: Range | undefined;
    for (const range of ranges) {
      if (range.startOffset > place.offset || range.endOffset <= place.offset) continue;
      const isInner =
        innermost === undefined ||
        range.endOffset - range.startOffset <= innermost.endOffset - innermost.startOffset;
      if (isInner) innermost = range;
    }
    return innermost !== undefined && innermost.count > 0;
  });
}
