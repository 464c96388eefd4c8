// Helpers for columns, so that a kind's table reads as a list.

import type { Column } from '../kind.ts';
import type { Loose } from '../kinds/loose.ts';
import { ageOf } from './age.ts';

type Cell = string | number | boolean | null;

export function column(
  name: string,
  cell: (object: Loose, nowMs: number) => Cell | undefined,
  options: Partial<Pick<Column, 'type' | 'format' | 'priority' | 'description'>> = {},
): Column {
  return { type: 'string', ...options, name, cell: (object, nowMs) => cell(object as Loose, nowMs) ?? '' };
}

export const wide = (name: string, cell: (object: Loose, nowMs: number) => Cell | undefined): Column =>
  column(name, cell, { priority: 1 });

export const nameColumn: Column = column('Name', (object) => object.metadata.name, {
  format: 'name',
  description: 'Name must be unique within a namespace.',
});

export const ageColumn: Column = column(
  'Age',
  (object, nowMs) => ageOf(object.metadata.creationTimestamp, nowMs),
  {
    description: 'Time since the object was created.',
  },
);

export const createdAtColumn: Column = column('Created At', (object) => object.metadata.creationTimestamp, {
  type: 'date',
  description: 'When the object was created.',
});

const SHORT_MODES: Record<string, string> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};

/** In Kubernetes' fixed order, without duplicates. */
export function shortAccessModes(modes: unknown): string {
  const given = new Set(Array.isArray(modes) ? modes : []);
  return Object.entries(SHORT_MODES)
    .filter(([mode]) => given.has(mode))
    .map(([, short]) => short)
    .join(',');
}
