// Time and randomness only through ports: outside src/runtime no code may read the clock, set a timer or draw a random
// number directly, or the simulation could not replay a run. Tests, scripts and the browser code are exempt.
import {
  type Identifier,
  isBinaryExpression,
  isCallExpression,
  isIdentifier,
  isImportDeclaration,
  isNamedImports,
  isNewExpression,
  isPropertyAccessExpression,
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

const TIMERS = ['setTimeout', 'setInterval', 'setImmediate'];
const RANDOM_OF_CRYPTO = ['randomUUID', 'randomBytes', 'randomInt', 'randomFill', 'getRandomValues'];
const TIMER_MODULES = ['node:timers', 'node:timers/promises', 'timers', 'timers/promises'];

/** Members of global objects that are banned, with what to use instead. */
const MEMBERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Date: { now: 'clock.now()' },
  Math: { random: 'random.next()' },
  performance: { now: 'clock.monotonicMs()', timeOrigin: 'clock.now()' },
  process: { hrtime: 'clock.monotonicMs()', uptime: 'clock.monotonicMs()' },
  AbortSignal: { timeout: 'clock.setTimeout and an AbortController' },
};

export function portViolations(files: readonly ParsedFile[]): Violation[] {
  return files
    .filter(({ path }) => isGuarded(path))
    .flatMap((file) => {
      const violations: Violation[] = [];
      for (const node of nodesOf(file.tree)) {
        const message = problemOf(node);
        if (message !== undefined)
          violations.push({ path: file.path, line: lineOf(file.tree, node), message });
      }
      return violations;
    });
}

function isGuarded(path: string): boolean {
  const isFree = ['src/runtime/', 'src/dashboard/page/'].some((folder) => path.startsWith(folder));
  return path.startsWith('src/') && !isFree && !isTest(path);
}

function problemOf(node: Node): string | undefined {
  if (isImportDeclaration(node) && isStringLiteral(node.moduleSpecifier)) return importProblem(node);
  if (isPropertyAccessExpression(node)) return memberProblem(node.expression, node.name.text);
  if (isIdentifier(node)) return identifierProblem(node);
  return undefined;
}

function importProblem(node: Node): string | undefined {
  if (!isImportDeclaration(node) || !isStringLiteral(node.moduleSpecifier)) return undefined;
  const from = node.moduleSpecifier.text;
  if (TIMER_MODULES.includes(from)) return `${from} is not for here: take a clock`;
  const bindings = node.importClause?.namedBindings;
  if (bindings === undefined || !isNamedImports(bindings)) return undefined;
  for (const element of bindings.elements) {
    const name = element.propertyName?.text ?? element.name.text;
    if (/^(node:)?crypto$/.test(from) && RANDOM_OF_CRYPTO.includes(name))
      return `${name} is not for here: take a random`;
    if (/^(node:)?perf_hooks$/.test(from) && name === 'performance')
      return 'performance is not for here: take a clock';
  }
  return undefined;
}

function memberProblem(object: Node, member: string): string | undefined {
  const name = isIdentifier(object)
    ? object.text
    : isPropertyAccessExpression(object)
      ? object.name.text
      : undefined;
  if (name === undefined) return undefined;
  // `globalThis.setTimeout` is the same global.
  if (name === 'globalThis' && TIMERS.includes(member)) return `${member} is not for here: take a clock`;
  if (/crypto$/i.test(name) && RANDOM_OF_CRYPTO.includes(member))
    return `${name}.${member} is not for here: take a random`;
  const members = Object.hasOwn(MEMBERS, name) ? MEMBERS[name] : undefined;
  const instead = members !== undefined && Object.hasOwn(members, member) ? members[member] : undefined;
  return instead === undefined ? undefined : `${name}.${member} is not for here: use ${instead}`;
}

function identifierProblem(node: Identifier): string | undefined {
  if (!isReference(node)) return undefined;
  if (TIMERS.includes(node.text))
    return `${node.text} is not for here: use clock.${node.text === 'setInterval' ? 'setTimeout' : node.text}`;
  if (node.text === 'Date' && readsTheClock(node))
    return 'the current time is not for here: use new Date(clock.now())';
  return undefined;
}

/** A use of the value of this name; not a member, a declaration or a type. */
function isReference(node: Identifier): boolean {
  const { parent } = node;
  if (isPropertyAccessExpression(parent)) return parent.expression === node;
  const named = parent as Node & { name?: Node };
  if (named.name === node) return parent.kind === SyntaxKind.ShorthandPropertyAssignment;
  const elsewhere = [SyntaxKind.TypeReference, SyntaxKind.TypeQuery, SyntaxKind.ImportSpecifier];
  return !elsewhere.includes(parent.kind);
}

/** `Date(…)`, `new Date()`, or `Date` passed as a value; not `new Date(x)`, `Date.parse`, `x instanceof Date`. */
function readsTheClock(node: Identifier): boolean {
  const { parent } = node;
  if (isNewExpression(parent) && parent.expression === node) return (parent.arguments?.length ?? 0) === 0;
  if (isPropertyAccessExpression(parent)) return false;
  if (isBinaryExpression(parent)) return parent.operatorToken.kind !== SyntaxKind.InstanceOfKeyword;
  return isCallExpression(parent) || parent.kind === SyntaxKind.VariableDeclaration;
}

if (import.meta.main) {
  process.exit(printViolations(withSourceFiles(projectRoot, portViolations)) ? 0 : 1);
}
