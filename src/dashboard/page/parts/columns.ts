// Columns that several tables share.

import { h } from 'preact';
import { Age } from './clock.ts';
import type { Column } from './data-table.ts';

type Place = Pick<Column<never>, 'width' | 'rank'> & { readonly key?: string };

export const ageColumn = ({ key = 'age', ...place }: Place): Column<{ readonly createdMs: number }> => ({
  key,
  title: 'Age',
  ...place,
  isNumber: true,
  // The younger one has the smaller age.
  sortValue: ({ createdMs }) => -createdMs,
  cell: ({ createdMs }) => h(Age, { sinceMs: createdMs }),
});

export const saysColumn = ({ key = 'says', ...place }: Place): Column<{ readonly says?: string }> => ({
  key,
  title: 'What is wrong',
  ...place,
  sortValue: ({ says }) => says,
  cell: ({ says }) => h('span', { class: 'cut', title: says }, says),
});
