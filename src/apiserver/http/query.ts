// Parses and validates the query parameters of resource requests.

import type { ListParameters } from '../verbs/read/list.ts';
import type { WatchParameters } from '../verbs/read/watch.ts';
import { badRequest } from '../verbs/status.ts';

export function readBoolean(query: URLSearchParams, name: string): boolean | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  // The values that Go's strconv.ParseBool accepts.
  if (/^(1|t|true)$/i.test(text)) return true;
  if (/^(0|f|false)$/i.test(text)) return false;
  throw badRequest(`${name}: Invalid value: "${text}": must be true or false`);
}

export function readInteger(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  if (!/^-?[0-9]{1,10}$/.test(text))
    throw badRequest(`${name}: Invalid value: "${text}": must be an integer`);
  return Number(text);
}

function readText(query: URLSearchParams, name: string): string | undefined {
  return query.get(name) || undefined;
}

export function readListParameters(query: URLSearchParams): ListParameters {
  return {
    labelSelector: readText(query, 'labelSelector'),
    fieldSelector: readText(query, 'fieldSelector'),
    limit: readInteger(query, 'limit'),
    continue: readText(query, 'continue'),
    resourceVersion: readText(query, 'resourceVersion'),
    resourceVersionMatch: readText(query, 'resourceVersionMatch'),
  };
}

export function readWatchParameters(query: URLSearchParams): WatchParameters {
  return {
    labelSelector: readText(query, 'labelSelector'),
    fieldSelector: readText(query, 'fieldSelector'),
    resourceVersion: readText(query, 'resourceVersion'),
    resourceVersionMatch: readText(query, 'resourceVersionMatch'),
    sendInitialEvents: readBoolean(query, 'sendInitialEvents'),
    allowBookmarks: readBoolean(query, 'allowWatchBookmarks'),
  };
}

export function readDryRun(query: URLSearchParams): boolean {
  const values = query.getAll('dryRun').filter((value) => value !== '');
  const unknown = values.find((value) => value !== 'All');
  if (unknown !== undefined) {
    throw badRequest(`dryRun: Unsupported value: "${unknown}": supported values: "All"`);
  }
  return values.length > 0;
}

export function readFieldValidation(query: URLSearchParams): 'Ignore' | 'Warn' | 'Strict' {
  const text = query.get('fieldValidation') || 'Warn';
  if (text === 'Ignore' || text === 'Warn' || text === 'Strict') return text;
  throw badRequest(
    `fieldValidation: Unsupported value: "${text}": supported values: "Ignore", "Strict", "Warn"`,
  );
}
