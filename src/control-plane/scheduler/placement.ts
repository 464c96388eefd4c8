// What is remembered of a pod between the choice of its node and its binding: the node, the claims for which a
// provisioner was asked, and the nodes that provisioners could not serve. In memory only: after a restart the claims'
// annotations are enough.

import type { Clock, Random } from '../../runtime/ports.ts';
import { type BackoffPolicy, backoffDelayMs } from '../../runtime/time/backoff.ts';
import type { PodVolumes } from './pod-volumes.ts';

/** Before a node that could not be provisioned for is tried once more, nothing else being left. */
const RETRY: BackoffPolicy = { startMs: 1000, maxMs: 300_000 };

/**
 * A pod and its claims are mostly created together, and the claims are bound, or made, a moment later. Telling users
 * of that moment would cost more writes than all the rest.
 */
const PATIENCE_MS = 1000;

export class Placement {
  readonly uid: string;
  nodeName: string | undefined;
  /** The server has taken the binding; the watch has yet to show it. */
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

  /** How long to go on waiting before a problem is worth telling; it may be over by then. */
  patienceMs(clock: Clock): number {
    this.#troubledSinceMs ??= clock.monotonicMs();
    return Math.max(0, this.#troubledSinceMs + PATIENCE_MS - clock.monotonicMs());
  }

  asked(claimKey: string): void {
    this.#asked.add(claimKey);
  }

  /** The claim for which the provisioner gave the node up, if one did: it takes the annotation off the claim. */
  retreat(volumes: PodVolumes, { clock, random }: { clock: Clock; random: Random }): string | undefined {
    const given = volumes.delayed.find(({ key, selectedNode }) => this.#asked.has(key) && !selectedNode);
    if (!given || this.nodeName === undefined) return undefined;
    this.#asked.delete(given.key);
    this.#refused.add(this.nodeName);
    this.#notBeforeMs = clock.monotonicMs() + backoffDelayMs(RETRY, this.#retreats++, random);
    this.nodeName = undefined;
    return given.key;
  }

  /** How long to leave this node alone; once that is over, it is as good as any. */
  waitMs(nodeName: string, clock: Clock): number {
    if (!this.#refused.has(nodeName)) return 0;
    const leftMs = this.#notBeforeMs - clock.monotonicMs();
    if (leftMs > 0) return leftMs;
    this.#refused.clear();
    return 0;
  }
}
