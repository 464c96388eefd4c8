// State of a pod between the choice of its node and its binding: the node, the claims for which provisioning was
// requested, and the nodes where it failed. In memory only: after a restart the claims' annotations are enough.

import type { Clock, Random } from '../../runtime/ports.ts';
import { type BackoffPolicy, backoffDelayMs } from '../../runtime/time/backoff.ts';
import type { PodVolumes } from './pod-volumes.ts';

/** How long a node where provisioning failed is avoided, if nothing else fits. */
const RETRY: BackoffPolicy = { startMs: 1000, maxMs: 300_000 };

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
  #retreats = 0;
  #notBeforeMs = 0;
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
  retreat(volumes: PodVolumes, { clock, random }: { clock: Clock; random: Random }): string | undefined {
    const given = volumes.delayed.find(({ key, selectedNode }) => this.#asked.has(key) && !selectedNode);
    if (!given || this.nodeName === undefined) return undefined;
    this.#asked.delete(given.key);
    this.#refused.add(this.nodeName);
    this.#notBeforeMs = clock.monotonicMs() + backoffDelayMs(RETRY, this.#retreats++, random);
    this.nodeName = undefined;
    return given.key;
  }

  /** How much longer this node is avoided; 0 once it counts like any other. */
  waitMs(nodeName: string, clock: Clock): number {
    if (!this.#refused.has(nodeName)) return 0;
    const leftMs = this.#notBeforeMs - clock.monotonicMs();
    if (leftMs > 0) return leftMs;
    this.#refused.clear();
    return 0;
  }
}
