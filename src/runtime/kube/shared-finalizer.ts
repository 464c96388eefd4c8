// One finalizer that comes and goes, as one process writes it. While a removal is in flight nobody may rely on the finalizer;
// one that an earlier process or another replica may still remove has to be written once more before somebody relies on it.

import { type KubeObject, keyOf, type Resource } from '../../api/object.ts';
import { addFinalizer, hasFinalizer, releaseFinalizer, renewFinalizer } from './finalizers.ts';
import { ifThere } from './if-there.ts';
import type { KubeClient } from './kube.ts';
import { isConflict } from './kube-error.ts';

export interface SharedFinalizerOptions<T extends KubeObject> {
  kube: KubeClient;
  resource: Resource<T>;
  finalizer: string;
  /** Where the answers to writes are kept until the watch delivers them. */
  objects: { wrote(object: T): T };
}

interface FinalizerWrite {
  /** The answer is the object as the server has it then. */
  needsAnswer?: boolean;
  signal: AbortSignal;
}

export class SharedFinalizer<T extends KubeObject> {
  readonly #kube: KubeClient;
  readonly #resource: Resource<T>;
  readonly #finalizer: string;
  readonly #objects: { wrote(object: T): T };
  /** In flight, by key. */
  readonly #removals = new Map<string, Promise<unknown>>();
  /** By UID: the finalizer was written by this process, which has sent no removal since. */
  readonly #held = new Set<string>();

  constructor({ kube, resource, finalizer, objects }: SharedFinalizerOptions<T>) {
    this.#kube = kube;
    this.#resource = resource;
    this.#finalizer = finalizer;
    this.#objects = objects;
  }

  isOn(object: T): boolean {
    return hasFinalizer(object, this.#finalizer);
  }

  /** This process wrote the finalizer and has sent no removal since; an earlier process's removal has no effect any more. */
  isHeld({ metadata: { uid } }: T): boolean {
    return this.#held.has(uid);
  }

  /** Another replica may have removed finalizers that this one wrote. */
  forgetHeld(): void {
    this.#held.clear();
  }

  gone({ metadata: { uid } }: T): void {
    this.#held.delete(uid);
  }

  /** No removal by this process is in flight. */
  async settled(key: string): Promise<void> {
    await this.#removals.get(key)?.catch(() => {});
  }

  /** Enough where it is held. */
  async add(object: T, how: FinalizerWrite): Promise<T> {
    return this.#objects.wrote(await addFinalizer({ ...this.#request(object), ...how }));
  }

  async renew(object: T, how: FinalizerWrite): Promise<T> {
    const written = await renewFinalizer({ ...this.#request(object), ...how });
    this.#held.add(object.metadata.uid);
    return this.#objects.wrote(written);
  }

  /** Over this version only: throws a conflict when the object has changed. */
  async release(object: T, signal: AbortSignal): Promise<void> {
    const key = keyOf(object);
    this.#held.delete(object.metadata.uid);
    const removal = releaseFinalizer({ ...this.#request(object), signal });
    this.#removals.set(key, removal);
    try {
      const written = await removal;
      if (written !== undefined) this.#objects.wrote(written);
    } catch (error) {
      // The cache may be behind for long.
      if (isConflict(error)) await this.#readAgain(object, signal);
      throw error;
    } finally {
      this.#removals.delete(key);
    }
  }

  #request(object: T) {
    return { kube: this.#kube, resource: this.#resource, finalizer: this.#finalizer, object };
  }

  async #readAgain({ metadata: { name, namespace } }: T, signal: AbortSignal): Promise<void> {
    const target = { name, ...(namespace === undefined ? {} : { namespace }) };
    const current = await ifThere(this.#kube.get(this.#resource, target, { signal }));
    if (current !== undefined) this.#objects.wrote(current);
  }
}
