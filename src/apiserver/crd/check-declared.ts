// Rules of a schema that only a new or changed definition has to keep: defaults that their own schema accepts, keys of
// lists, types of lists and maps, what a rule reports. A definition that was stored without them can still be updated.

import { type LooseMap, mapOf, mapsOf, stringsOf } from '../kinds/loose.ts';
import type { Schema } from '../schema.ts';
import { at, type Checks, forbidden, invalid, notSupported, required } from '../validation/checks.ts';
import { validateAgainstSchema } from './validate-schema.ts';

const REASONS = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];
const SCALARS = ['boolean', 'integer', 'number', 'string'];

/** The schema is structural. */
export function checkDeclared(checks: Checks, path: string, schema: LooseMap, depth = 0): void {
  checkDefault(checks, path, schema);
  checkMerging(checks, path, schema);
  checkReports(checks, path, schema);
  if (schema['x-kubernetes-embedded-resource'] === true) {
    const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true;
    if (!isOpen && Object.keys(mapOf(schema.properties) ?? {}).length === 0) {
      checks.add(
        required(`${path}.properties`, 'must not be empty if x-kubernetes-embedded-resource is true'),
      );
    }
  }
  for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
    for (const [index, nested] of mapsOf(schema[keyword]).entries()) {
      const isEither = schema['x-kubernetes-int-or-string'] === true && keyword === 'anyOf';
      if (nested.type !== undefined && !isEither) {
        const field = `${at(`${path}.${keyword}`, index)}.type`;
        checks.add(forbidden(field, 'must be empty to be structural'));
      }
    }
  }
  for (const [name, property] of Object.entries(mapOf(schema.properties) ?? {})) {
    const below = mapOf(property) ?? {};
    if (depth === 0 && name === 'metadata') checkMetadata(checks, `${path}.properties[metadata]`, below);
    else checkDeclared(checks, `${path}.properties[${name}]`, below, depth + 1);
  }
  const items = mapOf(schema.items);
  if (items) checkDeclared(checks, `${path}.items`, items, depth + 1);
  const additional = mapOf(schema.additionalProperties);
  if (additional) checkDeclared(checks, `${path}.additionalProperties`, additional, depth + 1);
}

function checkDefault(checks: Checks, path: string, schema: LooseMap): void {
  const { default: preset } = schema;
  if (preset === undefined || (preset === null && schema.nullable === true)) return;
  for (const error of validateAgainstSchema(schema as Schema, preset)) {
    const below = error.field === '' || error.field.startsWith('[') ? error.field : `.${error.field}`;
    checks.add({ ...error, field: `${path}.default${below}` });
  }
}

function checkMerging(checks: Checks, path: string, schema: LooseMap): void {
  const listType = schema['x-kubernetes-list-type'];
  const mapType = schema['x-kubernetes-map-type'];
  if (listType !== undefined && schema.type !== 'array') {
    checks.add(invalid(`${path}.type`, schema.type, 'must be array if x-kubernetes-list-type is specified'));
  }
  if (mapType !== undefined && schema.type !== 'object') {
    checks.add(invalid(`${path}.type`, schema.type, 'must be object if x-kubernetes-map-type is specified'));
  }
  const items = mapOf(schema.items) ?? {};
  if (listType === 'set' && items.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic') {
    const field = `${path}.items.x-kubernetes-map-type`;
    checks.add(
      invalid(
        field,
        items['x-kubernetes-map-type'] ?? '',
        'must be atomic as item of a list with x-kubernetes-list-type=set',
      ),
    );
  }
  if (listType !== 'map') return;
  const properties = mapOf(items.properties) ?? {};
  const given = new Set(stringsOf(items.required));
  for (const key of stringsOf(schema['x-kubernetes-list-map-keys'])) {
    const property = mapOf(new Map(Object.entries(properties)).get(key));
    if (property === undefined) continue;
    const field = `${path}.items.properties[${key}]`;
    if (!SCALARS.includes(String(property.type))) {
      checks.add(
        invalid(
          `${field}.type`,
          property.type,
          "must be a scalar type if parent array's x-kubernetes-list-type is map",
        ),
      );
    } else if (!given.has(key) && property.default === undefined) {
      checks.add(
        required(
          `${field}.default`,
          'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
        ),
      );
    }
  }
}

