// Tests of the source checks: each rule must find a planted violation, and only that.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { exportViolations, importViolations } from './check-imports.ts';
import { lookupViolations } from './check-lookups.ts';
import { portViolations } from './check-ports.ts';
import { type Violation, withSourceFiles } from './source-files.ts';

interface Planted {
  path: string;
  code: string;
  /** Patterns of the expected violations. */
  found: RegExp[];
}

/** Each file gets a separate folder below its part, so that one project holds all. */
function checks(planted: readonly Planted[], check: (root: string) => Violation[]): void {
  let root = '';
  let violations: Violation[] = [];
  const pathOf = (index: number): string => {
    const { path } = planted[index] as Planted;
    return join(dirname(path), `case-${index}`, path.slice(dirname(path).length + 1));
  };
  before(() => {
    root = mkdtempSync(join(tmpdir(), 'planted-'));
    writeFileSync(
      join(root, 'tsconfig.json'),
      '{ "compilerOptions": { "noEmit": true }, "include": ["src"] }',
    );
    planted.forEach(({ code }, index) => {
      const file = join(root, pathOf(index));
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, code);
    });
    violations = check(root);
  });
  after(() => rmSync(root, { recursive: true }));
  planted.forEach(({ path, code, found }, index) => {
    test(`${path}: ${code.replaceAll('\n', ' ')} → ${found.length || 'nothing'}`, () => {
      const messages = violations
        .filter((violation) => violation.path === pathOf(index))
        .map(({ message }) => message);
      assert.equal(messages.length, found.length, messages.join('\n'));
      for (const [i, pattern] of found.entries()) assert.match(messages[i] as string, pattern);
    });
  });
}

