import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import {
  aggregatedDiscovery,
  coreVersions,
  groupDocument,
  groupList,
  resourceList,
} from '../discovery/discovery.ts';
import { createKindRegistry } from '../kind-registry.ts';
import { builtinKinds } from '../kinds/index.ts';
import { encodeOpenApiV2 } from './encode-protobuf.ts';
import { openapiV2, openapiV3, openapiV3Index } from './openapi.ts';

const registry = createKindRegistry(builtinKinds);
interface Tree {
  [key: string]: Tree | undefined;
}
const tree = (value: unknown): Tree => value as Tree;

/** Every `$ref` in a document must resolve. */
function refsIn(value: unknown, into: Set<string> = new Set()): Set<string> {
  if (Array.isArray(value)) for (const each of value) refsIn(each, into);
  else if (typeof value === 'object' && value !== null) {
    for (const [key, each] of Object.entries(value)) {
      if (key === '$ref' && typeof each === 'string') into.add(each);
      else refsIn(each, into);
    }
  }
  return into;
}

test('OpenAPI v2: every reference resolves to a definition; merge keys are included', () => {
  const document = openapiV2(registry);
  for (const ref of refsIn(document)) assert.ok(document.definitions[ref.replace('#/definitions/', '')], ref);
  const podSpec = tree(document.definitions['io.k8s.api.core.v1.PodSpec']);
  assert.equal(podSpec.properties?.containers?.['x-kubernetes-patch-merge-key'] as unknown, 'name');
  assert.deepEqual(tree(document.definitions['io.k8s.api.core.v1.Pod'])['x-kubernetes-group-version-kind'], [
    { group: '', kind: 'Pod', version: 'v1' },
  ]);
});

test('OpenAPI v3: the index lists every group version, each document is self-contained', () => {
  const { paths } = openapiV3Index(registry) as { paths: Record<string, { serverRelativeURL: string }> };
  assert.ok(paths['api/v1']?.serverRelativeURL.startsWith('/openapi/v3/api/v1?hash='));
  for (const { group, versions } of registry.groupVersions()) {
    for (const version of versions) {
      const document = tree(openapiV3(registry, group, version));
      for (const ref of refsIn(document)) {
        assert.ok(
          document.components?.schemas?.[ref.replace('#/components/schemas/', '')],
          `${group}/${version} ${ref}`,
        );
      }
    }
  }
  assert.equal(openapiV3(registry, 'none', 'v1'), undefined);
  const patch = tree(openapiV3(registry, '', 'v1')).paths?.['/api/v1/namespaces/{namespace}/pods/{name}']
    ?.patch;
  assert.ok(
    Object.keys(patch?.requestBody?.content ?? {}).includes('application/strategic-merge-patch+json'),
  );
  assert.ok(
    ((patch?.parameters ?? []) as unknown as { name: string }[]).some(
      ({ name }) => name === 'fieldValidation',
    ),
  );
});

test('the hash of a document changes with the kinds', () => {
  const mine = createKindRegistry(builtinKinds);
  const hashes = () => JSON.stringify(openapiV3Index(mine));
  const crd = (type: string) => ({
    metadata: { name: 'as.b.io' },
    spec: {
      group: 'b.io',
      scope: 'Cluster',
      names: { kind: 'A', plural: 'as' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { x: { type } } } },
        },
      ],
    },
  });
  mine.addCustom(crd('string') as never);
  const before = hashes();
  mine.addCustom(crd('integer') as never);
  assert.notEqual(hashes(), before);
  const document = tree(openapiV3(mine, 'b.io', 'v1'));
  assert.ok(document.components?.schemas?.['io.b.v1.A']);
});

/** The length-delimited fields of a message, by number. */
function fieldsOf(bytes: Uint8Array): Map<number, Uint8Array[]> {
  const reader = new BinaryReader(bytes);
  const fields = new Map<number, Uint8Array[]>();
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (type === 2) fields.set(number, [...(fields.get(number) ?? []), reader.bytes()]);
    else reader.skip(type, number);
  }
  return fields;
}
/** A bool of a message; false where it is left out. */
function flagOf(bytes: Uint8Array, wanted: number): boolean {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (number === wanted && type === 0) return reader.bool();
    reader.skip(type, number);
  }
  return false;
}
const textOf = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString();

test('OpenAPI v2 in protobuf holds the same definitions and paths', () => {
  const document = openapiV2(registry);
  const top = fieldsOf(encodeOpenApiV2(document));
  assert.equal(textOf(top.get(1)?.[0]), '2.0');
  const definitions = (fieldsOf(top.get(9)?.[0] ?? new Uint8Array()).get(1) ?? []).map(fieldsOf);
  assert.deepEqual(
    definitions.map((each) => textOf(each.get(1)?.[0])),
    Object.keys(document.definitions),
  );
  const paths = (fieldsOf(top.get(8)?.[0] ?? new Uint8Array()).get(2) ?? []).map(fieldsOf);
  assert.deepEqual(
    paths.map((each) => textOf(each.get(1)?.[0])),
    Object.keys(document.paths),
  );
  const pod = definitions.find((each) => textOf(each.get(1)?.[0]) === 'io.k8s.api.core.v1.Pod');
  const schema = fieldsOf(pod?.get(2)?.[0] ?? new Uint8Array());
  const extension = fieldsOf(schema.get(31)?.[0] ?? new Uint8Array());
  assert.equal(textOf(extension.get(1)?.[0]), 'x-kubernetes-group-version-kind');
  assert.equal(
    textOf(fieldsOf(extension.get(2)?.[0] ?? new Uint8Array()).get(2)?.[0]),
    '[{"group":"","kind":"Pod","version":"v1"}]',
  );
});

