// Selectors: label selectors as text and as objects, field selectors, and node selector terms. Parsing refuses what
// Kubernetes refuses; matching is pure.

import type { LabelSelector } from 'kubernetes-types/meta/v1.js';
import type { NodeSelectorRequirement, NodeSelectorTerm, PersistentVolume } from './kinds.ts';
import { labelKeyProblems, labelValueProblems } from './names.ts';
import { getOwn } from './own-property.ts';

export class SelectorError extends Error {
  override readonly name = 'SelectorError';
}

export type Operator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt';

export interface Requirement {
  readonly key: string;
  readonly operator: Operator;
  readonly values: readonly string[];
}

/** All requirements must hold; none matches everything. */
export interface ParsedSelector {
  readonly requirements: readonly Requirement[];
  /** Set for the selector that matches nothing (a nil LabelSelector). */
  readonly nothing?: true;
}

export const SELECT_NOTHING: ParsedSelector = { requirements: [], nothing: true };

/** Limit per selector: each requirement is evaluated for every object of a kind. */
const MAX_REQUIREMENTS = 500;
const MAX_VALUES = 1_000;

const TOKEN = /\s*(==|!=|=|[(),!<>]|[^\s=!(),<>]+)/y;

function tokenize(text: string): string[] {
  const tokens: string[] = [];
  const end = text.trimEnd().length;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < end) {
    const at = TOKEN.lastIndex;
    const token = TOKEN.exec(text)?.[1];
    if (token === undefined) throw new SelectorError(`unable to parse requirement: unexpected text at ${at}`);
    tokens.push(token);
  }
  return tokens;
}

/** `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>5`. Throws a SelectorError. */
export function parseLabelSelector(text: string): ParsedSelector {
  const tokens = tokenize(text);
  const requirements: Requirement[] = [];
  let at = 0;
  const take = (): string | undefined => tokens[at++];
  const isWord = (token: string | undefined): token is string =>
    token !== undefined && !/^(==|!=|=|[(),!<>])$/.test(token);
  const unexpected = (token: string | undefined, expected: string): SelectorError =>
    new SelectorError(`unable to parse requirement: found '${token ?? ''}', expected: ${expected}`);

  const parseValues = (): string[] => {
    const open = take();
    if (open !== '(') throw unexpected(open, "'('");
    const values: string[] = [];
    for (;;) {
      // An empty value is legal: `x in (,a)`.
      values.push(isWord(tokens[at]) ? (take() as string) : '');
      const token = take();
      if (token === ')') return values;
      if (token !== ',') throw unexpected(token, "',', or ')'");
    }
  };

  while (at < tokens.length) {
    if (tokens[at] === '!') {
      at++;
      const key = take();
      if (!isWord(key)) throw unexpected(key, 'identifier');
      requirements.push(requirement(key, 'DoesNotExist', []));
    } else {
      const key = take();
      if (!isWord(key)) throw unexpected(key, '!, identifier, or end of string');
      const operator = tokens[at];
      if (operator === undefined || operator === ',') {
        requirements.push(requirement(key, 'Exists', []));
      } else {
        at++;
        if (operator === '=' || operator === '==' || operator === '!=') {
          const value = isWord(tokens[at]) ? (take() as string) : '';
          requirements.push(requirement(key, operator === '!=' ? 'NotIn' : 'In', [value]));
        } else if (operator === 'in' || operator === 'notin') {
          requirements.push(requirement(key, operator === 'in' ? 'In' : 'NotIn', parseValues()));
        } else if (operator === '>' || operator === '<') {
          const value = take();
          if (!isWord(value)) throw unexpected(value, 'identifier');
          requirements.push(requirement(key, operator === '>' ? 'Gt' : 'Lt', [value]));
        } else {
          throw unexpected(operator, 'in, notin, =, ==, !=, gt, lt');
        }
      }
    }
    if (at < tokens.length) {
      const separator = take();
      if (separator !== ',') throw unexpected(separator, "',' or end of string");
      if (at === tokens.length) throw unexpected('', "identifier after ','");
    }
  }
  limitSize(
    requirements.length,
    requirements.reduce((sum, { values }) => sum + values.length, 0),
  );
  return { requirements };
}

function limitSize(requirements: number, values: number): void {
  if (requirements > MAX_REQUIREMENTS) {
    throw new SelectorError(
      `a selector may have ${MAX_REQUIREMENTS} requirements, this one has ${requirements}`,
    );
  }
  if (values > MAX_VALUES) {
    throw new SelectorError(`a selector may have ${MAX_VALUES} values, this one has ${values}`);
  }
}

function requirement(key: string, operator: Operator, values: string[]): Requirement {
  const keyProblems = labelKeyProblems(key);
  if (keyProblems.length > 0)
    throw new SelectorError(`key: Invalid value: "${key}": ${keyProblems.join('; ')}`);
  for (const [index, value] of values.entries()) {
    const problems = labelValueProblems(value);
    if (problems.length > 0) {
      throw new SelectorError(`values[${index}][${key}]: Invalid value: "${value}": ${problems.join('; ')}`);
    }
  }
  if (operator === 'Gt' || operator === 'Lt') {
    if (!isInteger(values[0])) {
      throw new SelectorError(
        `values[0]: Invalid value: "${values[0]}": for 'Gt', 'Lt' operators, the value must be an integer`,
      );
    }
  } else if ((operator === 'In' || operator === 'NotIn') && values.length === 0) {
    throw new SelectorError(
      "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
    );
  }
  return { key, operator, values };
}

