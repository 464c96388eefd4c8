// One version of one stored object: its JSON bytes, which lists and watches copy, and the parsed object beside them,
// shared by everyone and never changed. Each is made from the other on first use, so that what only
// goes over the wire is never parsed, and what stays in the process is never encoded.

import { deepFreeze } from '../../api/deep-freeze.ts';
import type { KubeObject } from '../../api/object.ts';
import { copyJson } from '../patch/json.ts';
import { encodeObject } from './encode-object.ts';

/** Assumed size of a version that has not been encoded. */
const USUAL_SIZE = 1024;

export class Version {
  /** `namespace/name`, or `name` when cluster-scoped. */
  readonly key: string;
  readonly revision: number;
  readonly #freeze: boolean;
  #bytes: Buffer | undefined;
  #text: string | undefined;
  #size: number | undefined;
  #settled = false;
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

  /** As JSON. Cached until it is settled: until then the journal and all watchers need it. */
  get text(): string {
    if (this.#text !== undefined) return this.#text;
    if (this.#object === undefined) return this.bytes.toString('utf8');
    const text = encodeObject(this.#object);
    if (!this.#settled) this.#text = text;
    return text;
  }

  /** The same for repeated readers: cached while it is the newest version. */
  get bytes(): Buffer {
    this.#bytes ??= ownBytes(this.text);
    return this.#bytes;
  }

  /** Returns whichever is loaded. Callers that need it often use `bytes`, which is cached. */
  get json(): string | Buffer {
    return this.#text ?? this.bytes;
  }

  /** All watchers have been sent it: its text is no longer cached. */
  settle(): void {
    this.#settled = true;
    this.#text = undefined;
  }

  get isSettled(): boolean {
    return this.#settled;
  }

  /** A newer version exists. */
  supersede(): void {
    if (this.#object !== undefined) this.#bytes = undefined;
  }

  /** In bytes, approximately; the same at every call. */
  get size(): number {
    this.#size ??= this.#text?.length ?? this.#bytes?.length ?? USUAL_SIZE;
    return this.#size;
  }

  /** Whether its `apiVersion` is this one; does not parse. */
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

  /** A private copy that the caller may mutate. */
  copy(): KubeObject {
    if (this.#object !== undefined) return copyJson(this.#object);
    return JSON.parse(this.bytes.toString('utf8')) as KubeObject;
  }
}

/** In memory of their own: a slice of Buffer's pool would keep its whole slab alive. */
function ownBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}
