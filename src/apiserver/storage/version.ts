// One version of one stored object: its JSON bytes, which lists and watches copy, and the parsed object beside them,
// shared by everyone and never changed. Each is made from the other when first asked for: nobody parses what only goes
// over the wire, nor writes out what stays in the process.

import type { KubeObject } from '../../api/object.ts';
import { copyJson } from '../patch/json.ts';

/** What a version counts for whose bytes nobody has asked for. */
const USUAL_SIZE = 1024;

export class Version {
  /** `namespace/name`, or `name` when cluster-scoped. */
  readonly key: string;
  readonly revision: number;
  readonly #freeze: boolean;
  #bytes: Buffer | undefined;
  #object: KubeObject | undefined;

  constructor(init: {
    key: string;
    revision: number;
    bytes?: Buffer;
    object?: KubeObject;
    freeze: boolean;
  }) {
    if (init.bytes === undefined && init.object === undefined) throw new Error(`${init.key}: no content`);
    this.key = init.key;
    this.revision = init.revision;
    this.#bytes = init.bytes;
    this.#freeze = init.freeze;
    this.#object = init.object;
    if (init.freeze && init.object !== undefined) deepFreeze(init.object);
  }

  get bytes(): Buffer {
    this.#bytes ??= ownBytes(JSON.stringify(this.#object));
    return this.#bytes;
  }

  /** In bytes, or about that. */
  get size(): number {
    return this.#bytes?.length ?? USUAL_SIZE;
  }

  /** Whether its `apiVersion` is this one; nothing is parsed to tell. */
  isOf(apiVersion: string): boolean {
    if (this.#object !== undefined) return this.#object.apiVersion === apiVersion;
    // Stored bytes begin with the API version.
    const prefix = `{"apiVersion":"${apiVersion}",`;
    return this.bytes.toString('latin1', 0, prefix.length) === prefix;
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
    if (this.#bytes === undefined) return copyJson(this.#object as KubeObject);
    return JSON.parse(this.#bytes.toString('utf8')) as KubeObject;
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
