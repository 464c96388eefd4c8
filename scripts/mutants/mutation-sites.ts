// The mutation sites of a source file: operators, literals and statements that can be replaced so that the program
// still parses and behaves differently. Pure.
import {
  isBinaryExpression,
  isConditionalExpression,
  isContinueStatement,
  isIfStatement,
  isLiteralTypeNode,
  isPrefixUnaryExpression,
  isReturnStatement,
  type Node,
  type SourceFile,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { lineOf, nodesOf, type ParsedFile } from '../source-files.ts';

export interface Mutation {
  readonly path: string;
  readonly line: number;
  /** Offsets of the text to replace. */
  readonly start: number;
  readonly end: number;
  readonly before: string;
  readonly after: string;
  /** The expression or statement around it, and its text with the change, for sources that hold several mutants. */
  readonly whole: {
    readonly start: number;
    readonly end: number;
    readonly after: string;
    readonly isStatement: boolean;
  };
}

/** Replacements that keep the types: a mutant that does not compile proves nothing. */
const swaps = new Map<SyntaxKind, string>([
  [SyntaxKind.EqualsEqualsEqualsToken, '!=='],
  [SyntaxKind.ExclamationEqualsEqualsToken, '==='],
  [SyntaxKind.LessThanToken, '<='],
  [SyntaxKind.LessThanEqualsToken, '<'],
  [SyntaxKind.GreaterThanToken, '>='],
  [SyntaxKind.GreaterThanEqualsToken, '>'],
  [SyntaxKind.AmpersandAmpersandToken, '||'],
  [SyntaxKind.BarBarToken, '&&'],
  [SyntaxKind.MinusToken, '+'],
]);

export function mutationsOf({ path, tree }: ParsedFile): Mutation[] {
  const found: Mutation[] = [];
  const text = (node: Node): string => tree.text.slice(node.getStart(tree), node.end);
  const replace = (node: Node, after: string, whole: Node = node): void => {
    const [start, from, to] = [node.getStart(tree), whole.getStart(tree), whole.end];
    found.push({
      path,
      line: lineOf(tree, node),
      start,
      end: node.end,
      before: text(node),
      after,
      whole: {
        start: from,
        end: to,
        after: tree.text.slice(from, start) + after + tree.text.slice(node.end, to),
        isStatement: isContinueStatement(node) || isReturnStatement(node),
      },
    });
  };
  const types = literalTypes(tree);
  for (const node of nodesOf(tree)) {
    if (isBinaryExpression(node)) {
      const swapped = swaps.get(node.operatorToken.kind);
      if (swapped !== undefined) replace(node.operatorToken, swapped, node);
      if (node.operatorToken.kind === SyntaxKind.QuestionQuestionToken) replace(node, text(node.left));
    }
    if (isIfStatement(node)) replace(node.expression, `!(${text(node.expression)})`);
    if (isConditionalExpression(node)) replace(node.condition, `!(${text(node.condition)})`);
    if (isContinueStatement(node)) replace(node, ';');
    if (isReturnStatement(node) && node.expression === undefined) replace(node, ';');
    if (isPrefixUnaryExpression(node) && node.operator === SyntaxKind.ExclamationToken) {
      replace(node, text(node.operand));
    }
    if (node.kind === SyntaxKind.TrueKeyword && !types.has(node)) replace(node, 'false');
    if (node.kind === SyntaxKind.FalseKeyword && !types.has(node)) replace(node, 'true');
  }
  return found;
}

/** `true` and `false` as types, which do not exist at run time. */
function literalTypes(tree: SourceFile): Set<Node> {
  const found = new Set<Node>();
  for (const node of nodesOf(tree)) if (isLiteralTypeNode(node)) found.add(node.literal);
  return found;
}
