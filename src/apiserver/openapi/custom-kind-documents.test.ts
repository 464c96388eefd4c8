// The documents of a custom kind that has every feature of schemas.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aggregatedDiscovery, resourceList } from '../discovery/discovery.ts';
import { servedResources } from '../discovery/served-resources.ts';
import { createKindRegistry } from '../kind-registry.ts';
import { openapiV2, openapiV3 } from './openapi.ts';

const registry = createKindRegistry([]);
const requiresA = { required: ['a'] };
const either = { type: 'object', properties: { a: { type: 'string' } } };
const combinations = { oneOf: [requiresA], anyOf: [requiresA], allOf: [requiresA], not: { required: ['b'] } };
const list = { type: 'array', items: { type: 'integer' }, 'x-kubernetes-list-type': 'set' };
const map = { type: 'object', additionalProperties: { type: 'boolean' } };
const version = (name: string, more: object = {}) => ({
  name,
  served: true,
  storage: name === 'v1',
  ...more,
  schema: {
    openAPIV3Schema: {
      type: 'object',
      description: 'An A.',
      properties: {
        size: { 'x-kubernetes-int-or-string': true, description: 'How big.' },
        text: { type: 'string', default: 'x', nullable: true, maxLength: 5 },
        list,
        map,
        open: { type: 'object', additionalProperties: true },
        either: { ...either, ...combinations },
      },
    },
  },
});
registry.addCustom({
  metadata: { name: 'as.b.io' },
  spec: {
    group: 'b.io',
    scope: 'Namespaced',
    names: { kind: 'A', plural: 'as', singular: 'a', shortNames: ['aa'], categories: ['all'] },
    versions: [version('v1', { subresources: { status: {} } }), version('v1beta1')],
  },
} as never);

interface Document {
  paths: Record<string, Record<string, object>>;
  definitions: Record<string, { properties: Record<string, object> }>;
}
const v2 = openapiV2(registry) as unknown as Document;
const third = openapiV3(registry, 'b.io', 'v1') as {
  paths: Document['paths'];
  components: { schemas: Document['definitions'] };
};
const v3: Document = { paths: third.paths, definitions: third.components.schemas };

const META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
const identity = { group: 'b.io', kind: 'A', version: 'v1' };
const described = (document: Document) => {
  const { properties, ...rest } = document.definitions['io.b.v1.A'] ?? { properties: {} };
  const { metadata, ...fields } = properties;
  const { description, ...reference } = metadata as { description: string };
  assert.match(description, /ObjectMeta is metadata/);
  return { rest, fields, reference };
};
const rest = {
  type: 'object',
  description: 'An A.',
  'x-kubernetes-group-version-kind': [identity],
};
const common = { list, map, apiVersion: { type: 'string' }, kind: { type: 'string' } };

test('OpenAPI v3 has the schema of a custom kind, as it was declared', () => {
  assert.deepEqual(described(v3), {
    rest,
    fields: {
      ...common,
      size: {
        description: 'How big.',
        oneOf: [{ type: 'integer' }, { type: 'string' }],
        format: 'int-or-string',
        'x-kubernetes-int-or-string': true,
      },
      text: { type: 'string', maxLength: 5, nullable: true, default: 'x' },
      open: { type: 'object', additionalProperties: true },
      either: { ...either, ...combinations },
    },
    reference: { allOf: [{ $ref: `#/components/schemas/${META}` }] },
  });
});

test('OpenAPI v2 has as much of the schema as it can express', () => {
  assert.deepEqual(described(v2), {
    rest,
    fields: {
      ...common,
      size: { description: 'How big.', type: 'string', format: 'int-or-string' },
      text: { type: 'string', maxLength: 5, default: 'x' },
      open: { type: 'object' },
      either,
    },
    reference: { $ref: `#/definitions/${META}` },
  });
});

const COLLECTION = '/apis/b.io/v1/namespaces/{namespace}/as';
for (const [name, document] of Object.entries({ v2, v3 })) {
  test(`OpenAPI ${name} lists the verbs of each path, and the parameters in it`, () => {
    const shown = (where: 'path' | 'query') => (each: object) => (each as { in: string }).in === where;
    const paths = Object.fromEntries(
      Object.entries(document.paths)
        .filter(([path]) => path.startsWith('/apis/b.io/v1/'))
        .map(([path, { parameters = [], ...verbs }]) => [
          path,
          [
            ...Object.keys(verbs),
            ...(parameters as { name: string; required?: boolean; in: string }[])
              .filter(shown('path'))
              .map((each) => `{${each.name}}${each.required ? '!' : ''}`),
          ],
        ]),
    );
    assert.deepEqual(paths, {
      [COLLECTION]: ['get', 'post', 'delete', '{namespace}!'],
      [`${COLLECTION}/{name}`]: ['get', 'put', 'patch', 'delete', '{namespace}!', '{name}!'],
      [`${COLLECTION}/{name}/status`]: ['get', 'put', 'patch', '{namespace}!', '{name}!'],
      '/apis/b.io/v1/as': ['get'],
    });
  });
}

