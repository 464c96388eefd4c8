// Builds the kinds that a CustomResourceDefinition defines, one per served version. Versions other than the storage
// version are views, see convert-version.ts.

import { asText } from '../../api/as-text.ts';
import type { CustomResourceDefinition } from '../../api/kinds.ts';
import { apiVersionOf, type KubeObject, type Resource } from '../../api/object.ts';
import { getOwn } from '../../api/own-property.ts';
import { builtinSchema } from '../builtin-schema/builtin-schema.ts';
import type { Column, FieldError, Kind, ScalePaths, Subresource } from '../kind.ts';
import { ALL_VERBS, restore } from '../kinds/define-kind.ts';
import { type Loose, mapOf } from '../kinds/loose.ts';
import { CUSTOM_WRITE_RULES } from '../kinds/write-rules.ts';
import { ageOf } from '../printing/age.ts';
import { ageColumn, nameColumn } from '../printing/column.ts';
import type { Schema } from '../schema.ts';
import { invalid } from '../validation/checks.ts';
import { finalizerWarnings } from '../validation/warnings.ts';
import { convertVersion } from './convert-version.ts';
import { compileJsonPath } from './json-path.ts';
import { setSchemaDefaults } from './schema-defaults.ts';
import { createRuleSet } from './validate-rules.ts';
import { validateAgainstSchema } from './validate-schema.ts';

type Version = CustomResourceDefinition['spec']['versions'][number];

/** Cached: stored definitions never change, and compiling a schema is slow. */
const compiled = new WeakMap<CustomResourceDefinition, readonly Kind[]>();

export function customKinds(crd: CustomResourceDefinition): readonly Kind[] {
  let kinds = compiled.get(crd);
  if (kinds === undefined) {
    kinds = compile(crd);
    compiled.set(crd, kinds);
  }
  return kinds;
}

function compile(crd: CustomResourceDefinition): readonly Kind[] {
  const stored = crd.spec.versions.find((version) => version.storage);
  return crd.spec.versions
    .filter((version) => version.served)
    .map((version) => customKind(crd, version, stored?.name ?? version.name));
}

function customKind(crd: CustomResourceDefinition, version: Version, storedVersion: string): Kind {
  const { group, names, scope } = crd.spec;
  const resource: Resource = {
    group,
    version: version.name,
    kind: names.kind,
    plural: names.plural,
    namespaced: scope === 'Namespaced',
  };
  const subresources: Subresource[] = [];
  if (version.subresources?.status) subresources.push('status');
  if (version.subresources?.scale) subresources.push('scale');
  const hasStatus = subresources.includes('status');
  const schema = wholeSchema(version);
  const rules = createRuleSet(schema);
  const scale = scaleOf(version);
  const selectable = (version as { selectableFields?: { jsonPath: string }[] }).selectableFields ?? [];
  const selectors = new Map(
    selectable.map(({ jsonPath }) => [jsonPath.replace(/^\./, ''), compileJsonPath(jsonPath)] as const),
  );
  return {
    ...resource,
    isCustom: true,
    singular: names.singular ?? names.kind.toLowerCase(),
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    subresources,
    schema: () => schema,
    columns: columnsOf(version),
    hasGeneration: true,
    verbs: ALL_VERBS,
    writes: CUSTOM_WRITE_RULES,
    setDefaults: (object) => setSchemaDefaults(schema, object),
    prepareForCreate(object) {
      if (hasStatus) delete (object as Loose).status;
    },
    prepareForUpdate(next, current, subresource) {
      if (hasStatus) isolate(next as Loose, current as Loose, subresource);
    },
    validate(object) {
      const errors = validateAgainstSchema(schema, object);
      if (scale) errors.push(...checkScalePaths(object, scale));
      if (!errors.some(blocksRules)) return [...errors, ...rules.validate(object)];
      return rules.isEmpty ? errors : [...errors, UNCHECKED];
    },
    validateUpdate(next, current): FieldError[] {
      const errors = validateAgainstSchema(schema, next);
      return errors.some(blocksRules) ? [] : rules.validateUpdate(next, current);
    },
    warnings: (object, current) => finalizerWarnings(object as Loose, current as Loose | undefined),
    selectable: [...selectors.keys()],
    selectableField: (object, field) => asText(selectors.get(field)?.(object)[0] ?? ''),
    ...(scale && { scale }),
    ...(version.name === storedVersion
      ? {}
      : { storedAs: otherVersion(resource, { ...resource, version: storedVersion }) }),
  };
}

