// The static checks: types, lint, the project's rules, generated code. Each is a program that prints violations and
// exits with a code.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { projectRoot } from './source-files.ts';

export interface StaticCheck {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
}

export function staticChecks(): StaticCheck[] {
  const checks: StaticCheck[] = [
    { name: 'types', command: ['tsc', '-p', '.'] },
    { name: 'types of the page', command: ['tsc', '-p', 'src/dashboard/page'] },
    {
      name: 'lint and format',
      command: ['biome', 'ci', '--colors=off', '--diagnostic-level=warn', '--error-on-warnings'],
    },
    { name: 'import rule and exports', command: ['node', 'scripts/check-imports.ts'] },
    { name: 'time and chance only through ports', command: ['node', 'scripts/check-ports.ts'] },
    { name: 'lookups by names from outside', command: ['node', 'scripts/check-lookups.ts'] },
    { name: 'requirements', command: ['node', 'scripts/check-requirements.ts'] },
    { name: 'lock file', command: ['node', 'scripts/check-lockfile.ts'] },
    { name: 'generated code', command: ['node', 'scripts/generate-proto.ts', '--check'] },
    { name: 'generated schemas', command: ['node', 'scripts/generate-schemas.ts', '--check'] },
    {
      name: 'generated dashboards and rules',
      command: ['node', 'scripts/generate-monitoring.ts', '--check'],
    },
  ];
  return checks.filter(
    ({ command: [program, script] }) => program !== 'node' || existsSync(join(projectRoot, script ?? '')),
  );
}

/** Resolves with its output and whether it succeeded. */
export function runStaticCheck({
  command: [program, ...args],
}: StaticCheck): Promise<{ ok: boolean; output: string }> {
  const path = `${join(projectRoot, 'node_modules/.bin')}${delimiter}${process.env.PATH ?? ''}`;
  const child = spawn(program, args, {
    cwd: projectRoot,
    env: { ...process.env, PATH: path },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => output.push(chunk));
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ ok: false, output: error.message }));
    child.once('close', (code) => resolve({ ok: code === 0, output: Buffer.concat(output).toString() }));
  });
}
