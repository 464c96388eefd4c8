// Small parts of several judgements. Pure.

import type { AuditFacts, ObjectRow } from '../facts.ts';
import type { ObjectTarget } from '../finding.ts';
import type { JudgeOptions } from './options.ts';

/** Clocks differ: what is from the future is new. */
export const isYoung = ({ nowMs }: AuditFacts, sinceMs: number, { minAgeMs }: JudgeOptions): boolean =>
  Math.max(0, nowMs - sinceMs) < minAgeMs;

export const targetOf = (plural: string, { key, uid }: ObjectRow): ObjectTarget => ({ plural, key, uid });
