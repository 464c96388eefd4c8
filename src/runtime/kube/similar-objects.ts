// What one client has learnt of the JSON of each kind's objects. It outlives a watch, so that the next one need not learn it again.

import { apiVersionOf, type Resource } from '../../api/object.ts';
import { readItems } from '../../wire/json/read-items.ts';
import { SimilarDocuments } from '../../wire/json/similar-documents.ts';
import type { Clock } from '../ports.ts';
import { cutManagedFields } from './cut-managed-fields.ts';

const MANAGED_FIELDS = ['metadata', 'managedFields'];

export class SimilarObjects {
  readonly #clock: Clock;
  /** By kind, apart for lists and watches: the items of a list have no type of their own. */
  readonly #documents = new Map<string, SimilarDocuments>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** For the lines of a watch, without `managedFields`. */
  inWatchOf(resource: Resource): SimilarDocuments {
    return this.#of(`watch ${apiVersionOf(resource)} ${resource.plural}`, ['object', ...MANAGED_FIELDS]);
  }

  /** A list whose items have no `managedFields`. */
  readList(resource: Resource, body: Buffer): Promise<unknown> {
    const documents = this.#of(`list ${apiVersionOf(resource)} ${resource.plural}`, MANAGED_FIELDS);
    return readItems(body, {
      read: (item) => documents.read(item),
      pause: () => new Promise((resolve) => this.#clock.setImmediate(resolve)),
    });
  }

  #of(kind: string, omit: readonly string[]): SimilarDocuments {
    let documents = this.#documents.get(kind);
    if (documents === undefined) {
      documents = new SimilarDocuments({ parse, omit });
      this.#documents.set(kind, documents);
    }
    return documents;
  }
}

function parse(bytes: Buffer): unknown {
  return JSON.parse(cutManagedFields(bytes.toString('utf8')));
}
