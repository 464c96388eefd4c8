// The properties of every list view.

import type { Model } from '../model/model.ts';
import type { Query } from '../model/routes.ts';

export interface ViewProps {
  readonly model: Model;
  readonly query: Query;
  readonly onQuery: (query: Query) => void;
}