/** An absent LabelSelector matches nothing, an empty one everything. Throws a SelectorError. */
export function labelSelectorOf(selector: LabelSelector | undefined): ParsedSelector {
  if (!selector) return SELECT_NOTHING;
  const requirements = Object.entries(selector.matchLabels ?? {}).map(([key, value]) =>
    requirement(key, 'In', [value]),
  );
  for (const { key, operator, values = [] } of selector.matchExpressions ?? []) {
    if (operator !== 'In' && operator !== 'NotIn' && operator !== 'Exists' && operator !== 'DoesNotExist') {
      throw new SelectorError(`"${operator}" is not a valid label selector operator`);
    }
    requirements.push(requirement(key, operator, values));
  }
  return { requirements };
}

export function matchesLabels(
  selector: ParsedSelector,
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  return !selector.nothing && selector.requirements.every((each) => holds(each, getOwn(labels, each.key)));
}

function holds({ operator, values }: Requirement, actual: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return actual !== undefined && values.includes(actual);
    case 'NotIn':
      return actual === undefined || !values.includes(actual);
    case 'Exists':
      return actual !== undefined;
    case 'DoesNotExist':
      return actual === undefined;
    case 'Gt':
    case 'Lt': {
      if (actual === undefined || !isInteger(actual) || !isInteger(values[0])) return false;
      const [left, right] = [BigInt(actual), BigInt(values[0])];
      return operator === 'Gt' ? left > right : left < right;
    }
  }
}

function isInteger(text: string | undefined): text is string {
  return text !== undefined && /^[+-]?[0-9]+$/.test(text);
}

export interface FieldRequirement {
  readonly field: string;
  readonly equals: boolean;
  readonly value: string;
}

/** The common case. */
const ONE_FIELD = /^([\w.]+)=([\w.:-]*)$/;

/** `metadata.name=x,status.phase!=y`; a backslash escapes comma, equals sign and itself. Throws a SelectorError. */
export function parseFieldSelector(text: string): FieldRequirement[] {
  const [, onlyField, onlyValue] = ONE_FIELD.exec(text) ?? [];
  if (onlyField !== undefined && onlyValue !== undefined) {
    return [{ field: onlyField, equals: true, value: onlyValue }];
  }
  const terms = splitEscaped(text).filter((term) => term !== '');
  limitSize(terms.length, 0);
  return terms.map((term) => {
    const match = /^((?:[^\\=!]|\\.)*?)(!=|==|=)((?:[^\\=]|\\.)*)$/.exec(term);
    if (!match) throw new SelectorError(`invalid selector: '${text}'; can't understand '${term}'`);
    const [, field = '', operator, value = ''] = match;
    return { field: unescaped(field), equals: operator !== '!=', value: unescaped(value) };
  });
}

function splitEscaped(text: string): string[] {
  const terms: string[] = [];
  let term = '';
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\' && at + 1 < text.length) term += text[at++];
    else if (text[at] === ',') {
      terms.push(term);
      term = '';
      continue;
    }
    term += text[at];
  }
  return [...terms, term];
}

function unescaped(text: string): string {
  if (/\\(?![\\,=])/.test(text.replaceAll('\\\\', ''))) {
    throw new SelectorError(`invalid field selector: invalid escape sequence in ${text}`);
  }
  return text.replace(/\\([\\,=])/g, '$1');
}

/** A field that the object does not have counts as ''. */
export function matchesFields(
  requirements: readonly FieldRequirement[],
  fieldOf: (field: string) => string | undefined,
): boolean {
  return requirements.every(({ field, equals, value }) => ((fieldOf(field) ?? '') === value) === equals);
}

/** Whether the volume's node affinity admits a node of this name with these labels. */
export function affinityAdmits({ spec }: PersistentVolume, node: NamedAndLabelled): boolean {
  const required = spec.nodeAffinity?.required;
  return required === undefined || matchesNodeSelectorTerms(required.nodeSelectorTerms, node);
}

type NamedAndLabelled = { metadata: { name: string; labels?: Record<string, string> } };

/** Terms are alternatives; within one, all must hold. No terms, and an empty term, match no node. */
export function matchesNodeSelectorTerms(
  terms: readonly NodeSelectorTerm[] | undefined,
  node: NamedAndLabelled,
): boolean {
  return (terms ?? []).some(({ matchExpressions = [], matchFields = [] }) => {
    if (matchExpressions.length === 0 && matchFields.length === 0) return false;
    return (
      matchExpressions.every((each) =>
        holds(nodeRequirement(each), getOwn(node.metadata.labels, each.key)),
      ) &&
      matchFields.every((each) =>
        holds(nodeRequirement(each), each.key === 'metadata.name' ? node.metadata.name : undefined),
      )
    );
  });
}

function nodeRequirement({ key, operator, values = [] }: NodeSelectorRequirement): Requirement {
  return { key, operator: operator as Operator, values };
}
