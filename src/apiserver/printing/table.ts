// `meta.k8s.io/v1 Table`: the response format of `kubectl get`.

import type { KubeObject } from '../../api/object.ts';
import { printableText } from '../../runtime/log/printable.ts';
import type { Kind } from '../kind.ts';

export type IncludeObject = 'None' | 'Metadata' | 'Object';

export interface TableOptions {
  includeObject: IncludeObject | string;
  nowMs: number;
  listMetadata: object;
  /** Of `meta.k8s.io`. Default: v1. */
  version?: string | undefined;
}

export interface Table {
  kind: 'Table';
  apiVersion: string;
  metadata: object;
  columnDefinitions: object[];
  rows: object[];
}

export function toTable(kind: Kind, objects: readonly KubeObject[], options: TableOptions): Table {
  const { includeObject, nowMs, listMetadata, version = 'v1' } = options;
  const apiVersion = `meta.k8s.io/${version}`;
  return {
    kind: 'Table',
    apiVersion,
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
      ...included(object, includeObject, apiVersion),
    })),
  };
}

/** Clients print cells as they are; kubectl escapes only some of the terminal's control sequences. */
function printable<T>(cell: T): T | string {
  return typeof cell === 'string' ? printableText(cell) : cell;
}

function included(object: KubeObject, includeObject: string, apiVersion: string): { object?: object } {
  if (includeObject === 'None') return {};
  if (includeObject === 'Object') return { object };
  return { object: { kind: 'PartialObjectMetadata', apiVersion, metadata: object.metadata } };
}
