// Whether the sidecar that has to act next is running, judged by its Lease, the only sign of it in the API. A sidecar without
// leader election has none, so a missing Lease proves nothing. Pure.

import { leaseNameFor } from '../runtime/leases/lease-record.ts';
import type { Facts } from './facts.ts';
import { ago } from './link.ts';

type Role = 'provisioner' | 'attacher' | 'resizer';

/** As the official sidecars name them; the last is that of several in one process. */
const PREFIXES: Readonly<Record<Role, readonly string[]>> = {
  // The provisioner's is the driver's name alone.
  provisioner: ['', 'external-sidecars-leader-'],
  attacher: ['external-attacher-leader-', 'external-sidecars-leader-'],
  resizer: ['external-resizer-', 'external-sidecars-leader-'],
};

const DEFAULT_LEASE_S = 15;

/** Says that the sidecar is not running; undefined when it runs or nothing is known. */
export function absenceOf(facts: Facts, role: Role, driver: string): string | undefined {
  const wanted = new Set(PREFIXES[role].map((prefix) => leaseNameFor(`${prefix}${driver}`)));
  const found = facts.leases.filter(({ metadata }) => wanted.has(metadata.name));
  if (found.length === 0) return undefined;
  const newest = Math.max(...found.map(({ spec }) => Date.parse(spec?.renewTime ?? '') || 0));
  const limitMs = Math.max(...found.map(({ spec }) => spec?.leaseDurationSeconds ?? DEFAULT_LEASE_S)) * 1000;
  if (facts.nowMs - newest <= limitMs) return undefined;
  const last =
    newest === 0 ? 'its lease is not held' : `its lease was last renewed ${ago(newest, facts.nowMs)} ago`;
  return `no ${role} of ${driver} works: ${last}`;
}

/** What to look at when a sidecar should act and does not. */
export const lookAt = (role: Role, driver: string): string =>
  `see that the ${role} of ${driver} runs, and what its log says`;
