// The project's TypeScript files as syntax trees of the compiler, so that checks see code and not comments or strings
// that resemble it. The compiler's API is unstable: only this file uses it.
import { isAbsolute, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Node, SourceFile } from 'typescript/unstable/ast';
import { API } from 'typescript/unstable/sync';

export const projectRoot = fileURLToPath(new URL('..', import.meta.url));

export interface ParsedFile {
  /** Relative to the root, with forward slashes. */
  readonly path: string;
  readonly tree: SourceFile;
}

/** A violation at a position in a file. */
export interface Violation {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

/** Queries on the type of an expression. */
export interface TypeQuestions {
  /** True unless it is a number, a symbol, or a string of a closed set. */
  mayBeAnyText(expression: Node): boolean;
  isArray(expression: Node): boolean;
}

/** Parses the files of `<root>/tsconfig.json` and passes them to `use`; they are valid only during that call. */
export function withSourceFiles<R>(
  root: string,
  use: (files: readonly ParsedFile[], types: TypeQuestions) => R,
): R {
  const compiler = new API({ cwd: root });
  try {
    const snapshot = compiler.updateSnapshot({ openProject: join(root, 'tsconfig.json') });
    const project = snapshot.getProjects()[0];
    if (project === undefined) throw new Error(`${root} has no tsconfig.json`);
    const files = project.program.getSourceFileNames().flatMap((name) => {
      const path = relative(root, name).split(sep).join('/');
      if (path.startsWith('..') || isAbsolute(path) || path.startsWith('node_modules/')) return [];
      const tree = project.program.getSourceFile(name);
      return tree === undefined ? [] : [{ path, tree }];
    });
    const { checker } = project;
    const types: TypeQuestions = {
      mayBeAnyText(expression) {
        const type = checker.getTypeAtLocation(expression);
        if (type === undefined || checker.isTypeAssignableTo(type, checker.getNumberType())) return false;
        return checker.isTypeAssignableTo(checker.getStringType(), type);
      },
      isArray(expression) {
        const type = checker.getTypeAtLocation(expression);
        return type !== undefined && checker.isArrayLikeType(type);
      },
    };
    return use(
      files.sort((a, b) => (a.path < b.path ? -1 : 1)),
      types,
    );
  } finally {
    compiler.close();
  }
}

/** Passes `use` a function that returns those of the project's files that would have type errors with other texts. */
export function withTypeChecks<R>(root: string, use: (findErrors: TypeCheck) => R): R {
  let texts: ReadonlyMap<string, string> = new Map();
  const compiler = new API({ cwd: root, fs: { readFile: (name) => texts.get(relative(root, name)) } });
  try {
    let snapshot = compiler.updateSnapshot({ openProject: join(root, 'tsconfig.json') });
    return use((changed) => {
      // The files of the last call have their own text again.
      const names = [...new Set([...texts.keys(), ...changed.keys()])].map((path) => join(root, path));
      const before = snapshot;
      texts = changed;
      snapshot = compiler.updateSnapshot({ fileChanges: { changed: names } });
      before.dispose();
      const program = snapshot.getProjects()[0]?.program;
      return new Set(
        changed.keys().filter((path) => program?.getSemanticDiagnostics(join(root, path)).length !== 0),
      );
    });
  } finally {
    compiler.close();
  }
}

/** From paths, relative to the root, and their texts to the paths with errors. */
export type TypeCheck = (texts: ReadonlyMap<string, string>) => ReadonlySet<string>;

/** Every node, parents first. */
export function* nodesOf(tree: Node): Generator<Node> {
  const pending: Node[] = [tree];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    yield node;
    const children: Node[] = [];
    node.forEachChild((child) => {
      children.push(child);
      return undefined;
    });
    pending.push(...children.reverse());
  }
}

export function lineOf(tree: SourceFile, node: Node): number {
  const start = node.getStart(tree);
  return tree.text.slice(0, start).split('\n').length;
}

/** A test, or test support: files in a folder called `testing`. */
export const isTest = (path: string): boolean => path.endsWith('.test.ts') || path.includes('/testing/');

/** Prints the violations; true when there are none. */
export function printViolations(violations: readonly Violation[]): boolean {
  for (const { path, line, message } of violations) process.stdout.write(`${path}:${line}: ${message}\n`);
  return violations.length === 0;
}
