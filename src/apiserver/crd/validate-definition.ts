// Validation of CustomResourceDefinitions: names, versions, and structural schemas.

import { dns1035LabelProblems, dns1123SubdomainProblems } from '../../api/names.ts';
import { sameJson } from '../../api/same-json.ts';
import type { FieldError, Subresource } from '../kind.ts';
import { type Loose, type LooseMap, mapOf, mapsOf, stringsOf } from '../kinds/loose.ts';
import { at, Checks, forbidden, invalid, required } from '../validation/checks.ts';
import { checkDeclared, checkVersionParts } from './check-declared.ts';
import { checkRuleCosts } from './check-rule-costs.ts';
import { checkRuleTypes } from './check-rule-types.ts';
import { compileJsonPath, JsonPathError } from './json-path.ts';
import { checkStructural } from './structural.ts';

/**
 * The cost of rules is checked where they can have changed, as in kube-apiserver: a definition that was accepted before a
 * limit existed can still be updated.
 */
export function validateDefinition(crd: Loose, current?: Loose): FieldError[] {
  const checks = new Checks();
  const spec = mapOf(crd.spec) ?? {};
  const names = mapOf(spec.names) ?? {};
  if (checks.required('spec.group', spec.group)) {
    checks.text('spec.group', spec.group, dns1123SubdomainProblems);
    if (!String(spec.group).includes('.'))
      checks.add(invalid('spec.group', spec.group, 'should be a domain with at least one dot'));
  }
  const expected = `${names.plural ?? ''}.${spec.group ?? ''}`;
  if (crd.metadata.name !== expected) {
    checks.add(invalid('metadata.name', crd.metadata.name, 'must be spec.names.plural+"."+spec.group'));
  }
  checkApproval(checks, crd, current);
  checkNames(checks, names);
  if (checks.required('spec.scope', spec.scope))
    checks.oneOf('spec.scope', spec.scope, ['Cluster', 'Namespaced']);
  checkVersions(checks, spec, mapOf(current?.spec));
  const strategy = mapOf(spec.conversion)?.strategy;
  if (strategy === 'Webhook') {
    checks.add(
      forbidden('spec.conversion.strategy', 'conversion webhooks are not supported by this server: use None'),
    );
  } else checks.oneOf('spec.conversion.strategy', strategy, ['None', 'Webhook']);
  if (spec.preserveUnknownFields === true) {
    checks.add(invalid('spec.preserveUnknownFields', true, 'must be false'));
  }
  return checks.errors;
}

const APPROVAL = 'api-approved.kubernetes.io';

/** Groups of the Kubernetes project need its approval. A definition that was stored without may stay without. */
function checkApproval(checks: Checks, crd: Loose, current: Loose | undefined): void {
  if (!/(^|\.)(k8s|kubernetes)\.io$/.test(String(mapOf(crd.spec)?.group))) return;
  const given = crd.metadata.annotations?.[APPROVAL] ?? '';
  const state = approvalOf(given);
  if (
    state === 'given' ||
    (current && approvalOf(current.metadata.annotations?.[APPROVAL] ?? '') === state)
  ) {
    return;
  }
  const field = `metadata.annotations[${APPROVAL}]`;
  const rule = `protected groups must have approval annotation "${APPROVAL}"`;
  const see = 'see https://github.com/kubernetes/enhancements/pull/1111';
  if (state === 'missing') checks.add(required(field, `${rule}, ${see}`));
  else {
    const how = `${rule} with either a URL or a reason starting with "unapproved", ${see}`;
    checks.add(invalid(field, given, how));
  }
}

