// Requests of pods and allocatable resources of nodes, in thousandths of a unit: exact for any real node, and cheap to add.

import type { Node, Pod } from '../../api/kinds.ts';
import { parseQuantity } from '../../api/quantity.ts';

export type Amounts = ReadonlyMap<string, number>;

type Quantities = Readonly<Record<string, string | number>> | undefined;
type Container = NonNullable<Pod['spec']['initContainers']>[number];

const NANO_PER_MILLI = 1_000_000n;

function milliOf(quantity: string | number): number {
  const { nano } = parseQuantity(quantity);
  return Number((nano + NANO_PER_MILLI - 1n) / NANO_PER_MILLI);
}

function plus(total: Map<string, number>, quantities: Quantities): Map<string, number> {
  for (const [name, quantity] of Object.entries(quantities ?? {})) {
    total.set(name, (total.get(name) ?? 0) + milliOf(quantity));
  }
  return total;
}

function atLeast(total: Map<string, number>, floor: Amounts): void {
  for (const [name, amount] of floor) total.set(name, Math.max(total.get(name) ?? 0, amount));
}

/** The pod's peak request: the sum of its containers, or one init container before them. */
export function podRequests(pod: Pod): Amounts {
  const { containers = [], initContainers = [], overhead } = pod.spec;
  const running = new Map<string, number>();
  const peak = new Map<string, number>();
  for (const container of initContainers) {
    // Sidecars keep running: their requests add to everything that starts after them.
    if (isSidecar(container)) plus(running, container.resources?.requests);
    atLeast(peak, isSidecar(container) ? running : plus(new Map(running), container.resources?.requests));
  }
  for (const container of containers) plus(running, container.resources?.requests);
  atLeast(running, peak);
  return plus(running, overhead);
}

function isSidecar(container: Container): boolean {
  return (container as { restartPolicy?: string }).restartPolicy === 'Always';
}

/** Undefined where the node publishes no allocatable resources: it is then not limited. */
export function nodeAllocatable(node: Node): Amounts | undefined {
  const allocatable = node.status?.allocatable ?? node.status?.capacity;
  return allocatable && Object.keys(allocatable).length > 0 ? plus(new Map(), allocatable) : undefined;
}