describe('the import rule', () => {
  const from = (specifier: string): string => `import { x } from '${specifier}';`;
  checks(
    [
      {
        path: 'src/api/a.ts',
        code: from('../../runtime/clock.ts'),
        found: [/api must not import runtime.*wire$/],
      },
      { path: 'src/wire/a.ts', code: from('../../api/b.ts'), found: [/wire must not import api/] },
      {
        path: 'src/wire/a.test.ts',
        code: from('../../runtime/b.ts'),
        found: [/wire must not import runtime/],
      },
      { path: 'src/runtime/a.ts', code: from('../../api/object.ts'), found: [] },
      { path: 'src/runtime/a.ts', code: from('../../csi/client.ts'), found: [/runtime must not import csi/] },
      { path: 'src/csi/a.ts', code: from('../../runtime/ports.ts'), found: [] },
      { path: 'src/csi/a.ts', code: from('../b.ts'), found: [] },
      {
        path: 'src/csi-plugin/a.ts',
        code: from('../../node/b.ts'),
        found: [/csi-plugin must not import node/],
      },
      { path: 'src/node/a.ts', code: from('../../csi-plugin/b.ts'), found: [] },
      {
        path: 'src/node/a.ts',
        code: from('../../control-plane/b.ts'),
        found: [/node must not import control-plane/],
      },
      { path: 'src/control-plane/a.ts', code: from('../../node/b.ts'), found: [/must not import node/] },
      { path: 'src/control-plane/a.ts', code: from('../../csi-plugin/b.ts'), found: [] },
      {
        path: 'src/sidecars/a.ts',
        code: from('../../csi-plugin/b.ts'),
        found: [/sidecars must not import csi-plugin/],
      },
      {
        path: 'src/sidecars/a.ts',
        code: from('../../apiserver/b.ts'),
        found: [/sidecars must not import apiserver/],
      },
      { path: 'src/sidecars/a.test.ts', code: from('../../apiserver/b.ts'), found: [] },
      { path: 'src/sidecars/a.test.ts', code: from('../../driver/b.ts'), found: [] },
      { path: 'src/sidecars/a.test.ts', code: from('../../cluster/b.ts'), found: [] },
      {
        path: 'src/sidecars/a.test.ts',
        code: from('../../node/b.ts'),
        found: [/sidecars must not import node/],
      },
      {
        path: 'src/driver/a.ts',
        code: from('../../sidecars/b.ts'),
        found: [/driver must not import sidecars/],
      },
      {
        path: 'src/apiserver/a.ts',
        code: from('../../driver/b.ts'),
        found: [/apiserver must not import driver/],
      },
      {
        path: 'src/trace/a.ts',
        code: from('../../apiserver/b.ts'),
        found: [/trace must not import apiserver/],
      },
      { path: 'src/manifests/a.ts', code: from('../../cli/b.ts'), found: [/manifests must not import cli/] },
      { path: 'src/node/a.ts', code: from('../../csi/testing/b.ts'), found: [/testing.*is not shipped/] },
      { path: 'src/cli/a.ts', code: from('../b.test.ts'), found: [/test support, which is not shipped/] },
      { path: 'src/node/a.test.ts', code: from('../../csi/testing/b.ts'), found: [] },
      { path: 'src/node/testing/a.ts', code: from('../../../csi/testing/b.ts'), found: [] },
      { path: 'src/cluster/a.ts', code: from('../../node/b.ts'), found: [] },
      { path: 'src/simulation/a.ts', code: from('../../cluster/b.ts'), found: [] },
      { path: 'src/cli/a.ts', code: from('../../simulation/b.ts'), found: [] },
      {
        path: 'src/extra/a.ts',
        code: from('../../api/b.ts'),
        found: [/src\/extra is not in the import rule/],
      },
      {
        path: 'src/api/a.ts',
        code: "import type { X } from '../../csi/b.ts';",
        found: [/must not import csi/],
      },
      { path: 'src/api/a.ts', code: "export { x } from '../../csi/b.ts';", found: [/must not import csi/] },
      { path: 'src/api/a.ts', code: "export * from '../../csi/b.ts';", found: [/must not import csi/] },
      { path: 'src/api/a.ts', code: "await import('../../csi/b.ts');", found: [/must not import csi/] },
      { path: 'src/api/a.ts', code: "type X = import('../../csi/b.ts').X;", found: [/must not import csi/] },
      { path: 'src/api/a.ts', code: "// import { x } from '../../csi/b.ts';", found: [] },
      {
        path: 'src/api/a.ts',
        code: 'export const text = "import { x } from \'../../csi/b.ts\'";',
        found: [],
      },
      { path: 'src/api/a.ts', code: from('../../../bench/b.ts'), found: [/outside src/] },
      { path: 'src/api/a.test.ts', code: from('../../../test/b.ts'), found: [] },
      { path: 'src/api/a.ts', code: from('yaml'), found: [] },
      { path: 'src/api/a.ts', code: from('@scope/name/deep'), found: [] },
      { path: 'src/api/a.ts', code: from('fast-check'), found: [/fast-check is not among the dependencies/] },
      { path: 'src/api/a.test.ts', code: from('fast-check'), found: [] },
      { path: 'src/api/a.ts', code: from('node:fs'), found: [] },
      { path: 'src/api/a.ts', code: from('fs'), found: [/write node:fs/] },
    ],
    (root) =>
      withSourceFiles(root, (files) => importViolations({ files, dependencies: ['yaml', '@scope/name'] })),
  );
});

