// The code that a test executed, from V8 coverage: a mutant is run only against tests that reach it. Node's type
// stripping keeps positions, so V8's offsets are those of the source text.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectRoot } from '../source-files.ts';

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

interface Report {
  readonly result: readonly { readonly url: string; readonly functions: readonly { ranges: Range[] }[] }[];
}

/** Ranges per source file and process; nested ranges are inner blocks. */
export type CoveredCode = ReadonlyMap<string, readonly (readonly Range[])[]>;

/** Reads what NODE_V8_COVERAGE made a test and its processes write into `directory`. */
export function readCoverage(directory: string): CoveredCode {
  const covered = new Map<string, Range[][]>();
  for (const name of readdirSync(directory)) {
    const report = JSON.parse(readFileSync(join(directory, name), 'utf8')) as Report;
    for (const { url, functions } of report.result) {
      if (!url.startsWith('file:')) continue;
      const path = relative(projectRoot, fileURLToPath(url));
      if (!path.startsWith('src/')) continue;
      covered.set(path, [...(covered.get(path) ?? []), functions.flatMap(({ ranges }) => ranges)]);
    }
  }
  return covered;
}

/** Whether the code at an offset ran: the smallest range around it decides. */
export function ran(covered: CoveredCode, place: { path: string; offset: number }): boolean {
  return (covered.get(place.path) ?? []).some((ranges) => {
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
