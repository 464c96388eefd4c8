// package-lock.json must work for everyone: it names no registry host, and it has an entry for every platform's variant
// of a package. If a registry lacks some variants, `npm install` silently drops their entries, and `npm ci` then
// rejects the file everywhere.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from './source-files.ts';

interface Lockfile {
  readonly packages: Readonly<
    Record<
      string,
      { readonly resolved?: string; readonly optionalDependencies?: Readonly<Record<string, string>> }
    >
  >;
}

export function lockfileProblems({ packages }: Lockfile): string[] {
  const problems: string[] = [];
  for (const [path, { resolved, optionalDependencies = {} }] of Object.entries(packages)) {
    if (resolved !== undefined && /^https?:/.test(resolved)) {
      problems.push(
        `${path} names the host it came from (${resolved}): npm install with omit-lockfile-registry-resolved`,
      );
    }
    for (const [name, version] of Object.entries(optionalDependencies)) {
      if (packages[`node_modules/${name}`] ?? packages[`${path}/node_modules/${name}`]) continue;
      problems.push(
        `${path} has the optional dependency ${name}@${version}, which has no entry: add it again`,
      );
    }
  }
  return problems;
}

if (import.meta.main) {
  const lockfile = JSON.parse(readFileSync(join(projectRoot, 'package-lock.json'), 'utf8')) as Lockfile;
  const problems = lockfileProblems(lockfile);
  for (const problem of problems) process.stdout.write(`package-lock.json: ${problem}\n`);
  process.exit(problems.length === 0 ? 0 : 1);
}
