// Checks that a schema is structural: every field has one type, and keywords appear only where Kubernetes allows them.

import { type LooseMap, mapOf, mapsOf, stringsOf } from '../kinds/loose.ts';
import { at, type Checks, forbidden, invalid, required } from '../validation/checks.ts';
import { CelError, compileCel } from './cel/cel.ts';
import { compilePattern, PatternError } from './pattern.ts';

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const LIST_TYPES = ['atomic', 'map', 'set'];
/** Deeper than any real schema; bounds the cost of one request. */
const MAX_DEPTH = 64;

export function checkStructural(checks: Checks, path: string, schema: LooseMap, depth = 0): void {
  if (depth > MAX_DEPTH) {
    checks.add(forbidden(path, `schemas may not be nested deeper than ${MAX_DEPTH} levels`));
    return;
  }
  const typeless =
    schema['x-kubernetes-int-or-string'] === true || schema['x-kubernetes-preserve-unknown-fields'] === true;
  if (!schema.type && !typeless) {
    checks.add(
      required(
        `${path}.type`,
        depth === 0 ? 'must not be empty at the root' : 'must not be empty for specified object fields',
      ),
    );
  }
  if (schema.type) checks.oneOf(`${path}.type`, schema.type, TYPES);
  if (depth === 0 && schema.type && schema.type !== 'object')
    checks.oneOf(`${path}.type`, schema.type, ['object']);
  for (const keyword of ['$ref', 'definitions', 'dependencies', 'patternProperties', 'additionalItems']) {
    if (schema[keyword] !== undefined)
      checks.add(forbidden(`${path}.${keyword}`, `${keyword} is not supported`));
  }
  if (schema.uniqueItems === true)
    checks.add(
      forbidden(
        `${path}.uniqueItems`,
        'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
      ),
    );
  checkList(checks, path, schema);
  checkRules(checks, path, schema);
  checkPattern(checks, path, schema.pattern);
  const properties = mapOf(schema.properties);
  if (properties && mapOf(schema.additionalProperties)) {
    checks.add(
      forbidden(`${path}.additionalProperties`, 'additionalProperties and properties are mutual exclusive'),
    );
  }
  for (const [name, property] of Object.entries(properties ?? {})) {
    checkStructural(checks, `${path}.properties[${name}]`, mapOf(property) ?? {}, depth + 1);
  }
  const additional = mapOf(schema.additionalProperties);
  if (additional) checkStructural(checks, `${path}.additionalProperties`, additional, depth + 1);
  const items = mapOf(schema.items);
  if (items) checkStructural(checks, `${path}.items`, items, depth + 1);
  for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
    for (const [index, nested] of mapsOf(schema[keyword]).entries())
      checkNested(checks, at(`${path}.${keyword}`, index), nested);
  }
}

function checkList(checks: Checks, path: string, schema: LooseMap): void {
  const type = schema['x-kubernetes-list-type'];
  checks.oneOf(`${path}.x-kubernetes-list-type`, type, LIST_TYPES);
  if (schema.type === 'array' && !schema.items) checks.add(required(`${path}.items`, 'must be specified'));
  if (type !== 'map') return;
  const keys = stringsOf(schema['x-kubernetes-list-map-keys']);
  checks.required(
    `${path}.x-kubernetes-list-map-keys`,
    keys,
    'must not be empty if x-kubernetes-list-type is map',
  );
  const properties = mapOf(mapOf(schema.items)?.properties) ?? {};
  for (const [index, key] of keys.entries()) {
    if (!Object.hasOwn(properties, key)) {
      checks.add(
        required(
          `${path}.items.properties`,
          `entries in x-kubernetes-list-map-keys must be properties: ${key} (${index})`,
        ),
      );
    }
  }
}

/** A rule that this server cannot evaluate would not be enforced, so it is rejected. */
function checkRules(checks: Checks, path: string, schema: LooseMap): void {
  for (const [index, { rule }] of mapsOf(schema['x-kubernetes-validations']).entries()) {
    const field = `${at(`${path}.x-kubernetes-validations`, index)}.rule`;
    if (!checks.required(field, rule)) continue;
    try {
      compileCel(String(rule));
    } catch (error) {
      if (!(error instanceof CelError)) throw error;
      checks.add(invalid(field, rule, `compilation failed: ${error.message}`));
    }
  }
}

function checkPattern(checks: Checks, path: string, pattern: unknown): void {
  if (typeof pattern !== 'string') return;
  try {
    compilePattern(pattern);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    const why = `must be a valid regular expression, but isn't: ${error.message}`;
    checks.add(invalid(`${path}.pattern`, pattern, why));
  }
}

/** Inside allOf, anyOf and oneOf a schema only restricts; it declares nothing. */
function checkNested(checks: Checks, path: string, schema: LooseMap): void {
  for (const keyword of ['description', 'default', 'type', 'additionalProperties', 'nullable']) {
    if (keyword === 'type' && (schema.type === 'integer' || schema.type === 'string')) continue;
    if (schema[keyword] !== undefined)
      checks.add(
        forbidden(
          `${path}.${keyword}`,
          `must be ${keyword === 'nullable' ? 'false' : 'empty'} to be structural`,
        ),
      );
  }
}
