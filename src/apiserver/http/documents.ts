// Documents about the API itself (discovery, OpenAPI), cached as bytes until the served kinds change.

import { createHash } from 'node:crypto';
import type { KindRegistry } from '../kind-registry.ts';

export interface CachedDocument {
  readonly bytes: Buffer;
  /** Strong ETag, quoted for the header. */
  readonly etag: string;
}

export interface OpenDocuments {
  /** `build` runs once until the kinds change. An undefined result is not cached. */
  get(
    name: string,
    build: () => object | Promise<object | undefined> | undefined,
  ): Promise<CachedDocument | undefined>;
}

export function createDocuments(registry: KindRegistry): OpenDocuments {
  const cache = new Map<string, Promise<CachedDocument | undefined>>();
  registry.onChange(() => cache.clear());
  return {
    get(name, build) {
      let document = cache.get(name);
      if (document === undefined) {
        document = Promise.resolve(build()).then((value) => {
          if (value === undefined) return undefined;
          const bytes = Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value));
          return { bytes, etag: `"${createHash('sha256').update(bytes).digest('hex').toUpperCase()}"` };
        });
        // Names come from clients: unknown names are not cached.
        void document.then(
          (found) => found === undefined && cache.delete(name),
          () => cache.delete(name),
        );
        cache.set(name, document);
      }
      return document;
    },
  };
}
