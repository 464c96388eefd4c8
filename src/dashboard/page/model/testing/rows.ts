// Rows for tests: well, a minute old, with overrides.

import type { PodRow, TroubleRow, VolumeRow } from '../../../page-messages.ts';

export const NOW = 1_000_000;

export const volume = (id: string, more: Partial<VolumeRow> = {}): VolumeRow => ({
  id,
  subject: 'claim',
  namespace: 'ns',
  name: id,
  state: 'ok',
  says: '',
  phase: 'Bound',
  isGoing: false,
  createdMs: NOW - 60_000,
  accessModes: [],
  attachments: [],
  pods: [],
  ...more,
});
export const pod = (id: string, more: Partial<PodRow> = {}): PodRow => ({
  id,
  namespace: 'ns',
  name: id,
  state: 'ok',
  says: '',
  phase: 'Running',
  isGoing: false,
  createdMs: NOW - 60_000,
  volumes: [],
  ...more,
});
export const trouble = (id: string, more: Partial<TroubleRow> = {}): TroubleRow => ({
  id,
  state: 'stuck',
  subject: id,
  says: 'does not exist',
  todo: [],
  said: [],
  affects: [id],
  affected: 1,
  order: 0,
  createdMs: NOW - 60_000,
  ...more,
});
