// PodDisruptionBudgets and NetworkPolicies, in Kubernetes' words.

import { isIP } from 'node:net';
import type { FieldError } from '../kind.ts';
import { type Loose, type LooseMap, mapOf, mapsOf, stringOf, stringsOf } from '../kinds/loose.ts';
import { at, Checks, forbidden, invalid, required } from './checks.ts';
import { checkLabelSelector } from './node-selector.ts';
import { checkAmount, checkAtMostAll } from './rollout.ts';

export function validateDisruptionBudget(budget: Loose): FieldError[] {
  const checks = new Checks();
  const spec = mapOf(budget.spec) ?? {};
  const { minAvailable, maxUnavailable, selector } = spec;
  if (minAvailable !== undefined && maxUnavailable !== undefined) {
    checks.add(invalid('spec', spec, 'minAvailable and maxUnavailable cannot be both set'));
  }
  for (const [name, amount] of Object.entries({ minAvailable, maxUnavailable })) {
    checkAmount(checks, `spec.${name}`, amount);
    checkAtMostAll(checks, `spec.${name}`, amount);
  }
  checkLabelSelector(checks, 'spec.selector', mapOf(selector) ?? {});
  checks.oneOf('spec.unhealthyPodEvictionPolicy', spec.unhealthyPodEvictionPolicy, [
    'AlwaysAllow',
    'IfHealthyBudget',
  ]);
  const status = mapOf(budget.status) ?? {};
  for (const name of ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods']) {
    checks.nonNegative(`status.${name}`, status[name]);
  }
  return checks.errors;
}

const DIRECTIONS = [
  ['ingress', 'from'],
  ['egress', 'to'],
] as const;

export function validateNetworkPolicy(policy: Loose): FieldError[] {
  const checks = new Checks();
  const spec = mapOf(policy.spec) ?? {};
  checkLabelSelector(checks, 'spec.podSelector', mapOf(spec.podSelector) ?? {});
  for (const [direction, end] of DIRECTIONS) {
    for (const [index, rule] of mapsOf(spec[direction]).entries()) {
      const field = at(`spec.${direction}`, index);
      for (const [position, port] of mapsOf(rule.ports).entries()) {
        checkPolicyPort(checks, at(`${field}.ports`, position), port);
      }
      for (const [position, peer] of mapsOf(rule[end]).entries()) {
        checkPeer(checks, at(`${field}.${end}`, position), peer);
      }
    }
  }
  const types = stringsOf(spec.policyTypes);
  if (types.length > 2) {
    checks.add(invalid('spec.policyTypes', types, 'may not specify more than two policyTypes'));
  } else {
    for (const [index, type] of types.entries()) {
      checks.oneOf(at('spec.policyTypes', index), type, ['Egress', 'Ingress']);
    }
  }
  return checks.errors;
}

function checkPolicyPort(checks: Checks, field: string, { protocol, port, endPort }: LooseMap): void {
  checks.oneOf(`${field}.protocol`, protocol, ['SCTP', 'TCP', 'UDP']);
  if (typeof port === 'number') {
    checkNumber(checks, `${field}.port`, port);
    if (typeof endPort !== 'number') return;
    if (endPort < port) {
      checks.add(invalid(`${field}.endPort`, endPort, 'must be greater than or equal to `port`'));
    }
    checkNumber(checks, `${field}.endPort`, endPort);
  } else if (endPort !== undefined) {
    const state = port === undefined ? 'not specified' : 'non-numeric';
    checks.add(invalid(`${field}.endPort`, endPort, `may not be specified when \`port\` is ${state}`));
  }
}

function checkNumber(checks: Checks, field: string, port: number): void {
  if (port >= 1 && port <= 65_535) return;
  checks.add(invalid(field, port, 'must be between 1 and 65535, inclusive'));
}

const SELECTORS = ['podSelector', 'namespaceSelector'] as const;

function checkPeer(checks: Checks, field: string, peer: LooseMap): void {
  const block = mapOf(peer.ipBlock);
  const selectors = SELECTORS.filter((name) => mapOf(peer[name]));
  for (const name of selectors) checkLabelSelector(checks, `${field}.${name}`, mapOf(peer[name]) ?? {});
  if (block) {
    checkCidr(checks, `${field}.ipBlock.cidr`, block.cidr);
    for (const [index, except] of stringsOf(block.except).entries()) {
      checkCidr(checks, at(`${field}.ipBlock.except`, index), except);
    }
  }
  if (selectors.length === 0 && !block) checks.add(required(field, 'must specify a peer'));
  if (selectors.length > 0 && block) {
    checks.add(forbidden(field, 'may not specify both ipBlock and another peer'));
  }
}

function checkCidr(checks: Checks, field: string, cidr: unknown): void {
  if (!checks.required(field, cidr)) return;
  const [address = '', bits = '', ...rest] = stringOf(cidr).split('/');
  const most = { 4: 32, 6: 128 }[isIP(address)] ?? -1;
  if (rest.length === 0 && /^[0-9]+$/.test(bits) && Number(bits) <= most) return;
  checks.add(invalid(field, cidr, 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'));
}
