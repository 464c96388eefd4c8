// Parses and validates the query parameters of resource requests.

import { notSupported } from '../validation/checks.ts';
import type { ListParameters } from '../verbs/read/list.ts';
import type { WatchParameters } from '../verbs/read/watch.ts';
import { badRequest, invalidOptions } from '../verbs/status.ts';

export function readBoolean(query: URLSearchParams, name: string): boolean | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  // As in Kubernetes, anything else is true, nothing included.
  return !/^(0|false)$/i.test(text);
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
    sendInitialEvents: readBoolean(query, 'sendInitialEvents'),
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

/** `options` is the type of the request's options, for errors. */
export function readDryRun(query: URLSearchParams, options: string): boolean {
  const values = query.getAll('dryRun').filter((value) => value !== '');
  const unknown = values.find((value) => value !== 'All');
  if (unknown !== undefined) {
    throw invalidOptions(options, notSupported('dryRun', values, ['All']));
  }
  return values.length > 0;
}

export function readFieldValidation(query: URLSearchParams, options: string): 'Ignore' | 'Warn' | 'Strict' {
  const text = query.get('fieldValidation') || 'Warn';
  if (text === 'Ignore' || text === 'Warn' || text === 'Strict') return text;
  throw invalidOptions(options, notSupported('fieldValidation', text, ['', 'Ignore', 'Strict', 'Warn']));
}
