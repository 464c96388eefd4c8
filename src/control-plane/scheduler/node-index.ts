// Nodes indexed by label, so that a pod with few possible nodes checks only those. An answer may include nodes that do
// not fit, but never omits one that does; the checks come after.

import type { Node, NodeSelectorRequirement, NodeSelectorTerm } from '../../api/kinds.ts';
import type { NodeInfo } from './node-info.ts';

/** Alternatives, as in node affinity; all constraints of a pod must hold. */
export type Constraint = readonly NodeSelectorTerm[];

const NAME_FIELD = 'metadata.name';
const tokenOf = (key: string, value: string): string => `${key}=${value}`;

export class NodeIndex {
  readonly #byToken = new Map<string, Map<string, NodeInfo>>();
  readonly #all = new Map<string, NodeInfo>();
  /** Lists made from the maps above, dropped when these change, which is rare. */
  #lists = new Map<string, NodeInfo[]>();

  get size(): number {
    return this.#all.size;
  }

  all(): readonly NodeInfo[] {
    return this.#list('', this.#all);
  }

  put(info: NodeInfo, before: Node | undefined, after: Node | undefined): void {
    if (before && after && before.metadata.labels === after.metadata.labels) return;
    const [old, current] = [tokensOf(before), tokensOf(after)];
    for (const token of old) if (!current.has(token)) this.#remove(token, info.name);
    for (const token of current) if (!old.has(token)) this.#add(token, info);
    if (before && !after) this.#all.delete(info.name);
    if (!before && after) this.#all.set(info.name, info);
    if (!before !== !after) this.#lists.delete('');
  }

  /** The candidates of the most selective constraint. */
  candidates(constraints: readonly Constraint[]): readonly NodeInfo[] {
    let best: { tokens: string[]; size: number } | undefined;
    for (const constraint of constraints) {
      const tokens = this.#tokensFor(constraint);
      if (!tokens) continue;
      const size = this.#sizeOf(tokens);
      if (!best || size < best.size) best = { tokens, size };
    }
    if (!best || best.size >= this.#all.size) return this.all();
    const [only, ...rest] = best.tokens;
    if (only === undefined) return [];
    if (rest.length === 0) return this.#list(only, this.#byToken.get(only));
    const found = new Map<string, NodeInfo>();
    for (const token of best.tokens) {
      for (const [name, info] of this.#byToken.get(token) ?? []) found.set(name, info);
    }
    return [...found.values()];
  }

  /** Every node that meets the constraint has one of these tokens; undefined where the constraint is not selective. */
  #tokensFor(constraint: Constraint): string[] | undefined {
    const tokens: string[] = [];
    for (const { matchExpressions = [], matchFields = [] } of constraint) {
      if (matchExpressions.length === 0 && matchFields.length === 0) continue;
      const choices = [...matchExpressions, ...matchFields].flatMap((each) => {
        const choice = tokensOfRequirement(each);
        return choice ? [choice] : [];
      });
      const smallest = choices.sort((a, b) => this.#sizeOf(a) - this.#sizeOf(b))[0];
      if (!smallest) return undefined;
      tokens.push(...smallest);
    }
    return tokens;
  }

  #sizeOf(tokens: readonly string[]): number {
    return tokens.reduce((sum, token) => sum + (this.#byToken.get(token)?.size ?? 0), 0);
  }

  #list(token: string, infos: ReadonlyMap<string, NodeInfo> | undefined): readonly NodeInfo[] {
    if (!infos) return [];
    let list = this.#lists.get(token);
    if (!list) {
      list = [...infos.values()];
      this.#lists.set(token, list);
    }
    return list;
  }

  #add(token: string, info: NodeInfo): void {
    const infos = this.#byToken.get(token) ?? new Map<string, NodeInfo>();
    this.#byToken.set(token, infos.set(info.name, info));
    this.#lists.delete(token);
  }

  #remove(token: string, name: string): void {
    const infos = this.#byToken.get(token);
    infos?.delete(name);
    if (infos?.size === 0) this.#byToken.delete(token);
    this.#lists.delete(token);
  }
}

function tokensOf(node: Node | undefined): Set<string> {
  if (!node) return new Set();
  const labels = Object.entries(node.metadata.labels ?? {});
  return new Set([
    tokenOf(NAME_FIELD, node.metadata.name),
    ...labels.map(([key, value]) => tokenOf(key, value)),
  ]);
}

function tokensOfRequirement({ key, operator, values = [] }: NodeSelectorRequirement): string[] | undefined {
  return operator === 'In' ? values.map((value) => tokenOf(key, value)) : undefined;
}
