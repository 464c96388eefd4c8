// What one client has learnt of the JSON of each kind's objects. It outlives a watch, so that the next one need not learn it again.

import { apiVersionOf, type Resource } from '../../api/object.ts';
import { SimilarDocuments } from '../../wire/json/similar-documents.ts';
import { cutManagedFields } from './cut-managed-fields.ts';

export class SimilarObjects {
  readonly #ofWatch = new Map<string, SimilarDocuments>();

  /** For the lines of a watch, without `managedFields`. */
  inWatchOf(resource: Resource): SimilarDocuments {
    const kind = `${apiVersionOf(resource)} ${resource.plural}`;
    let documents = this.#ofWatch.get(kind);
    if (documents === undefined) {
      documents = new SimilarDocuments({ parse, omit: ['object', 'metadata', 'managedFields'] });
      this.#ofWatch.set(kind, documents);
    }
    return documents;
  }
}

function parse(bytes: Buffer): unknown {
  return JSON.parse(cutManagedFields(bytes.toString('utf8')));
}
