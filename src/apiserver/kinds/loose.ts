// Objects before validation: any field may be absent or of a wrong type. Each reader returns the field if it has the
// expected type, and otherwise nothing.

import type { KubeObject } from '../../api/object.ts';
import { getOwn, setOwn } from '../../api/own-property.ts';

// biome-ignore lint/suspicious/noExplicitAny: request bodies are arbitrary JSON below the metadata.
export type Loose = KubeObject & Record<string, any>;

export type LooseMap = Record<string, unknown>;

export function mapOf(value: unknown): LooseMap | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as LooseMap)
    : undefined;
}

export function mapsOf(value: unknown): LooseMap[] {
  return Array.isArray(value) ? value.filter((each) => mapOf(each) !== undefined) : [];
}

export function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function stringsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}

/** Sets a field that is absent; null counts as absent. */
export function setDefault(target: LooseMap, field: string, value: unknown): void {
  const present = getOwn(target, field);
  if (present === undefined || present === null) setOwn(target, field, value);
}

/** The map in a field, created when absent. */
export function ensureMap(target: LooseMap, field: string): LooseMap {
  const present = mapOf(getOwn(target, field));
  if (present) return present;
  const made: LooseMap = {};
  setOwn(target, field, made);
  return made;
}