function approvalOf(annotation: string): 'missing' | 'given' | 'invalid' {
  if (annotation === '') return 'missing';
  if (annotation.startsWith('unapproved')) return 'given';
  return /^[a-z][a-z0-9+.-]*:\/\/[^/?#]/i.test(annotation) ? 'given' : 'invalid';
}

function checkNames(checks: Checks, names: LooseMap): void {
  for (const field of ['plural', 'singular'] as const) {
    if (field === 'plural' && !checks.required('spec.names.plural', names.plural)) continue;
    if (names[field]) checks.text(`spec.names.${field}`, names[field], dns1035LabelProblems);
  }
  for (const field of ['kind', 'listKind'] as const) {
    if (checks.required(`spec.names.${field}`, names[field])) {
      checks.text(`spec.names.${field}`, String(names[field]).toLowerCase(), dns1035LabelProblems);
    }
  }
  if (names.kind && names.kind === names.listKind) {
    checks.add(invalid('spec.names.listKind', names.listKind, 'kind and listKind may not be the same'));
  }
  for (const [index, short] of stringsOf(names.shortNames).entries()) {
    checks.text(at('spec.names.shortNames', index), short, dns1035LabelProblems);
  }
  for (const [index, category] of stringsOf(names.categories).entries()) {
    checks.text(at('spec.names.categories', index), category, dns1035LabelProblems);
  }
}

const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string'];

function checkVersions(checks: Checks, spec: LooseMap, current: LooseMap | undefined): void {
  const versions = mapsOf(spec.versions);
  const stored = versions.filter((version) => version.storage === true);
  if (versions.length === 0 || stored.length !== 1) {
    checks.add(
      invalid(
        'spec.versions',
        versions.map((version) => version.name),
        'must have exactly one version marked as storage version',
      ),
    );
  }
  checks.unique(
    'spec.versions',
    versions.map((version) => version.name),
    (index) => `${at('spec.versions', index)}.name`,
  );
  // Also true of every write of the status.
  const isSame = current !== undefined && sameJson(spec, current);
  for (const [index, version] of versions.entries()) {
    const path = at('spec.versions', index);
    checks.text(`${path}.name`, version.name ?? '', dns1035LabelProblems);
    const schema = mapOf(mapOf(version.schema)?.openAPIV3Schema);
    if (!schema) checks.add(required(`${path}.schema.openAPIV3Schema`, 'schemas are required'));
    else if (checkSchema(checks, `${path}.schema.openAPIV3Schema`, schema) && !isSame) {
      const isExempt = sameJson(schema, schemaOf(current, version.name));
      if (!isExempt) {
        checkDeclared(checks, `${path}.schema.openAPIV3Schema`, schema);
        checkRuleTypes(checks, `${path}.schema.openAPIV3Schema`, schema);
      }
      checkVersionParts(checks, path, version, schema);
      checkRuleCosts(checks, `${path}.schema.openAPIV3Schema`, schema, { isExempt });
    }
    for (const [position, column] of mapsOf(version.additionalPrinterColumns).entries()) {
      checkColumn(checks, at(`${path}.additionalPrinterColumns`, position), column);
    }
    const scale = mapOf(mapOf(version.subresources)?.scale);
    if (scale) {
      checks.required(`${path}.subresources.scale.specReplicasPath`, scale.specReplicasPath);
      checks.required(`${path}.subresources.scale.statusReplicasPath`, scale.statusReplicasPath);
    }
  }
}

/** Whether it is structural. */
function checkSchema(checks: Checks, path: string, schema: LooseMap): boolean {
  const before = checks.errors.length;
  checkStructural(checks, path, schema);
  return checks.errors.length === before;
}

function schemaOf(spec: LooseMap | undefined, version: unknown): LooseMap | undefined {
  const found = mapsOf(spec?.versions).find(({ name }) => name === version);
  return mapOf(mapOf(found?.schema)?.openAPIV3Schema);
}

function checkColumn(checks: Checks, path: string, column: LooseMap): void {
  checks.required(`${path}.name`, column.name);
  if (checks.required(`${path}.type`, column.type)) checks.oneOf(`${path}.type`, column.type, COLUMN_TYPES);
  if (!checks.required(`${path}.jsonPath`, column.jsonPath)) return;
  try {
    compileJsonPath(String(column.jsonPath));
  } catch (error) {
    if (!(error instanceof JsonPathError)) throw error;
    checks.add(invalid(`${path}.jsonPath`, column.jsonPath, `is an invalid path: ${error.message}`));
  }
}

export function validateDefinitionUpdate(
  next: Loose,
  current: Loose,
  subresource: Subresource,
): FieldError[] {
  const checks = new Checks();
  if (subresource === 'status') return checks.errors;
  checks.immutable('spec.group', next.spec?.group, current.spec?.group);
  const established = mapsOf(current.status?.conditions).some(
    (each) => each.type === 'Established' && each.status === 'True',
  );
  if (established) {
    checks.immutable('spec.scope', next.spec?.scope, current.spec?.scope);
    checks.immutable('spec.names.kind', next.spec?.names?.kind, current.spec?.names?.kind);
    checks.immutable('spec.names.plural', next.spec?.names?.plural, current.spec?.names?.plural);
  }
  const names = mapsOf(next.spec?.versions).map((version) => version.name);
  for (const stored of stringsOf(current.status?.storedVersions)) {
    if (!names.includes(stored))
      checks.add(invalid('status.storedVersions[0]', stored, 'must appear in spec.versions'));
  }
  return checks.errors;
}
