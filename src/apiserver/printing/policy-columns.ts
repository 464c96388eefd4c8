// The columns of PodDisruptionBudgets and NetworkPolicies.

import type { Column } from '../kind.ts';
import { ageColumn, column, nameColumn } from './column.ts';
import { selectorText } from './other-columns.ts';

const UNSET = 'N/A';

export const disruptionBudgetColumns: readonly Column[] = [
  nameColumn,
  column('Min Available', (budget) => String(budget.spec?.minAvailable ?? UNSET)),
  column('Max Unavailable', (budget) => String(budget.spec?.maxUnavailable ?? UNSET)),
  column('Allowed Disruptions', (budget) => budget.status?.disruptionsAllowed ?? 0, { type: 'integer' }),
  ageColumn,
];

export const networkPolicyColumns: readonly Column[] = [
  nameColumn,
  column('Pod-Selector', (policy) => selectorText(policy.spec?.podSelector)),
  ageColumn,
];
