// Keeps docs/requirements.md up to date: a row is `done` exactly when a test carries its ID in brackets, and then the
// row links to those tests. `npm run requirements` rewrites the last two columns; the check fails when they are stale
// or when a test names an ID that the document does not have. The behaviour itself is written by hand.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  isNoSubstitutionTemplateLiteral,
  isStringLiteral,
  isTemplateExpression,
} from 'typescript/unstable/ast';
import { isTest, nodesOf, type ParsedFile, projectRoot, withSourceFiles } from './source-files.ts';

export const requirementsFile = 'docs/requirements.md';
const ID = /\[([A-Z]+-\d+)\]/g;
const ROW = /^\| ([A-Z]+-\d+) \| (.*?) \|(?: (?:open|done) \| .*\|)?$/;

/** IDs in the texts of tests, each with the files that carry it. */
export function claimedIds(files: readonly ParsedFile[]): Map<string, string[]> {
  const claims = new Map<string, string[]>();
  for (const { path, tree } of files) {
    // Not the tests of the checks, whose IDs are examples.
    if (!isTest(path) || path.startsWith('scripts/')) continue;
    const ids = new Set<string>();
    for (const node of nodesOf(tree)) {
      const isText = isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node);
      const text = isText ? node.text : isTemplateExpression(node) ? node.getText(tree) : '';
      for (const [, id] of text.matchAll(ID)) ids.add(id as string);
    }
    for (const id of ids) claims.set(id, [...(claims.get(id) ?? []), path]);
  }
  return claims;
}

/** The document with the status and tests columns updated from the tests. */
export function updateRequirements(document: string, claims: ReadonlyMap<string, readonly string[]>): string {
  return document
    .split('\n')
    .map((line) => {
      const [, id, behaviour] = ROW.exec(line) ?? [];
      if (id === undefined) return line;
      const tests = claims.get(id) ?? [];
      const links = tests.map((path) => `[${path}](../${path})`).join(', ');
      return `| ${id} | ${behaviour} | ${tests.length > 0 ? 'done' : 'open'} | ${links || '–'} |`;
    })
    .join('\n');
}

export function requirementProblems(
  document: string,
  claims: ReadonlyMap<string, readonly string[]>,
): string[] {
  const ids = document.split('\n').flatMap((line) => ROW.exec(line)?.[1] ?? []);
  const problems: string[] = [];
  const repeated = ids.filter((id, index) => ids.indexOf(id) !== index);
  for (const id of repeated) problems.push(`${id} has two rows`);
  for (const [id, paths] of claims) {
    if (!ids.includes(id)) problems.push(`[${id}] in ${paths.join(', ')} is not in ${requirementsFile}`);
  }
  const fresh = updateRequirements(document, claims).split('\n');
  document.split('\n').forEach((line, index) => {
    const expected = fresh[index];
    if (line !== expected) {
      problems.push(`${requirementsFile}:${index + 1} is stale, npm run requirements makes it: ${expected}`);
    }
  });
  return problems;
}

if (import.meta.main) {
  const path = join(projectRoot, requirementsFile);
  const claims = withSourceFiles(projectRoot, claimedIds);
  if (process.argv.includes('--write')) {
    writeFileSync(path, updateRequirements(readFileSync(path, 'utf8'), claims));
  }
  const problems = requirementProblems(readFileSync(path, 'utf8'), claims);
  for (const problem of problems) process.stdout.write(`${problem}\n`);
  process.exit(problems.length === 0 ? 0 : 1);
}
