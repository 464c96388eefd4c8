// Prints tables as the server describes them: its columns, its cells, in aligned text. Pure.

import type { KubeTable } from '../../runtime/kube/http-kube-client.ts';
import { printableLine } from '../../runtime/log/printable.ts';

export interface TableLook {
  wide: boolean;
  /** Adds a first column with the namespace. */
  namespaces: boolean;
  /** Prints names as `pod/web`, for mixed kinds. */
  prefix: string;
  headers: boolean;
}

export function tableLines(table: KubeTable, look: TableLook): string[] {
  const columns = table.columnDefinitions
    .map((column, index) => ({ column, index }))
    .filter(({ column }) => look.wide || (column.priority ?? 0) === 0);
  const header = columns.map(({ column }) => column.name.toUpperCase());
  const rows = table.rows.map(({ cells, object }) => {
    const texts = columns.map(({ index }) => cellText(cells[index]));
    if (look.prefix !== '') texts[0] = `${look.prefix}/${texts[0]}`;
    return look.namespaces ? [object.metadata.namespace ?? '', ...texts] : texts;
  });
  const titles = look.namespaces ? ['NAMESPACE', ...header] : header;
  return aligned(look.headers ? [titles, ...rows] : rows);
}

/** Each cell is one line. Columns are padded to their widest cell, three spaces apart; the last is not padded. */
export function aligned(given: readonly (readonly string[])[]): string[] {
  const rows = given.map((row) => row.map(printableLine));
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  }
  return rows.map((row) =>
    row
      .map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd((widths[index] ?? 0) + 3)))
      .join(''),
  );
}

function cellText(cell: unknown): string {
  if (cell === null || cell === undefined || cell === '') return '';
  return typeof cell === 'object' ? JSON.stringify(cell) : String(cell);
}
