// Merges the variants of a deployment into one tree with conditions: what a variant lacks depends on the switch that it has
// off. Fields, elements of lists and booleans may depend on switches; any other value must be the same in all variants. Pure.

import type { Expressions } from './expressions.ts';

/** The deployment with one switch off. */
export interface Variant {
  /** The template condition of the switch. */
  condition: string;
  tree: unknown;
}

type Tree = Record<string, unknown>;
const isTree = (value: unknown): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A merged value; `when` is the condition under which there is anything in it. */
interface Merged {
  value: unknown;
  when?: string | undefined;
}
type Child = Merged & { key: string };

/** `base` has every switch on. */
export function mergeVariants(base: unknown, variants: readonly Variant[], to: Expressions): Merged {
  if (Array.isArray(base)) {
    const lists = variants.map(({ condition, tree }) => ({ condition, tree: keyed(tree) }));
    const children = mergedChildren(keyed(base), lists, to);
    const when = jointCondition(children);
    return { value: withConditions(children, when, to).map(({ value }) => value), when };
  }
  if (isTree(base)) {
    const children = mergedChildren(base, variants, to);
    const when = jointCondition(children);
    const entries = withConditions(children, when, to).map(({ key, value }) => [key, value] as const);
    return { value: Object.fromEntries(entries), when };
  }
  const other = variants.find(({ tree }) => tree !== base);
  if (other === undefined) return { value: base };
  if (base !== true || other.tree !== false) {
    throw new Error(`${JSON.stringify(base)} is ${JSON.stringify(other.tree)} without ${other.condition}`);
  }
  return { value: to.value(other.condition) };
}

function mergedChildren(base: Tree, variants: readonly Variant[], to: Expressions): Child[] {
  for (const { condition, tree } of variants) {
    const more = Object.keys(tree as Tree).find((key) => !Object.hasOwn(base, key));
    if (more !== undefined) throw new Error(`${more} is there only without ${condition}`);
  }
  return Object.entries(base).map(([key, value]) => {
    const parts = variants.map(({ condition, tree }) => ({ condition, tree: (tree as Tree)[key] }));
    const lacking = parts.filter(({ tree }) => tree === undefined);
    const merged = mergeVariants(
      value,
      parts.filter(({ tree }) => tree !== undefined),
      to,
    );
    const conditions = [
      ...lacking.map(({ condition }) => condition),
      ...(merged.when === undefined ? [] : [merged.when]),
    ];
    return { key, value: merged.value, when: joined('and', conditions) };
  });
}

/** Where everything depends on something, the whole does: an empty list would mean something else than none. */
function jointCondition(children: readonly Child[]): string | undefined {
  const conditions = new Set(children.map(({ when }) => when));
  return conditions.has(undefined) ? undefined : joined('or', [...conditions] as string[]);
}

const joined = (operator: 'and' | 'or', conditions: readonly string[]): string | undefined =>
  conditions.length > 1
    ? `${operator} ${conditions.map((each) => (each.includes(' ') ? `(${each})` : each)).join(' ')}`
    : conditions[0];

/** Lines that begin and end the conditions are put between them, unless that of the whole says the same. */
function withConditions(children: readonly Child[], whole: string | undefined, to: Expressions): Child[] {
  const line = (statement: string): Child => {
    const text = to.line(statement);
    return { key: text, value: text };
  };
  let open: string | undefined;
  const result: Child[] = [];
  for (const child of children) {
    const needed = child.when === whole ? undefined : child.when;
    if (open !== undefined && needed !== open) result.push(line('end'));
    if (needed !== undefined && needed !== open) result.push(line(`if ${needed}`));
    open = needed;
    result.push(child);
  }
  if (open !== undefined) result.push(line('end'));
  return result;
}

/** A list as a map, so that elements are found again: by kind and name, by name, by what they are, or by place. */
function keyed(list: unknown): Tree {
  const tree: Tree = {};
  for (const element of list as unknown[]) {
    const { kind, name, metadata } = (isTree(element) ? element : {}) as {
      kind?: string;
      name?: string;
      metadata?: { name?: string };
    };
    const named = name ?? (metadata?.name && `${kind} ${metadata.name}`);
    // What has no name and holds more than plain values is known by its place.
    const isPlain = !isTree(element) || Object.values(element).every((value) => typeof value !== 'object');
    const key = named ?? (isPlain ? JSON.stringify(element) : 'element');
    let count = 0;
    while (Object.hasOwn(tree, `${key}#${count}`)) count++;
    tree[`${key}#${count}`] = element;
  }
  return tree;
}