function checkReports(checks: Checks, path: string, schema: LooseMap): void {
  for (const [index, rule] of mapsOf(schema['x-kubernetes-validations']).entries()) {
    const field = at(`${path}.x-kubernetes-validations`, index);
    if (rule.reason !== undefined && !REASONS.includes(String(rule.reason))) {
      checks.add(notSupported(`${field}.reason`, rule.reason, REASONS));
    }
    if (!rule.message && /[\n\r]/.test(String(rule.rule).trim())) {
      const detail = 'message must be specified if rule contains line breaks';
      checks.add(required(`${field}.message`, detail));
    }
    if (typeof rule.messageExpression === 'string' && /^\s+$/.test(rule.messageExpression)) {
      checks.add(required(`${field}.messageExpression`, 'messageExpression must be non-empty if specified'));
    }
    if (typeof rule.message === 'string' && /[\n\r]/.test(rule.message)) {
      checks.add(invalid(`${field}.message`, rule.message, 'message must not contain line breaks'));
    }
    if (typeof rule.fieldPath === 'string' && !refersToField(schema, rule.fieldPath)) {
      checks.add(invalid(`${field}.fieldPath`, rule.fieldPath, 'fieldPath must be a valid path'));
    }
  }
}

/** Whether a path such as `.spec.size` leads to a field that the schema declares. */
function refersToField(schema: LooseMap, path: string): boolean {
  return fieldAt(schema, path) !== undefined;
}

function fieldAt(schema: LooseMap, path: string): LooseMap | undefined {
  if (!path.startsWith('.') && !path.startsWith('[')) return undefined;
  const keys = path.match(/[^.[\]']+/g) ?? [];
  let node: LooseMap | undefined = schema;
  for (const key of keys) {
    node =
      mapOf(new Map(Object.entries(mapOf(node?.properties) ?? {})).get(key)) ??
      mapOf(node?.additionalProperties);
    if (node === undefined) return undefined;
  }
  return keys.length === 0 ? undefined : node;
}

function checkMetadata(checks: Checks, path: string, schema: LooseMap): void {
  const declared = Object.keys(mapOf(schema.properties) ?? {});
  if (declared.some((name) => name !== 'name' && name !== 'generateName')) {
    checks.add(
      forbidden(
        path,
        'must not specify anything other than name and generateName, but metadata is implicitly specified',
      ),
    );
  }
}

/** Parts of a version beside its schema. */
export function checkVersionParts(checks: Checks, path: string, version: LooseMap, schema: LooseMap): void {
  if (version.deprecationWarning !== undefined && version.deprecated !== true) {
    checks.add(
      invalid(
        `${path}.deprecationWarning`,
        version.deprecationWarning,
        'can only be set for deprecated versions',
      ),
    );
  }
  const scale = mapOf(mapOf(version.subresources)?.scale) ?? {};
  for (const [field, root] of [
    ['specReplicasPath', '.spec'],
    ['statusReplicasPath', '.status'],
  ] as const) {
    const given = scale[field];
    if (typeof given === 'string' && given !== '' && !given.startsWith(`${root}.`)) {
      const detail = `should be a json path under ${root}`;
      checks.add(invalid(`${path}.subresources.scale.${field}`, given, detail));
    }
  }
  const seen = new Set<unknown>();
  for (const [index, { jsonPath }] of mapsOf(version.selectableFields).entries()) {
    const field = `${at(`${path}.selectableFields`, index)}.jsonPath`;
    if (!checks.required(field, jsonPath)) continue;
    if (seen.has(jsonPath))
      checks.add({
        reason: 'FieldValueDuplicate',
        field,
        message: `Duplicate value: ${JSON.stringify(jsonPath)}`,
      });
    seen.add(jsonPath);
    const target = String(jsonPath).startsWith('.metadata') ? undefined : fieldAt(schema, String(jsonPath));
    if (target === undefined) {
      checks.add(invalid(field, jsonPath, 'is an invalid path: does not refer to a valid field'));
    } else if (!['boolean', 'integer', 'string'].includes(String(target.type))) {
      checks.add(invalid(field, jsonPath, 'must point to a field of type string, boolean or integer'));
    }
  }
}
