// Leases.

import type { FieldError } from '../kind.ts';
import { type Loose, mapOf } from '../kinds/loose.ts';
import { Checks, invalid } from './checks.ts';

export function validateLease(lease: Loose): FieldError[] {
  const checks = new Checks();
  const { leaseDurationSeconds, leaseTransitions } = mapOf(lease.spec) ?? {};
  if (typeof leaseDurationSeconds === 'number' && leaseDurationSeconds <= 0) {
    checks.add(invalid('spec.leaseDurationSeconds', leaseDurationSeconds, 'must be greater than 0'));
  }
  checks.nonNegative('spec.leaseTransitions', leaseTransitions);
  return checks.errors;
}
