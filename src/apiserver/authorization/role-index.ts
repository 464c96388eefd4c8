// Compiled roles, updated from the store. Aggregated ClusterRoles are computed here from the labels of the others, so
// they are up to date at once, whatever their stored rules are. Reads; writes nothing.

import type { ClusterRole } from '../../api/kinds.ts';
import { clusterRoles, roles } from '../../api/kinds.ts';
import { labelSelectorOf, matchesLabels, type ParsedSelector } from '../../api/selectors.ts';
import type { Reader } from '../pipeline.ts';
import { CompiledRules, type PolicyRule } from './policy-rules.ts';

export interface RoleRef {
  kind: string;
  name: string;
}

const NO_RULES = new CompiledRules([]);

/** Keyed by the rules object: servers that start from one image share it. */
const compiled = new WeakMap<readonly PolicyRule[], CompiledRules>();

function compile(rules: readonly PolicyRule[]): CompiledRules {
  let known = compiled.get(rules);
  if (known === undefined) {
    known = new CompiledRules(rules);
    compiled.set(rules, known);
  }
  return known;
}

function selectorsOf(role: ClusterRole): ParsedSelector[] {
  const parsed: ParsedSelector[] = [];
  for (const selector of role.aggregationRule?.clusterRoleSelectors ?? []) {
    try {
      parsed.push(labelSelectorOf(selector));
    } catch {
      // An invalid selector matches nothing; validation rejects it before it is stored.
    }
  }
  return parsed;
}

/** The rules that a ClusterRole grants, including those of the roles it aggregates, recursively. */
export function effectiveRules(role: ClusterRole, all: Iterable<ClusterRole>): readonly PolicyRule[] {
  if (!role.aggregationRule) return role.rules ?? [];
  const everyone = [...all].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const rules = new Map<string, PolicyRule>();
  const visited = new Set<string>([role.metadata.name]);
  const gather = (aggregated: ClusterRole) => {
    const selectors = selectorsOf(aggregated);
    for (const candidate of everyone) {
      const { name, labels } = candidate.metadata;
      if (visited.has(name) || !selectors.some((selector) => matchesLabels(selector, labels))) continue;
      visited.add(name);
      if (candidate.aggregationRule) gather(candidate);
      else for (const rule of candidate.rules ?? []) rules.set(JSON.stringify(rule), rule);
    }
  };
  gather(role);
  return [...rules.values()];
}

export interface RoleIndex {
  /** Whether the role exists that a binding in `namespace` refers to. */
  has(ref: RoleRef, namespace: string | undefined): boolean;
  /** Rules of the role that a binding in `namespace` (undefined: a ClusterRoleBinding) refers to. */
  rulesOf(ref: RoleRef, namespace: string | undefined): CompiledRules;
}

export function createRoleIndex(reader: Reader): RoleIndex {
  const compiledCluster = new Map<string, CompiledRules>();
  const compiledLocal = new Map<string, CompiledRules>();
  const aggregated = new Set<string>();

  reader.subscribe(clusterRoles, (before, after) => {
    const name = (after ?? before)?.metadata.name;
    if (name !== undefined) compiledCluster.delete(name);
    // Any role may be part of any aggregated one.
    for (const each of aggregated) compiledCluster.delete(each);
  });
  reader.subscribe(roles, (before, after) => {
    const metadata = (after ?? before)?.metadata;
    if (metadata) compiledLocal.delete(`${metadata.namespace}/${metadata.name}`);
  });

  function compileCluster(name: string): CompiledRules {
    const role = reader.get(clusterRoles, { name });
    if (!role) return NO_RULES;
    if (role.aggregationRule) aggregated.add(name);
    const rules = compile(effectiveRules(role, reader.list(clusterRoles)));
    compiledCluster.set(name, rules);
    return rules;
  }

  function compileLocal(namespace: string, name: string): CompiledRules {
    const role = reader.get(roles, { namespace, name });
    if (!role) return NO_RULES;
    const rules = compile(role.rules ?? []);
    compiledLocal.set(`${namespace}/${name}`, rules);
    return rules;
  }

  return {
    has({ kind, name }, namespace) {
      if (kind === 'ClusterRole') return reader.get(clusterRoles, { name }) !== undefined;
      return namespace !== undefined && reader.get(roles, { namespace, name }) !== undefined;
    },
    rulesOf({ kind, name }, namespace) {
      if (kind === 'ClusterRole') return compiledCluster.get(name) ?? compileCluster(name);
      if (kind !== 'Role' || namespace === undefined) return NO_RULES;
      return compiledLocal.get(`${namespace}/${name}`) ?? compileLocal(namespace, name);
    },
  };
}
