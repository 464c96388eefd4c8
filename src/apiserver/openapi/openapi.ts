// OpenAPI documents, built on request: `/openapi/v3` (an index, and one document per group version) and `/openapi/v2`
// (one document for everything, as JSON or as the protobuf that older kubectl asks for).

import { createHash } from 'node:crypto';
import { apiVersionOf } from '../../api/object.ts';
import { builtinSchema, definitionNameOf } from '../builtin-schema/builtin-schema.ts';
import type { Kind } from '../kind.ts';
import type { KindRegistry } from '../kind-registry.ts';
import type { Schema } from '../schema.ts';
import { type Definitions, defineSchema, type OpenApiVersion, refTo } from './export-schema.ts';
import { pathsOf } from './operations.ts';

/** Part of every hash: increment it when documents are built differently. */
const EDITION = '1';

/** `GET /openapi/v3`. */
export function openapiV3Index(registry: KindRegistry): object {
  const paths = new Map<string, object>();
  for (const { group, versions } of registry.groupVersions()) {
    for (const version of versions) {
      const path = group === '' ? `api/${version}` : `apis/${group}/${version}`;
      paths.set(path, { serverRelativeURL: `/openapi/v3/${path}?hash=${hashOf(registry, group, version)}` });
    }
  }
  return { paths: Object.fromEntries(paths) };
}

function hashOf(registry: KindRegistry, group: string, version: string): string {
  const hash = createHash('sha256').update(EDITION);
  for (const kind of kindsOf(registry, group, version)) {
    const { plural, verbs, subresources, shortNames } = kind;
    const own = isCustom(kind) ? kind.schema() : '';
    hash.update(JSON.stringify([kind.kind, plural, verbs, subresources, shortNames, own]));
  }
  return hash.digest('hex').toUpperCase();
}

/** `GET /openapi/v3/api/v1`, `GET /openapi/v3/apis/GROUP/VERSION`; undefined when nothing is served there. */
export function openapiV3(registry: KindRegistry, group: string, version: string): object | undefined {
  const kinds = kindsOf(registry, group, version);
  if (kinds.length === 0) return undefined;
  const { paths, definitions } = describe(kinds, 'v3');
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'unversioned' },
    paths,
    components: { schemas: definitions },
  };
}

/** `GET /openapi/v2`. */
export function openapiV2(registry: KindRegistry): OpenApiV2 {
  const { paths, definitions } = describe(registry.all(), 'v2');
  return { swagger: '2.0', info: { title: 'Kubernetes', version: 'unversioned' }, paths, definitions };
}

export interface OpenApiV2 {
  swagger: '2.0';
  info: { title: string; version: string };
  paths: Record<string, object>;
  definitions: Record<string, object>;
}

function kindsOf(registry: KindRegistry, group: string, version: string): Kind[] {
  return registry.all().filter((kind) => kind.group === group && kind.version === version);
}

function isCustom(kind: Kind): boolean {
  return definitionNameOf(kind.schema()) === undefined;
}

/** Kubernetes' names: the group's parts reversed, then version and kind. */
function nameOf(kind: Kind): string {
  const builtin = definitionNameOf(kind.schema());
  return builtin ?? [...kind.group.split('.').reverse(), kind.version, kind.kind].join('.');
}

function describe(
  kinds: readonly Kind[],
  version: OpenApiVersion,
): { paths: Record<string, object>; definitions: Record<string, object> } {
  const into: Definitions = { version, byName: new Map() };
  const paths: Record<string, object> = {};
  for (const kind of kinds) {
    const name = nameOf(kind);
    const identity = { group: kind.group, kind: kind.kind, version: kind.version };
    defineSchema(name, kind.schema(), into, { 'x-kubernetes-group-version-kind': [identity] });
    const definition = into.byName.get(name);
    // A kind that another one references is defined already.
    if (definition) Object.assign(definition, { 'x-kubernetes-group-version-kind': [identity] });
    defineSchema(`${name}List`, listSchema(kind), into, {
      'x-kubernetes-group-version-kind': [{ ...identity, kind: `${kind.kind}List` }],
    });
    Object.assign(paths, pathsOf(kind, refTo(name, into), version));
  }
  const sorted = [...into.byName].sort(([a], [b]) => (a < b ? -1 : 1));
  return { paths, definitions: Object.fromEntries(sorted) };
}

function listSchema(kind: Kind): Schema {
  return {
    type: 'object',
    description: `${kind.kind}List is a list of ${kind.kind} of ${apiVersionOf(kind)}.`,
    properties: {
      apiVersion: { type: 'string' },
      items: { type: 'array', items: kind.schema() },
      kind: { type: 'string' },
      metadata: builtinSchema('meta/v1', 'ListMeta'),
    },
    required: ['items'],
  };
}
