// How Deployments and DaemonSets replace their pods: the strategy, and its amounts, which are numbers or percentages.

import { type LooseMap, mapOf } from '../kinds/loose.ts';
import { type Checks, forbidden, invalid, notSupported, required } from './checks.ts';

export function checkDeploymentStrategy(checks: Checks, spec: LooseMap): void {
  const field = 'spec.strategy';
  const strategy = mapOf(spec.strategy) ?? {};
  const rolling = mapOf(strategy.rollingUpdate);
  if (strategy.type === 'Recreate') {
    if (rolling) {
      const detail = "may not be specified when strategy `type` is 'Recreate'";
      checks.add(forbidden(`${field}.rollingUpdate`, detail));
    }
  } else if (strategy.type !== 'RollingUpdate') {
    checks.add(notSupported(field, strategy, ['Recreate', 'RollingUpdate']));
  } else if (rolling) {
    const { maxUnavailable, maxSurge } = rolling;
    checkAmount(checks, `${field}.rollingUpdate.maxUnavailable`, maxUnavailable);
    checkAmount(checks, `${field}.rollingUpdate.maxSurge`, maxSurge);
    if (amountOf(maxUnavailable) === 0 && amountOf(maxSurge) === 0) {
      checks.add(
        invalid(`${field}.rollingUpdate.maxUnavailable`, maxUnavailable, 'may not be 0 when `maxSurge` is 0'),
      );
    }
    checkAtMostAll(checks, `${field}.rollingUpdate.maxUnavailable`, maxUnavailable);
  }
}

export function checkDaemonSetStrategy(checks: Checks, spec: LooseMap): void {
  const field = 'spec.updateStrategy';
  const strategy = mapOf(spec.updateStrategy) ?? {};
  if (strategy.type === 'OnDelete') return;
  if (strategy.type !== 'RollingUpdate') {
    checks.add(notSupported(field, strategy, ['RollingUpdate', 'OnDelete']));
    return;
  }
  const { maxUnavailable, maxSurge } = mapOf(strategy.rollingUpdate) ?? {};
  for (const [name, amount] of Object.entries({ maxUnavailable, maxSurge })) {
    checkAmount(checks, `${field}.rollingUpdate.${name}`, amount);
    checkAtMostAll(checks, `${field}.rollingUpdate.${name}`, amount);
  }
  const [unavailable, surge] = [amountOf(maxUnavailable), amountOf(maxSurge)];
  if (unavailable !== 0 && surge !== 0) {
    const detail = 'may not be set when maxUnavailable is non-zero';
    checks.add(invalid(`${field}.rollingUpdate.maxSurge`, maxSurge, detail));
  } else if (unavailable === 0 && surge === 0) {
    checks.add(required(`${field}.rollingUpdate.maxUnavailable`, 'cannot be 0 when maxSurge is 0'));
  }
}

const PERCENT = /^([0-9]+)%$/;

/** The number, or the percentage without its sign. */
function amountOf(value: unknown): number {
  return typeof value === 'number' ? value : Number(PERCENT.exec(String(value))?.[1] ?? 0);
}

export function checkAmount(checks: Checks, field: string, value: unknown): void {
  if (typeof value === 'number') checks.nonNegative(field, value);
  else if (value !== undefined && !PERCENT.test(String(value))) {
    checks.add(invalid(field, value, "a valid percent string must be a numeric string followed by '%'"));
  }
}

export function checkAtMostAll(checks: Checks, field: string, value: unknown): void {
  if (typeof value === 'string' && amountOf(value) > 100) {
    checks.add(invalid(field, value, 'must not be greater than 100%'));
  }
}