/** Errors that may keep a rule from being evaluated: it relies on the types. */
const BLOCKING: ReadonlySet<FieldError['reason']> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);
const blocksRules = ({ reason }: FieldError): boolean => BLOCKING.has(reason);

const UNCHECKED: FieldError = {
  reason: 'FieldValueInvalid',
  field: '<nil>',
  message:
    'Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
};

/** A status write changes only status; unlike in built-in kinds, metadata is kept too. */
function isolate(next: Loose, current: Loose, subresource: Subresource): void {
  if (subresource === '') restore(next, current, 'status');
  if (subresource !== 'status') return;
  const { managedFields, resourceVersion } = next.metadata;
  for (const field of new Set([...Object.keys(next), ...Object.keys(current)])) {
    if (field !== 'status') restore(next, current, field);
  }
  if (managedFields) next.metadata.managedFields = managedFields;
  if (resourceVersion) next.metadata.resourceVersion = resourceVersion;
}

function otherVersion(served: Resource, stored: Resource): NonNullable<Kind['storedAs']> {
  const as = (apiVersion: string) => (object: KubeObject) => convertVersion(object, apiVersion);
  return { resource: stored, toStored: as(apiVersionOf(stored)), fromStored: as(apiVersionOf(served)) };
}

function scaleOf(version: Version): ScalePaths | undefined {
  const scale = version.subresources?.scale;
  if (!scale) return undefined;
  const { specReplicasPath, statusReplicasPath, labelSelectorPath } = scale;
  return {
    specReplicas: specReplicasPath,
    statusReplicas: statusReplicasPath,
    ...(labelSelectorPath ? { labelSelector: labelSelectorPath } : {}),
  };
}

const MAX_INT32 = 2 ** 31 - 1;

/** The fields that a Scale shows have to have its types. */
function checkScalePaths(object: KubeObject, scale: ScalePaths): FieldError[] {
  const errors: FieldError[] = [];
  for (const path of [scale.specReplicas, scale.statusReplicas]) {
    const { found, value } = valueAt(object, path);
    if (found && !(Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_INT32)) {
      errors.push(invalid(path, value, `should be an integer between 0 and ${MAX_INT32}`));
    }
  }
  if (scale.labelSelector) {
    const { found, value } = valueAt(object, scale.labelSelector);
    if (found && typeof value !== 'string')
      errors.push(invalid(scale.labelSelector, value, 'should be a string'));
  }
  return errors;
}

/** The value at `.spec.replicas`, or the first value on the way that is no object. */
function valueAt(object: unknown, path: string): { found: boolean; value: unknown } {
  let value = object;
  for (const key of path.split('.').slice(1)) {
    const holder = mapOf(value);
    if (holder === undefined) return { found: true, value };
    value = getOwn(holder, key);
    if (value === undefined) return { found: false, value };
  }
  return { found: true, value };
}

/** The schema with the fields that every object has, whether or not the author declared them. */
function wholeSchema(version: Version): Schema {
  const given = (version.schema?.openAPIV3Schema ?? {
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
  }) as Schema;
  const metadata = given.properties?.metadata;
  return {
    ...given,
    properties: {
      ...given.properties,
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: metadata?.properties
        ? { ...metadata, 'x-kubernetes-preserve-unknown-fields': true }
        : metadataSchema(),
    },
  };
}

function metadataSchema(): Schema {
  return builtinSchema('meta/v1', 'ObjectMeta');
}

function columnsOf(version: Version): readonly Column[] {
  const given = version.additionalPrinterColumns ?? [];
  if (given.length === 0) return [nameColumn, ageColumn];
  return [nameColumn, ...given.map(printerColumn)];
}

function printerColumn(column: NonNullable<Version['additionalPrinterColumns']>[number]): Column {
  const read = compileJsonPath(column.jsonPath);
  const type = column.type as Column['type'];
  return {
    name: column.name,
    type: type === 'date' ? 'string' : type,
    ...(column.description ? { description: column.description } : {}),
    ...(column.format ? { format: column.format } : {}),
    ...(column.priority ? { priority: column.priority } : {}),
    cell: (object, nowMs) => cellOf(read(object), type, nowMs),
  };
}

function cellOf(values: unknown[], type: Column['type'], nowMs: number): string | number | boolean | null {
  const [value] = values;
  if (value === undefined || value === null)
    return type === 'date' ? '<unknown>' : type === 'string' ? '' : null;
  if (type === 'date') return ageOf(value, nowMs);
  if (type === 'integer' || type === 'number') return typeof value === 'number' ? value : null;
  if (type === 'boolean') return typeof value === 'boolean' ? value : null;
  if (values.length > 1) return values.map(asText).join(',');
  return asText(value);
}
