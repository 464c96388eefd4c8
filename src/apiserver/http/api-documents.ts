// Which path is which document about the API: discovery and OpenAPI.

import type { CachedDocument } from './documents.ts';
import type { OtherExchange } from './handle-other.ts';

export interface FoundDocument extends CachedDocument {
  readonly contentType?: string;
}

export async function findDocument(_exchange: OtherExchange): Promise<FoundDocument | undefined> {
  return undefined;
}
