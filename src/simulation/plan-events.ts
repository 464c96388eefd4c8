// The faults of one simulated cluster that happen at a planned time.

import type { SeededRandom } from '../runtime/random.ts';
import type { EventFault } from './faults.ts';
import { type EventPlan, type Plan, processNames, type RestartAnswer } from './plan.ts';

const SILENT_SHARE = 0.12;
const FULL_SHARE = 0.2;
const MOST_EVENTS = 13;
const RESTART_ANSWERS: readonly RestartAnswer[] = ['limit', 'node ID', 'topology', undefined];

/** Not with topology: volumes of a lost zone could not move anywhere. */
export function planSilence(
  { drivers, nodes }: Pick<Plan, 'drivers' | 'nodes'>,
  random: SeededRandom,
): EventPlan | undefined {
  const isChosen = random.next() < SILENT_SHARE;
  const atMs = 20_000 + random.int(100_000);
  const node = nodes[random.int(nodes.length)];
  if (!isChosen || !node || nodes.length < 2 || drivers.some(({ topology }) => topology)) return undefined;
  return { id: 'node-silent', atMs, fault: 'node-silent', target: node.name, forMs: 0 };
}

/** No further volume can be attached to the node: for a while, or for good. */
export function planFullNode(
  { drivers, nodes }: Pick<Plan, 'drivers' | 'nodes'>,
  random: SeededRandom,
): EventPlan | undefined {
  const isChosen = random.next() < FULL_SHARE;
  const atMs = random.int(60_000);
  const forMs = random.next() < 0.3 ? 10_000 + random.int(200_000) : 0;
  const node = nodes[random.int(nodes.length)];
  if (!isChosen || !node || !drivers.some(({ attaches }) => attaches)) return undefined;
  return { id: 'node-full', atMs, fault: 'node-full', target: node.name, forMs };
}

export function planEvents(
  { drivers, nodes, faultsMs }: Pick<Plan, 'drivers' | 'nodes' | 'faultsMs'>,
  random: SeededRandom,
): EventPlan[] {
  const pick = <T>(from: readonly T[]): T => from[random.int(from.length)] as T;
  const processes = processNames({ drivers, nodes });
  const targets: Record<EventFault, () => string> = {
    'process-crash': () => pick(processes),
    'process-stop': () => pick(processes),
    'driver-down': () => pick(drivers).name,
    'driver-restart': () => pick(drivers).name,
    'storage-full': () => pick(drivers).name,
    'storage-lies': () => pick(drivers).name,
    'node-reboot': () => pick(nodes).name,
    'node-lost': () => pick(nodes).name,
    'node-silent': () => pick(nodes).name,
    'node-full': () => pick(nodes).name,
    'lease-stall': () => pick(processes),
    'clock-jump': () => 'wall clock',
    'user-deletes': () => 'user',
    'process-pause': () => pick(processes),
    'lease-edit': () => pick(processes),
  };
  const kinds: readonly EventFault[] = [
    'process-crash',
    'process-crash',
    'process-crash',
    'process-stop',
    'driver-down',
    'driver-restart',
    'storage-full',
    'storage-lies',
    'node-reboot',
    'node-lost',
    'lease-stall',
    'clock-jump',
  ];
  const count = random.int(MOST_EVENTS);
  return Array.from({ length: count }, (_, index) => {
    const fault = pick(kinds);
    return {
      id: `${fault} #${index + 1}`,
      atMs: random.int(faultsMs),
      fault,
      target: targets[fault](),
      forMs: 500 + random.int(40_000),
      ...(fault === 'driver-restart' && { answer: pick(RESTART_ANSWERS) }),
    };
  }).sort((a, b) => a.atMs - b.atMs);
}

const REPLICA_FAULTS: readonly EventFault[] = [
  'process-pause',
  'process-pause',
  'process-crash',
  'process-stop',
  'lease-stall',
  'lease-edit',
];
const MOST_REPLICA_EVENTS = 14;

/** Replicas that go, hang, come back late, and Leases that somebody edits. */
export function planReplicaEvents(
  plan: Pick<Plan, 'drivers' | 'nodes' | 'faultsMs' | 'isSharded'>,
  random: SeededRandom,
): EventPlan[] {
  const replicas = processNames(plan).filter((name) => /-\d+$/.test(name));
  return Array.from({ length: 2 + random.int(MOST_REPLICA_EVENTS) }, (_, index) => {
    const fault = REPLICA_FAULTS[random.int(REPLICA_FAULTS.length)] as EventFault;
    return {
      id: `${fault} of a replica #${index + 1}`,
      atMs: random.int(plan.faultsMs),
      fault,
      target: replicas[random.int(replicas.length)] as string,
      forMs: random.next() < 0.5 ? random.int(8_000) : random.int(70_000),
    };
  });
}