const action = {
  operationId: 'postApisBIoV1NamespacesNamespaceAs',
  'x-kubernetes-action': 'post',
  'x-kubernetes-group-version-kind': identity,
};
const operationOf = (document: Document, path: string, verb: string) => {
  const found = document.paths[path]?.[verb];
  assert.ok(found);
  return found as { parameters: object[] };
};
const namesOf = (parameters: unknown) => (parameters as { name: string }[]).map(({ name }) => name);
const WRITE = ['dryRun', 'fieldManager', 'fieldValidation'];

test('an operation of OpenAPI v3 has its body apart from its parameters', () => {
  const { parameters, ...post } = operationOf(v3, COLLECTION, 'post');
  const schema = { $ref: '#/components/schemas/io.b.v1.A' };
  assert.deepEqual(post, {
    ...action,
    requestBody: {
      content: { 'application/json': { schema }, 'application/yaml': { schema } },
      required: true,
    },
    responses: { 200: { description: 'OK', content: { 'application/json': { schema } } } },
  });
  assert.deepEqual(namesOf(parameters), WRITE);
  const query = { type: 'string', uniqueItems: true };
  const { name, in: where, schema: type } = parameters[0] as { name: string; in: string; schema: object };
  assert.deepEqual([name, where, type], ['dryRun', 'query', query]);
  assert.equal('requestBody' in (v3.paths[COLLECTION]?.get ?? {}), false);
});

test('an operation of OpenAPI v2 has its body as a parameter', () => {
  const { parameters, ...post } = operationOf(v2, COLLECTION, 'post');
  const schema = { $ref: '#/definitions/io.b.v1.A' };
  assert.deepEqual(post, {
    ...action,
    consumes: ['application/json', 'application/yaml'],
    produces: ['application/json'],
    responses: { 200: { description: 'OK', schema } },
  });
  assert.deepEqual(parameters[0], { name: 'body', in: 'body', required: true, schema });
  assert.deepEqual(namesOf(parameters), ['body', ...WRITE]);
  const { type, uniqueItems } = parameters[1] as { type?: string; uniqueItems?: boolean };
  assert.deepEqual([type, uniqueItems], ['string', true]);
});

test('a patch of a custom kind is of any type but the strategic one', () => {
  const patch = v3.paths[`${COLLECTION}/{name}`]?.patch as {
    requestBody: { content: Record<string, { schema: object }> };
    parameters: object[];
  };
  assert.deepEqual(patch.requestBody.content, {
    'application/json-patch+json': { schema: { type: 'object' } },
    'application/merge-patch+json': { schema: { type: 'object' } },
    'application/apply-patch+yaml': { schema: { type: 'object' } },
  });
  assert.deepEqual(namesOf(patch.parameters), [...WRITE, 'force']);
});

const verbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
const status = ['get', 'patch', 'update'];

test('discovery has a custom kind with its names and subresources', () => {
  const { resources, ...document } = resourceList(registry, 'b.io', 'v1') as {
    resources: { verbs: string[] }[];
  };
  assert.deepEqual(document, { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: 'b.io/v1' });
  const sorted = resources.map((each) => ({ ...each, verbs: each.verbs.toSorted() }));
  assert.deepEqual(sorted, [
    {
      name: 'as',
      singularName: 'a',
      namespaced: true,
      kind: 'A',
      verbs: verbs.toSorted(),
      shortNames: ['aa'],
      categories: ['all'],
    },
    { name: 'as/status', singularName: '', namespaced: true, kind: 'A', verbs: status },
  ]);
});

test('aggregated discovery has the versions of a group, each with its kinds', () => {
  type Items = {
    metadata: object;
    versions: { version: string; freshness: string; resources: { verbs: string[] }[] }[];
  }[];
  const { items, ...document } = aggregatedDiscovery(registry, 'groups', 'v2beta1') as { items: Items };
  assert.deepEqual(document, {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2beta1',
    metadata: {},
  });
  const own = {
    resource: 'as',
    scope: 'Namespaced',
    singularResource: 'a',
    shortNames: ['aa'],
    categories: ['all'],
  };
  const responseKind = { group: 'b.io', version: 'v1', kind: 'A' };
  const sorted = items.map(({ metadata, versions }) => ({
    metadata,
    versions: versions.map((each) => ({
      ...each,
      resources: each.resources.map(({ verbs: _verbs, ...resource }) => resource),
    })),
  }));
  assert.deepEqual(sorted, [
    {
      metadata: { name: 'b.io', creationTimestamp: null },
      versions: [
        {
          version: 'v1',
          freshness: 'Current',
          resources: [
            { ...own, responseKind, subresources: [{ subresource: 'status', responseKind, verbs: status }] },
          ],
        },
        {
          version: 'v1beta1',
          freshness: 'Current',
          resources: [{ ...own, responseKind: { ...responseKind, version: 'v1beta1' } }],
        },
      ],
    },
  ]);
  assert.deepEqual((aggregatedDiscovery(registry, 'core', 'v2') as { items: object[] }).items, []);
});

test('components in the process are served a kind once, in the version that discovery prefers', () => {
  const served = servedResources(registry).map((each) => ({ ...each, verbs: [...each.verbs].sort() }));
  assert.deepEqual(served, [
    {
      group: 'b.io',
      version: 'v1',
      plural: 'as',
      kind: 'A',
      namespaced: true,
      verbs: verbs.toSorted(),
      singular: 'a',
      shortNames: ['aa'],
    },
  ]);
  assert.equal(servedResources(registry), servedResources(registry), 'and the list is made once');
});
