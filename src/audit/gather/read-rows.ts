// One kind from the API server in pages, each object reduced to a row at once: whole objects of ten thousand volumes would take
// more memory than everything else.

import type { KubeObject, Resource } from '../../api/object.ts';
import type { KubeClient, Selection } from '../../runtime/kube/kube.ts';
import { isExpired, isForbidden, isNotFound } from '../../runtime/kube/kube-error.ts';

/** Smaller than usual: a page of pods is the largest thing in memory. */
const PAGE_SIZE = 250;

export interface RowReader {
  readonly kube: Pick<KubeClient, 'list'>;
  readonly signal: AbortSignal;
}

/** `row` returns undefined for an object that does not matter. */
export async function readRows<T extends KubeObject, R>(
  { kube, signal }: RowReader,
  resource: Resource<T>,
  row: (object: T) => R | undefined,
  selection: Selection = {},
): Promise<R[]> {
  const rows: R[] = [];
  const take = (items: readonly T[]): void => {
    for (const item of items) {
      const made = row(item);
      if (made !== undefined) rows.push(made);
    }
  };
  try {
    for (let token = ''; ; ) {
      const page = { ...selection, limit: PAGE_SIZE, ...(token && { continue: token }), signal };
      const { items, metadata } = await kube.list(resource, page);
      take(items);
      if (!metadata.continue) return rows;
      token = metadata.continue;
    }
  } catch (error) {
    if (!isExpired(error)) throw error;
    // The server keeps no history for so long: everything at once.
    rows.length = 0;
    take((await kube.list(resource, { ...selection, signal })).items);
    return rows;
  }
}

export type Absence = 'forbidden' | 'not-served';

/** Rows, or why there are none. */
export async function readRowsIfServed<T extends KubeObject, R>(
  reader: RowReader,
  resource: Resource<T>,
  row: (object: T) => R | undefined,
  selection: Selection = {},
): Promise<R[] | Absence> {
  try {
    return await readRows(reader, resource, row, selection);
  } catch (error) {
    if (isForbidden(error)) return 'forbidden';
    if (isNotFound(error)) return 'not-served';
    throw error;
  }
}
