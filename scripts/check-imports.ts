// The import rule: which part of src/ may import which. Parts communicate through API objects and sockets, as in
// production; any other import is a design change and needs docs/ARCHITECTURE.md first. Also: shipped code imports only
// the `dependencies` of package.json and nothing from a `testing/` folder; and every part with an index.ts is exported
// as `berth/<part>`.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, posix } from 'node:path';
import {
  isCallExpression,
  isExportDeclaration,
  isImportDeclaration,
  isImportTypeNode,
  isLiteralTypeNode,
  isStringLiteral,
  type Node,
  SyntaxKind,
} from 'typescript/unstable/ast';
import {
  isTest,
  lineOf,
  nodesOf,
  type ParsedFile,
  printViolations,
  projectRoot,
  type Violation,
  withSourceFiles,
} from './source-files.ts';

const ground = ['api', 'wire', 'csi', 'runtime'];
const everything = '*';

/** The parts that each part may import, beside itself. */
export const allowedImports: Readonly<Record<string, readonly string[] | typeof everything>> = {
  wire: [],
  api: ['wire'],
  runtime: ['api', 'wire'],
  csi: ['api', 'wire', 'runtime'],
  'csi-plugin': ground,
  'control-plane': [...ground, 'csi-plugin'],
  node: [...ground, 'csi-plugin'],
  sidecars: ground,
  driver: ground,
  populator: ground,
  apiserver: ground,
  why: ground,
  trace: ground,
  check: ground,
  audit: [...ground, 'csi-plugin'],
  proxy: ground,
  faults: [...ground, 'proxy'],
  recording: [...ground, 'proxy'],
  manifests: ground,
  plan: [],
  demo: everything,
  try: everything,
  chaos: everything,
  'test-cluster': everything,
  dashboard: [...ground, 'why'],
  cluster: everything,
  simulation: everything,
  cli: everything,
};
/**
 * Tests beside the code may also import these, to use real parts instead of fakes. Not tests of src/wire, which imports
 * nothing else.
 */
const allowedInTests = [...ground, 'apiserver', 'driver', 'cluster', 'manifests'];

export interface ImportCheckOptions {
  readonly files: readonly ParsedFile[];
  /** The `dependencies` of package.json. */
  readonly dependencies: readonly string[];
}

export function importViolations({ files, dependencies }: ImportCheckOptions): Violation[] {
  return files
    .filter(({ path }) => path.startsWith('src/'))
    .flatMap((file) =>
      specifiersOf(file).flatMap(({ specifier, node }) => {
        const message = specifier.startsWith('.')
          ? relativeProblem(file.path, specifier)
          : packageProblem(file.path, specifier, dependencies);
        return message === undefined ? [] : [{ path: file.path, line: lineOf(file.tree, node), message }];
      }),
    );
}

function specifiersOf({ tree }: ParsedFile): { specifier: string; node: Node }[] {
  const found: { specifier: string; node: Node }[] = [];
  for (const node of nodesOf(tree)) {
    const text = specifierNode(node);
    if (text !== undefined && isStringLiteral(text)) found.push({ specifier: text.text, node });
  }
  return found;
}

function specifierNode(node: Node): Node | undefined {
  if (isImportDeclaration(node) || isExportDeclaration(node)) return node.moduleSpecifier;
  if (isCallExpression(node) && node.expression.kind === SyntaxKind.ImportKeyword) return node.arguments[0];
  if (isImportTypeNode(node) && isLiteralTypeNode(node.argument)) return node.argument.literal;
  return undefined;
}

function relativeProblem(path: string, specifier: string): string | undefined {
  const target = posix.join(posix.dirname(path), specifier);
  if (isTest(target) && !isTest(path)) return `${specifier} is test support, which is not shipped`;
  const from = partOf(path);
  const to = partOf(target);
  if (to === undefined) {
    return isTest(path) ? undefined : `${specifier} is outside src/, and only src/ is shipped`;
  }
  if (from === to || from === undefined) return undefined;
  const allowed = allowedImports[from];
  if (allowed === undefined)
    return `src/${from} is not in the import rule; add it to scripts/check-imports.ts`;
  if (allowed === everything || allowed.includes(to)) return undefined;
  if (isTest(path) && from !== 'wire' && allowedInTests.includes(to)) return undefined;
  return `${from} must not import ${to} (${specifier}); it may import ${allowed.join(', ') || 'nothing'}`;
}

/** The folder below src/; undefined outside of one. */
function partOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1];
}

function packageProblem(
  path: string,
  specifier: string,
  dependencies: readonly string[],
): string | undefined {
  // Tests are not shipped.
  if (isTest(path)) return undefined;
  if (isBuiltin(specifier)) {
    return specifier.startsWith('node:') ? undefined : `write node:${specifier}`;
  }
  const name = specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
  if (dependencies.includes(name)) return undefined;
  return `${name} is not among the dependencies in package.json, so it would be missing where Berth is installed`;
}

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
}

/** Exported under another name: a folder called `testing` holds what is not shipped. */
const exportNames: Readonly<Record<string, string>> = { 'test-cluster': 'testing' };

/** Every `src/<part>/index.ts` is exported as `./<part>`, or as `exportNames` says, and nothing else is. */
export function exportViolations(root: string, manifest: Manifest): Violation[] {
  const parts = readdirSync(join(root, 'src')).filter((part) =>
    existsSync(join(root, 'src', part, 'index.ts')),
  );
  const expected = new Map(parts.map((part) => [`./${exportNames[part] ?? part}`, exportOf(part)]));
  const problems: string[] = [];
  for (const [name, entry] of expected) {
    if (JSON.stringify(manifest.exports[name]) !== JSON.stringify(entry)) {
      problems.push(`exports["${name}"] must be ${JSON.stringify(entry)}`);
    }
  }
  for (const name of Object.keys(manifest.exports)) {
    if (name !== './package.json' && !expected.has(name)) {
      problems.push(`exports["${name}"] has no src/${name.slice(2)}/index.ts`);
    }
  }
  return problems.map((message) => ({ path: 'package.json', line: 1, message }));
}

function exportOf(part: string): { types: string; default: string } {
  return { types: `./dist/${part}/index.d.ts`, default: `./dist/${part}/index.js` };
}

if (import.meta.main) {
  const manifest = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as Manifest;
  const dependencies = Object.keys(manifest.dependencies);
  const violations = withSourceFiles(projectRoot, (files) => importViolations({ files, dependencies }));
  process.exit(printViolations([...violations, ...exportViolations(projectRoot, manifest)]) ? 0 : 1);
}
