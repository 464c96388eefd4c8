// Prevents access to inherited properties (prototype pollution) by names that clients choose: in the API server's code
// the name in `object[name]` and `name in object` must be a literal, of a closed set by its type, or known to be an own
// property. Otherwise use a Map, or getOwn and setOwn of src/api/own-property.ts.
import {
  isArrayLiteralExpression,
  isArrowFunction,
  isBinaryExpression,
  isCallExpression,
  isElementAccessExpression,
  isForInStatement,
  isForOfStatement,
  isIdentifier,
  isPropertyAccessExpression,
  isStringLiteral,
  isVariableDeclaration,
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
  type TypeQuestions,
  type Violation,
  withSourceFiles,
} from './source-files.ts';

const GUARDED = ['src/api/', 'src/apiserver/'];
/** Exempt: the functions to use instead, and code that works on generated tables of names. */
const FREE = ['src/api/own-property.ts', 'src/api/protobuf/'];

interface Lookup {
  readonly node: Node;
  readonly object: Node;
  readonly key: Node;
}

export function lookupViolations(files: readonly ParsedFile[], types: TypeQuestions): Violation[] {
  return files
    .filter(({ path }) => isGuarded(path))
    .flatMap(({ path, tree }) =>
      [...lookupsIn(tree)]
        .filter(({ object, key }) => types.mayBeAnyText(key) && !types.isArray(object))
        .filter((lookup) => !isOwn(lookup))
        .map(({ node, object, key }) => ({
          path,
          line: lineOf(tree, node),
          message:
            `${object.getText()} is looked up by ${key.getText()}, which may be a name that all objects inherit: ` +
            'use a Map, getOwn and setOwn, or a type with a closed set of names',
        })),
    );
}

function isGuarded(path: string): boolean {
  const isFree = FREE.some((place) => path.startsWith(place));
  return GUARDED.some((folder) => path.startsWith(folder)) && !isFree && !isTest(path);
}

function* lookupsIn(tree: Node): Generator<Lookup> {
  for (const node of nodesOf(tree)) {
    if (isElementAccessExpression(node)) {
      yield { node, object: node.expression, key: node.argumentExpression };
    } else if (isBinaryExpression(node) && node.operatorToken.kind === SyntaxKind.InKeyword) {
      yield { node, object: node.right, key: node.left };
    }
  }
}

/** The enclosing function checks for an own property, or took the name from the object. */
function isOwn({ node, object, key }: Lookup): boolean {
  const [objectText, keyText] = [plain(object), key.getText()];
  for (const other of nodesOf(functionAround(node))) {
    if (isCallExpression(other) && other.expression.getText() === 'Object.hasOwn') {
      const [asked, name] = other.arguments;
      if (asked && name && plain(asked) === objectText && name.getText() === keyText) return true;
    }
    if ((isForOfStatement(other) || isForInStatement(other)) && contains(other, node)) {
      const isNamed = identifiersIn(other.initializer).includes(keyText);
      const from = isForInStatement(other) ? plain(other.expression) : ownNamesOf(other.expression);
      if (isNamed && (from === objectText || isWrittenOut(other.expression))) return true;
    }
    // `Object.keys(object).every((key) => object[key])`, and the like.
    if (isCallExpression(other) && isPropertyAccessExpression(other.expression) && contains(other, node)) {
      const [callback] = other.arguments;
      const isNamed =
        callback !== undefined &&
        isArrowFunction(callback) &&
        callback.parameters.some((parameter) => identifiersIn(parameter).includes(keyText));
      const listed = other.expression.expression;
      if (isNamed && (ownNamesOf(listed) === objectText || isWrittenOut(listed))) return true;
    }
  }
  return false;
}

/** The object whose keys an expression lists: `x` of `Object.keys(x)`, `Object.entries(x)`, also where filtered. */
function ownNamesOf(expression: Node): string | undefined {
  if (!isCallExpression(expression) || !isPropertyAccessExpression(expression.expression)) return undefined;
  const { name, expression: called } = expression.expression;
  if (!isIdentifier(called) || called.text !== 'Object') return ownNamesOf(called);
  const [first] = expression.arguments;
  return (name.text === 'keys' || name.text === 'entries') && first ? plain(first) : undefined;
}

/** A literal list of names: `['a', 'b']`, here or as a constant of the file. */
function isWrittenOut(list: Node): boolean {
  if (isArrayLiteralExpression(list)) return list.elements.every(isStringLiteral);
  if (!isIdentifier(list)) return false;
  let file: Node = list;
  while (file.parent !== undefined) file = file.parent;
  for (const node of nodesOf(file)) {
    if (!isVariableDeclaration(node) || !isIdentifier(node.name) || node.name.text !== list.text) continue;
    const value = node.initializer;
    return value !== undefined && isArrayLiteralExpression(value) && value.elements.every(isStringLiteral);
  }
  return false;
}

function functionAround(node: Node): Node {
  let around = node.parent;
  // Callbacks belong to their enclosing function.
  while (around.parent !== undefined && !isFunction(around)) around = around.parent;
  return around;
}

const FUNCTIONS = [
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.FunctionExpression,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.Constructor,
];

function isFunction(node: Node): boolean {
  return isArrowFunction(node) ? !isCallExpression(node.parent) : FUNCTIONS.includes(node.kind);
}

function contains(outer: Node, inner: Node): boolean {
  return outer.pos <= inner.pos && inner.end <= outer.end;
}

function identifiersIn(node: Node): string[] {
  return [...nodesOf(node)].flatMap((each) => (isIdentifier(each) ? [each.text] : []));
}

/** Strips type assertions, defaults and optional access. */
function plain(node: Node): string {
  return node
    .getText()
    .replace(/\?\./g, '.')
    .replace(/^\((.*) as [^()]*\)$/s, '$1')
    .replace(/^(.*) \?\? \{\}$/s, '$1')
    .replace(/\.$/, '');
}

if (import.meta.main) {
  process.exit(printViolations(withSourceFiles(projectRoot, lookupViolations)) ? 0 : 1);
}
