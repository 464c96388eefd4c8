// Whether the driver and the sidecar that have to act next are there. A sidecar is judged by its Lease, the only sign of it in the
// API; without leader election it has none, so a missing Lease proves nothing. Pure.

import type { DriverName } from '../csi/names/driver-name.ts';
import { leaseNameFor } from '../runtime/leases/lease-record.ts';
import type { Facts } from './facts.ts';
import { ago } from './link.ts';

export type Role = 'provisioner' | 'attacher' | 'resizer' | 'snapshotter';

/** As the official sidecars name them; the last is that of several in one process. */
const PREFIXES: Readonly<Record<Role, readonly string[]>> = {
  // The provisioner's is the driver's name alone.
  provisioner: ['', 'external-sidecars-leader-'],
  attacher: ['external-attacher-leader-', 'external-sidecars-leader-'],
  resizer: ['external-resizer-', 'external-sidecars-leader-'],
  snapshotter: ['external-snapshotter-leader-', 'external-sidecars-leader-'],
};
export const ROLES = Object.keys(PREFIXES) as Role[];

const DEFAULT_LEASE_S = 15;

/** Says that the sidecar is not running; undefined when it runs or nothing is known. */
export function absenceOf(facts: Facts, role: Role, driver: DriverName): string | undefined {
  const wanted = leaseNames(role, driver);
  const found = facts.leases.filter(({ metadata }) => wanted.has(metadata.name));
  if (found.length === 0) return undefined;
  const newest = Math.max(...found.map(({ spec }) => Date.parse(spec?.renewTime ?? '') || 0));
  const limitMs = Math.max(...found.map(({ spec }) => spec?.leaseDurationSeconds ?? DEFAULT_LEASE_S)) * 1000;
  if (facts.nowMs - newest <= limitMs) return undefined;
  const last =
    newest === 0 ? 'its lease is not held' : `its lease was last renewed ${ago(newest, facts.nowMs)} ago`;
  return `no ${role} of ${driver} works: ${last}`;
}

const leaseNames = (role: Role, driver: DriverName): ReadonlySet<string> =>
  new Set(PREFIXES[role].map((prefix) => leaseNameFor(`${prefix}${driver}`)));

/** What to look at when a sidecar should act and does not. */
export const lookAt = (role: Role, driver: DriverName): string =>
  `check that the ${role} of ${driver} runs, and read its log`;

/** Whether the cluster shows any sign of this driver; undefined when that cannot be read. */
export function isKnown(facts: Facts, driver: DriverName): boolean | undefined {
  if (['csidrivers', 'csinodes', 'leases'].some((kind) => facts.unread.includes(kind))) return undefined;
  const leases = new Set(ROLES.flatMap((role) => [...leaseNames(role, driver)]));
  return (
    facts.drivers.some(({ metadata }) => metadata.name === driver) ||
    facts.csiNodes.some(({ spec }) => spec.drivers?.some(({ name }) => name === driver)) ||
    facts.leases.some(({ metadata }) => leases.has(metadata.name))
  );
}

export function knownDrivers(facts: Facts): string[] {
  return facts.drivers.map(({ metadata }) => metadata.name).toSorted();
}
