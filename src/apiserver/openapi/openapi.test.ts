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
