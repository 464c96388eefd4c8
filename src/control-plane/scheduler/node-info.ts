// One node in the scheduler's cache: the object, its pods (including those about to be bound), and their sums.

import type { Node, Pod } from '../../api/kinds.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import type { CountedVolume } from './pod-volumes.ts';
import { type Amounts, nodeAllocatable, podRequests } from './resources.ts';

export class NodeInfo {
  readonly name: string;
  readonly pods = new Map<string, Pod>();
  readonly requested = new Map<string, number>();
  /** Volumes on the node, by driver. Computed on first use, dropped when it may have changed. */
  volumes: ReadonlyMap<DriverName, ReadonlySet<CountedVolume>> | undefined;
  allocatable: Amounts | undefined;
  readonly #requests = new Map<string, Amounts>();
  #node: Node | undefined;

  constructor(name: string) {
    this.name = name;
  }

  /** Undefined while the node is known only from pods that name it. */
  get node(): Node | undefined {
    return this.#node;
  }

  set node(node: Node | undefined) {
    this.#node = node;
    this.allocatable = node && nodeAllocatable(node);
  }

  add(key: string, pod: Pod): void {
    const before = this.pods.get(key);
    this.pods.set(key, pod);
    if (before?.spec === pod.spec) return;
    if (before) this.#forget(key);
    const requests = podRequests(pod);
    this.#requests.set(key, requests);
    this.#sum(requests, 1);
    if (before?.spec.volumes !== pod.spec.volumes) this.volumes = undefined;
  }

  remove(key: string): void {
    if (!this.pods.delete(key)) return;
    this.#forget(key);
    this.volumes = undefined;
  }

  #forget(key: string): void {
    this.#sum(this.#requests.get(key) ?? new Map(), -1);
    this.#requests.delete(key);
  }

  #sum(requests: Amounts, sign: 1 | -1): void {
    for (const [name, amount] of requests) {
      this.requested.set(name, (this.requested.get(name) ?? 0) + sign * amount);
    }
  }
}
