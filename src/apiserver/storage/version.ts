// One version of one stored object: its JSON bytes, which lists and watches copy, and the parsed object beside them,
// shared by everyone and never changed. Objects loaded from disk are parsed when first asked for.

import type { KubeObject } from '../../api/object.ts';

export class Version {
  /** `namespace/name`, or `name` when cluster-scoped. */
  readonly key: string;
  readonly revision: number;
  readonly bytes: Buffer;
  readonly #freeze: boolean;
  #object: KubeObject | undefined;

  constructor(init: {
    key: string;
    revision: number;
    bytes: Buffer;
    object?: KubeObject;
    freeze: boolean;
  }) {
    this.key = init.key;
    this.revision = init.revision;
    this.bytes = init.bytes;
    this.#freeze = init.freeze;
    this.#object = init.object;
    if (init.freeze && init.object !== undefined) deepFreeze(init.object);
  }

  get object(): KubeObject {
    if (this.#object === undefined) {
      this.#object = this.copy();
      if (this.#freeze) deepFreeze(this.#object);
    }
    return this.#object;
  }

  /** A private copy that its caller may change. */
  copy(): KubeObject {
    return JSON.parse(this.bytes.toString('utf8')) as KubeObject;
  }
}

/** In memory of their own: a slice of Buffer's pool would keep its whole slab for as long as the object lives. */
export function ownBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

export function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const child of Object.values(value)) deepFreeze(child);
}
