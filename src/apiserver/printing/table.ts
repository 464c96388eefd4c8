// `meta.k8s.io/v1 Table`: the response format of `kubectl get`.

import type { KubeObject } from '../../api/object.ts';
import { printableText } from '../../runtime/log/printable.ts';
import type { Kind } from '../kind.ts';

export type IncludeObject = 'None' | 'Metadata' | 'Object';

export interface TableOptions {
  includeObject: IncludeObject | string;
  nowMs: number;
  listMetadata: object;
}

export interface Table {
  kind: 'Table';
  apiVersion: 'meta.k8s.io/v1';
  metadata: object;
  columnDefinitions: object[];
  rows: object[];
}

export function toTable(kind: Kind, objects: readonly KubeObject[], options: TableOptions): Table {
  const { includeObject, nowMs, listMetadata } = options;
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: listMetadata,
    columnDefinitions: kind.columns.map(({ name, type, format = '', description = '', priority = 0 }) => ({
      name,
      type,
      format,
      description,
      priority,
    })),
    rows: objects.map((object) => ({
      cells: kind.columns.map((column) => printable(column.cell(object, nowMs))),
      ...included(object, includeObject),
    })),
  };
}

/** Clients print cells as they are; kubectl escapes only some of the terminal's control sequences. */
function printable<T>(cell: T): T | string {
  return typeof cell === 'string' ? printableText(cell) : cell;
}

function included(object: KubeObject, includeObject: string): { object?: object } {
  if (includeObject === 'None') return {};
  if (includeObject === 'Object') return { object };
  return {
    object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata },
  };
}