test('parameters in protobuf say where they are, and which are required', () => {
  const required = { required: true, schema: { type: 'object' } };
  const parameters = [
    { in: 'body', name: 'body', ...required },
    { in: 'query', name: 'limit', type: 'integer', uniqueItems: true },
    { in: 'path', name: 'name', type: 'string', required: true },
  ];
  const info = { title: 'x', version: '1' };
  const document = { swagger: '2.0', info, paths: { '/x': { get: { parameters } } }, definitions: {} };
  const path = (from: Uint8Array, ...numbers: number[]): Uint8Array =>
    numbers.reduce((bytes, number) => fieldsOf(bytes).get(number)?.[0] ?? new Uint8Array(), from);
  // Paths, an item, its get, parameters: each holds a Parameter in one of its forms.
  const operation = path(encodeOpenApiV2(document as never), 8, 2, 2, 2);
  const [body, query, inPath] = (fieldsOf(operation).get(8) ?? []).map((each) => path(each, 1));
  const bodyParameter = path(body ?? new Uint8Array(), 1);
  assert.equal(textOf(fieldsOf(bodyParameter).get(2)?.[0]), 'body');
  assert.equal(flagOf(bodyParameter, 4), true, 'required');
  const queryParameter = path(query ?? new Uint8Array(), 2, 3);
  assert.equal(textOf(fieldsOf(queryParameter).get(4)?.[0]), 'limit');
  assert.equal(textOf(fieldsOf(queryParameter).get(6)?.[0]), 'integer');
  assert.equal(flagOf(queryParameter, 20), true, 'unique');
  assert.equal(flagOf(queryParameter, 1), false, 'not required');
  const pathParameter = path(inPath ?? new Uint8Array(), 2, 4);
  assert.equal(textOf(fieldsOf(pathParameter).get(4)?.[0]), 'name');
  assert.equal(textOf(fieldsOf(pathParameter).get(5)?.[0]), 'string');
  assert.equal(flagOf(pathParameter, 1), true);
});

test('discovery: groups, resources and subresources', () => {
  assert.deepEqual(tree(coreVersions('h:1')).versions, ['v1']);
  const { groups } = groupList(registry) as { groups: { name: string }[] };
  assert.ok(groups.some(({ name }) => name === 'storage.k8s.io'));
  assert.equal(
    groups.some(({ name }) => name === ''),
    false,
  );
  assert.deepEqual(tree(groupDocument(registry, 'apps')).preferredVersion, {
    groupVersion: 'apps/v1',
    version: 'v1',
  });
  assert.equal(groupDocument(registry, 'none'), undefined);
  const { resources } = resourceList(registry, '', 'v1') as {
    resources: { name: string; kind: string; group?: string; verbs: string[] }[];
  };
  const named = (name: string) => resources.find((each) => each.name === name);
  assert.deepEqual(named('pods/eviction'), {
    name: 'pods/eviction',
    singularName: '',
    namespaced: true,
    group: 'policy',
    version: 'v1',
    kind: 'Eviction',
    verbs: ['create'],
  });
  assert.equal(named('serviceaccounts/token')?.kind, 'TokenRequest');
  assert.equal(resourceList(registry, 'apps', 'v2'), undefined);
});

test('aggregated discovery leaves empty lists out', () => {
  const { items } = aggregatedDiscovery(registry, 'groups', 'v2') as {
    items: { versions: { resources: Record<string, unknown>[] }[] }[];
  };
  const all = items.flatMap(({ versions }) => versions.flatMap(({ resources }) => resources));
  const of = (resource: string) => all.find((each) => each.resource === resource) ?? {};
  assert.deepEqual(of('storageclasses').shortNames, ['sc']);
  for (const field of ['shortNames', 'categories', 'subresources'])
    assert.equal(field in of('csinodes'), false, field);
});

test('aggregated discovery has the same content in two documents', () => {
  const names = (which: 'core' | 'groups') => {
    const { items } = aggregatedDiscovery(registry, which, 'v2') as {
      items: { metadata: { name?: string }; versions: { resources: { resource: string }[] }[] }[];
    };
    return items.flatMap((item) =>
      item.versions.flatMap((version) =>
        version.resources.map(({ resource }) => `${item.metadata.name ?? ''}/${resource}`),
      ),
    );
  };
  const all = builtinKinds.map((kind) => `${kind.group}/${kind.plural}`).sort();
  assert.deepEqual([...names('core'), ...names('groups')].sort(), all);
});