describe('the ban on time and chance', () => {
  const node = (code: string, ...found: RegExp[]): Planted => ({ path: 'src/node/a.ts', code, found });
  checks(
    [
      node('export const a = Date.now();', /Date\.now.*clock\.now/),
      node('export const now = Date.now;', /Date\.now/),
      node('export const a = new Date();', /new Date\(clock\.now\(\)\)/),
      node('export const a = Date();', /current time/),
      node('const { now } = Date; export { now };', /current time/),
      node('export const a = new Date(5);'),
      node('export const a = Date.parse("x");'),
      node('export const a = (x: unknown) => x instanceof Date;'),
      node('export let a: Date;'),
      node('setTimeout(() => {}, 1);', /setTimeout.*clock\.setTimeout/),
      node('setInterval(() => {}, 1);', /setInterval/),
      node('setImmediate(() => {});', /setImmediate/),
      node('globalThis.setTimeout(() => {}, 1);', /setTimeout/),
      node('export const later = setTimeout;', /setTimeout/),
      node('export const ports = { setTimeout };', /setTimeout/),
      node('export const a = (clock: any) => clock.setTimeout(() => {}, 1);'),
      node('export interface Clock { setTimeout(callback: () => void): void }'),
      node('export const clock = { setTimeout: () => {} };'),
      node("import { setTimeout as sleep } from 'node:timers/promises'; sleep(1);", /node:timers/),
      node('export const a = Math.random();', /Math\.random.*random\.next/),
      node('export const a = Math.floor(1);'),
      node('export const a = crypto.randomUUID();', /randomUUID/),
      node("import { randomBytes } from 'node:crypto'; randomBytes(1);", /randomBytes/),
      node("import { randomUUID as id } from 'crypto'; id();", /randomUUID/),
      node("import { createHash } from 'node:crypto'; createHash('sha256');"),
      node("import * as webcrypto from 'node:crypto'; webcrypto.getRandomValues(x);", /getRandomValues/),
      node('export const a = performance.now();', /performance\.now/),
      node("import { performance } from 'node:perf_hooks';", /performance/),
      node('export const a = process.hrtime.bigint();', /hrtime/),
      node('export const a = AbortSignal.timeout(5);', /AbortSignal\.timeout/),
      node('// Date.now() and setTimeout are only mentioned here'),
      node("export const help = 'uses Date.now() and Math.random()';"),
      { path: 'src/runtime/a.ts', code: 'export const a = Date.now();', found: [] },
      { path: 'src/dashboard/page/a.ts', code: 'export const a = Date.now();', found: [] },
      { path: 'src/node/a.test.ts', code: 'export const a = Date.now();', found: [] },
      { path: 'src/cli/a.ts', code: 'export const a = Date.now();', found: [/Date\.now/] },
    ],
    (root) => withSourceFiles(root, portViolations),
  );
});

describe('lookups by names from outside', () => {
  const server = (code: string, ...found: RegExp[]) => ({ path: 'src/apiserver/http/a.ts', code, found });
  const lookup = (body: string) =>
    `export function f(o: Record<string, string>, p: Record<string, string>, k: string) { ${body} }`;
  const missed = /is looked up by/;
  checks(
    [
      server(lookup('return o[k];'), missed),
      server(lookup("o[k] = 'x';"), missed),
      server(lookup('return k in o;'), missed),
      server(lookup('return o?.[k];'), missed),
      server(lookup("return o['a'];")),
      server(lookup('return Object.hasOwn(o, k) ? o[k] : undefined;')),
      server(lookup('return Object.hasOwn(p, k) ? o[k] : undefined;'), missed),
      server(lookup('for (const key in o) o[key];')),
      server(lookup('for (const key of Object.keys(o)) o[key];')),
      server(lookup('for (const key of Object.keys(o)) p[key];'), missed),
      server(lookup('return Object.keys(o).filter((key) => key).map((key) => o[key]);')),
      server(lookup('return Object.keys(o).map((key) => p[key]);'), missed),
      server(lookup("for (const key of ['a', 'b']) o[key];")),
      server(`const LIST = ['a']; ${lookup('for (const key of LIST) o[key];')}`),
      server('export const f = (a: string[], i: number) => a[i];'),
      server("export const f = (o: { a: 1; b: 2 }, k: 'a' | 'b') => o[k];"),
      { path: 'src/apiserver/http/a.test.ts', code: lookup('return o[k];'), found: [] },
      { path: 'src/node/a.ts', code: lookup('return o[k];'), found: [] },
    ],
    (root) => withSourceFiles(root, lookupViolations),
  );
});

test('exports and index files match both ways', () => {
  const root = mkdtempSync(join(tmpdir(), 'planted-'));
  try {
    for (const part of ['api', 'csi', 'node']) mkdirSync(join(root, 'src', part), { recursive: true });
    writeFileSync(join(root, 'src/api/index.ts'), '');
    writeFileSync(join(root, 'src/csi/index.ts'), '');
    const exports = {
      './package.json': './package.json',
      './api': { types: './dist/api/index.d.ts', default: './dist/api/index.js' },
      './node': { types: './dist/node/index.d.ts', default: './dist/node/index.js' },
    };
    const messages = exportViolations(root, { dependencies: {}, exports }).map(({ message }) => message);
    assert.equal(messages.length, 2);
    assert.match(messages[0] as string, /exports\["\.\/csi"\] must be/);
    assert.match(messages[1] as string, /exports\["\.\/node"\] has no src\/node\/index\.ts/);
  } finally {
    rmSync(root, { recursive: true });
  }
});
