// RBAC rules: what a rule allows, and whether one set of rules covers another. Pure.

import type { PolicyRule } from 'kubernetes-types/rbac/v1.js';
import type { Attributes } from '../pipeline.ts';

export type { PolicyRule };

/** resourceNames of a rule; undefined when it is not restricted. */
type Names = ReadonlySet<string> | undefined;

/** Rules compiled into lookups: verb, then group, then resource, then the names. */
export class CompiledRules {
  readonly rules: readonly PolicyRule[];
  readonly #resources = new Map<string, Map<string, Map<string, Names>>>();
  readonly #paths = new Map<string, string[]>();

  constructor(rules: readonly PolicyRule[]) {
    this.rules = rules;
    for (const rule of rules) this.#add(rule);
  }

  #add(rule: PolicyRule): void {
    const names = rule.resourceNames?.length ? rule.resourceNames : undefined;
    for (const verb of rule.verbs ?? []) {
      for (const group of rule.apiGroups ?? []) {
        const byGroup = this.#resources.get(verb) ?? new Map<string, Map<string, Names>>();
        this.#resources.set(verb, byGroup);
        const byResource = byGroup.get(group) ?? new Map<string, Names>();
        byGroup.set(group, byResource);
        for (const resource of rule.resources ?? []) {
          const known = byResource.get(resource);
          const unlimited = !names || (byResource.has(resource) && known === undefined);
          byResource.set(resource, unlimited ? undefined : new Set([...(known ?? []), ...names]));
        }
      }
      if (rule.nonResourceURLs?.length) {
        this.#paths.set(verb, [...(this.#paths.get(verb) ?? []), ...rule.nonResourceURLs]);
      }
    }
  }

  allows(attributes: Attributes): boolean {
    return this.#allowsVerb(attributes.verb, attributes) || this.#allowsVerb('*', attributes);
  }

  #allowsVerb(verb: string, attributes: Attributes): boolean {
    const { group = '', plural, path = '' } = attributes;
    if (plural === undefined) {
      return this.#paths.get(verb)?.some((pattern) => pathMatches(pattern, path)) ?? false;
    }
    const byGroup = this.#resources.get(verb);
    if (!byGroup) return false;
    return allowsResource(byGroup.get(group), attributes) || allowsResource(byGroup.get('*'), attributes);
  }
}

function allowsResource(byResource: Map<string, Names> | undefined, attributes: Attributes): boolean {
  if (!byResource) return false;
  const { plural = '', subresource, name } = attributes;
  const allows = (resource: string): boolean => {
    if (!byResource.has(resource)) return false;
    const names = byResource.get(resource);
    return names === undefined || (name !== undefined && names.has(name));
  };
  if (!subresource) return allows(plural) || allows('*');
  return allows(`${plural}/${subresource}`) || allows('*') || allows(`*/${subresource}`);
}

function pathMatches(pattern: string, path: string): boolean {
  if (pattern === '*' || pattern === path) return true;
  return pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1));
}

/** The parts of `wanted`, each one verb and resource, that `owned` does not grant. */
export function uncoveredRules(owned: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  return wanted.flatMap(breakDown).filter((atom) => !owned.some((rule) => covers(rule, atom)));
}

function breakDown(rule: PolicyRule): PolicyRule[] {
  const atoms: PolicyRule[] = [];
  for (const verb of rule.verbs ?? []) {
    for (const group of rule.apiGroups ?? []) {
      for (const resource of rule.resources ?? []) {
        const atom = { verbs: [verb], apiGroups: [group], resources: [resource] };
        if (!rule.resourceNames?.length) atoms.push(atom);
        for (const name of rule.resourceNames ?? []) atoms.push({ ...atom, resourceNames: [name] });
      }
    }
    for (const url of rule.nonResourceURLs ?? []) atoms.push({ verbs: [verb], nonResourceURLs: [url] });
  }
  return atoms;
}

function covers(rule: PolicyRule, atom: PolicyRule): boolean {
  const has = (list: readonly string[] | undefined, item: string | undefined) =>
    item !== undefined && (list?.includes('*') || list?.includes(item) || false);
  if (!has(rule.verbs, atom.verbs[0])) return false;
  const url = atom.nonResourceURLs?.[0];
  if (url !== undefined) return rule.nonResourceURLs?.some((pattern) => pathMatches(pattern, url)) ?? false;
  if (!has(rule.apiGroups, atom.apiGroups?.[0])) return false;
  const resource = atom.resources?.[0] ?? '';
  const slash = resource.indexOf('/');
  const wide = slash >= 0 && rule.resources?.includes(`*${resource.slice(slash)}`);
  if (!wide && !has(rule.resources, resource)) return false;
  const name = atom.resourceNames?.[0];
  return !rule.resourceNames?.length || (name !== undefined && rule.resourceNames.includes(name));
}

/** Rules in the format of Kubernetes' messages: `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`. */
export function showRule(rule: PolicyRule): string {
  const parts: string[] = [];
  const show = (label: string, list: readonly string[] | undefined) => {
    if (list?.length) parts.push(`${label}:${JSON.stringify(list)}`);
  };
  show('APIGroups', rule.apiGroups);
  show('Resources', rule.resources);
  show('ResourceNames', rule.resourceNames);
  show('NonResourceURLs', rule.nonResourceURLs);
  show('Verbs', rule.verbs);
  return `{${parts.join(', ')}}`;
}
