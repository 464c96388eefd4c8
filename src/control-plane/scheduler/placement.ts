// State of a pod between the choice of its node and its binding: the node, the claims for which provisioning was
// requested, and the nodes where it failed. In memory only: after a restart the claims' annotations are enough.

import type { Clock } from '../../runtime/ports.ts';
import type { Retries } from '../../runtime/queue/retries.ts';
import type { PodVolumes } from './pod-volumes.ts';

/** How long a node where provisioning failed is avoided, if nothing else fits. */
const BACKOFF = { startMs: 1000, maxMs: 300_000 };
const PROVISIONING = 'provisioning';

/**
 * A pod and its claims are mostly created together, and the claims are bound or provisioned a moment later. An event
 * for that moment would cost more writes than all the rest.
 */
const PATIENCE_MS = 1000;

export class Placement {
  readonly uid: string;
  nodeName: string | undefined;
  /** The server has accepted the binding; the watch has not shown it yet. */
  isBound = false;
  readonly #asked = new Set<string>();
  readonly #refused = new Set<string>();
  #troubledSinceMs: number | undefined;

  constructor(uid: string) {
    this.uid = uid;
  }

  /** Nodes that are taken only when nothing else fits. */
  get refused(): ReadonlySet<string> {
    return this.#refused;
  }

  /** How long to wait before a problem is reported; it may be over by then. */
  patienceMs(clock: Clock): number {
    this.#troubledSinceMs ??= clock.monotonicMs();
    return Math.max(0, this.#troubledSinceMs + PATIENCE_MS - clock.monotonicMs());
  }

  asked(claimKey: string): void {
    this.#asked.add(claimKey);
  }

  /**
   * The claim for which the provisioner gave up the node, if any: the provisioner then removes the selected-node
   * annotation.
   */
  retreat(volumes: PodVolumes, retries: Retries): string | undefined {
    const given = volumes.delayed.find(({ key, selectedNode }) => this.#asked.has(key) && !selectedNode);
    if (!given || this.nodeName === undefined) return undefined;
    this.#asked.delete(given.key);
    this.#refused.add(this.nodeName);
    retries.failed({ operation: PROVISIONING, inputs: this.uid, backoff: BACKOFF });
    this.nodeName = undefined;
    return given.key;
  }

  /** How much longer this node is avoided; 0 once it counts like any other. */
  waitMs(nodeName: string, retries: Retries): number {
    if (!this.#refused.has(nodeName)) return 0;
    const leftMs = retries.waitMs({ operation: PROVISIONING, inputs: this.uid });
    if (leftMs === 0) this.#refused.clear();
    return leftMs;
  }
}
