// Makes answers of two servers comparable. What is taken out is what two runs of the same server differ in, or what is
// worded for people:
// - uids, resource versions, times, continue tokens and suffixes of generated names are replaced by a word;
// - addresses and ports of Services, which a server may choose, are replaced by a word;
// - managedFields lose their times and are sorted, because their order follows from the times;
// - a Status loses its message, and its causes lose theirs and are sorted: reasons, fields, kind, group and name stay;
// - columns of a Table lose their descriptions, ages in cells become a word;
// - items of lists lose kind and apiVersion, which kube-apiserver leaves out for built-in kinds;
// - a warning is only counted.
// Everything else is compared, field by field; the order of lists counts, the order of keys does not.

import { type Answer, isObject, type Json, type JsonObject } from './exchange.ts';

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
const AGE = /^(?:\d+[smhdy])+$|^<unknown>$/;
const WORDS: Readonly<Record<string, string>> = {
  uid: '<uid>',
  resourceVersion: '<version>',
  continue: '<continue>',
  clusterIP: '<address>',
};

export function normalised({ code, type, warnings, body }: Answer): JsonObject {
  return { code, type, warnings: warnings.length, body: normal(body) };
}

function normal(value: Json, key = ''): Json {
  if (typeof value === 'string') return normalText(value, key);
  if (key === 'nodePort') return '<port>';
  if (Array.isArray(value)) return value.map((each) => normal(each, key === 'clusterIPs' ? 'clusterIP' : ''));
  if (!isObject(value)) return value;
  if (value.kind === 'Status' && value.apiVersion === 'v1') return normalStatus(value);
  if (value.kind === 'Table') return normalTable(value);
  const result: JsonObject = {};
  for (const field of Object.keys(value).sort()) {
    const each = value[field] as Json;
    if (field === 'managedFields' && Array.isArray(each)) result[field] = normalManagers(each);
    else if (field === 'items' && Array.isArray(each) && isListKind(value))
      result[field] = each.map(normalItem);
    else result[field] = normal(each, field);
  }
  return result;
}

const isListKind = ({ kind, metadata }: JsonObject): boolean =>
  typeof kind === 'string' && kind.endsWith('List') && isObject(metadata);

function normalItem(item: Json): Json {
  if (!isObject(item)) return item;
  const { apiVersion: _version, kind: _kind, ...rest } = item;
  return normal(rest);
}

function normalText(text: string, key: string): string {
  if (text === '') return text;
  const word = Object.hasOwn(WORDS, key) ? WORDS[key] : undefined;
  if (word !== undefined) return word;
  if (TIME.test(text)) return '<time>';
  return text.replace(/(generated-)[bcdfghjklmnpqrstvwxz2456789]{5}/g, '$1<suffix>');
}

function normalManagers(entries: readonly Json[]): Json {
  const texts = entries.map((entry) => {
    const { time: _time, ...rest } = entry as JsonObject;
    return JSON.stringify(normal(rest));
  });
  return texts.sort().map((text) => JSON.parse(text) as Json);
}

function normalStatus(status: JsonObject): Json {
  const { message: _message, details, ...rest } = status;
  const result = { ...rest };
  if (isObject(details)) {
    const { causes, ...named } = details;
    const kept = normal(named) as JsonObject;
    if (Array.isArray(causes)) {
      const texts = causes.map((cause) => {
        const { message: _text, ...where } = cause as JsonObject;
        return JSON.stringify(normal(where));
      });
      kept.causes = [...new Set(texts)].sort();
    }
    result.details = kept;
  }
  return result;
}

function normalTable(table: JsonObject): Json {
  const { columnDefinitions, rows, metadata, ...rest } = table;
  // In a watch only the first event has them.
  const columns = (columnDefinitions as JsonObject[] | null)?.map(
    ({ description: _text, ...column }) => column,
  );
  const result: JsonObject = {
    ...rest,
    metadata: normal(metadata ?? {}),
    columnDefinitions: columns ?? null,
  };
  if (Array.isArray(rows)) {
    result.rows = (rows as JsonObject[]).map((row) => ({
      ...row,
      cells: (row.cells as Json[]).map((cell) =>
        typeof cell === 'string' && AGE.test(cell) ? '<age>' : normal(cell),
      ),
      object: normal(row.object ?? null),
    }));
  }
  return result;
}

/** Where two values differ, at most a few places: `spec.x: left ≠ right`. */
export function differences(left: Json | undefined, right: Json | undefined, path = ''): string[] {
  if (left === right) return [];
  if (Array.isArray(left) && Array.isArray(right)) {
    const length = Math.max(left.length, right.length);
    return Array.from({ length }, (_, at) => differences(left[at], right[at], `${path}[${at}]`)).flat();
  }
  if (isObject(left) && isObject(right)) {
    const keys = new Set([...Object.keys(left), ...Object.keys(right)]);
    return [...keys].flatMap((key) =>
      differences(left[key], right[key], path === '' ? key : `${path}.${key}`),
    );
  }
  return [`${path}: ${shown(left)} ≠ ${shown(right)}`];
}

function shown(value: Json | undefined): string {
  const text = value === undefined ? 'absent' : JSON.stringify(value);
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}
