import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import type { CustomResourceDefinition } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/object.ts';
import { createKindRegistry } from '../kind-registry.ts';
import { builtinKinds } from '../kinds/index.ts';
import { toTable } from '../printing/table.ts';
import { validateMetadata } from '../validation/metadata.ts';
import { pruneUnknownFields } from '../validation/unknown-fields.ts';
import { CelError, compileCel, Meter } from './cel/cel.ts';
import { customKinds } from './custom-kind.ts';
import { definitionStatus, isEstablished, namesTakenBy } from './definition-status.ts';
import { compileJsonPath, JsonPathError } from './json-path.ts';

const FOLDER = join(import.meta.dirname, '../../../deploy/crds');
const shipped = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.yaml'))
  .map(
    (file) => [file, parse(readFileSync(join(FOLDER, file), 'utf8')) as CustomResourceDefinition] as const,
  );
const definitionKind = builtinKinds.find((kind) => kind.kind === 'CustomResourceDefinition');
assert.ok(definitionKind);

type Body = Record<string, unknown>;
const widget = (schema: Body, version: Body = {}, names: Body = {}): CustomResourceDefinition =>
  ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.shop.io' },
    spec: {
      group: 'shop.io',
      scope: 'Namespaced',
      names: { kind: 'Widget', plural: 'widgets', ...names },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', ...schema } },
          ...version,
        },
      ],
    },
  }) as unknown as CustomResourceDefinition;
const instance = (body: Body): KubeObject & Body =>
  ({ apiVersion: 'shop.io/v1', kind: 'Widget', metadata: { name: 'w', namespace: 'd' }, ...body }) as never;
const kindOf = (crd: CustomResourceDefinition) => {
  const [kind] = customKinds(crd);
  assert.ok(kind);
  return kind;
};

for (const [file, crd] of shipped) {
  test(`the shipped ${file} is valid and known in every field`, () => {
    const copy = structuredClone(crd) as CustomResourceDefinition;
    assert.deepEqual(pruneUnknownFields(copy, definitionKind), []);
    definitionKind.setDefaults(copy);
    assert.deepEqual([...validateMetadata(copy, definitionKind), ...definitionKind.validate(copy)], []);
    assert.equal(file, `${crd.spec.group}_${crd.spec.names.plural}.yaml`);
  });
}

test('a custom kind is defaulted, pruned and validated, with the paths of its errors', () => {
  const kind = kindOf(
    widget({
      properties: {
        spec: {
          type: 'object',
          required: ['size'],
          properties: {
            size: { type: 'integer', minimum: 1 },
            color: { type: 'string', enum: ['red', 'blue'], default: 'red' },
            code: { type: 'string', pattern: '^[a-z]+$', maxLength: 3 },
            port: { 'x-kubernetes-int-or-string': true },
            extra: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            parts: {
              type: 'array',
              'x-kubernetes-list-type': 'map',
              'x-kubernetes-list-map-keys': ['name'],
              items: { type: 'object', properties: { name: { type: 'string' } } },
            },
          },
        },
      },
    }),
  );
  const good = instance({
    spec: { size: 2, unknown: 1, extra: { kept: true }, parts: [{ name: 'a', odd: 1 }] },
    rest: 1,
  });
  assert.deepEqual(pruneUnknownFields(good, kind), ['spec.unknown', 'spec.parts[0].odd', 'rest']);
  kind.setDefaults(good);
  assert.deepEqual(good.spec, { size: 2, color: 'red', extra: { kept: true }, parts: [{ name: 'a' }] });
  assert.deepEqual(kind.validate(good), []);
  const bad = instance({
    spec: { color: 'green', code: 'ABCD', port: true, parts: [{ name: 'a' }, { name: 'a' }] },
  });
  assert.deepEqual(
    kind.validate(bad).map(({ field, message }) => `${field}: ${message}`),
    [
      'spec.size: Required value',
      'spec.color: Unsupported value: "green": supported values: "red", "blue"',
      'spec.code: Too long: may not be more than 3 bytes',
      `spec.code: Invalid value: "ABCD": spec.code in body should match '^[a-z]+$'`,
      'spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean"',
      'spec.parts[1]: Duplicate value: {"name":"a"}',
    ],
  );
});

test('the status subresource isolates status; without it, status is an ordinary field', () => {
  const schema = {
    properties: { spec: { type: 'object' }, status: { type: 'object' } },
    'x-kubernetes-preserve-unknown-fields': true,
  };
  const current = instance({ spec: { a: 1 }, status: { b: 1 } });
  const next = () => instance({ spec: { a: 2 }, status: { b: 2 } });
  const isolated = kindOf(widget(schema, { subresources: { status: {} } }));
  const [main, status] = [next(), next()];
  isolated.prepareForUpdate(main, current, '');
  isolated.prepareForUpdate(status, current, 'status');
  assert.deepEqual(
    [main.spec, main.status, status.spec, status.status],
    [{ a: 2 }, { b: 1 }, { a: 1 }, { b: 2 }],
  );
  const open = next();
  kindOf(widget(schema)).prepareForUpdate(open, current, '');
  assert.deepEqual(open.status, { b: 2 });
});

test('versions other than the storage version are views of it', () => {
  const crd = widget({});
  crd.spec.versions.push({
    ...structuredClone(crd.spec.versions[0]),
    name: 'v1beta1',
    storage: false,
  } as never);
  const [stored, view] = customKinds(crd);
  assert.equal(stored?.storedAs, undefined);
  assert.equal(view?.storedAs?.resource.version, 'v1');
  assert.equal(view?.storedAs?.fromStored(instance({})).apiVersion, 'shop.io/v1beta1');
});

test('printer columns read the object', () => {
  const kind = kindOf(
    widget(
      {},
      {
        additionalPrinterColumns: [
          { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
          { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
          { name: 'Since', type: 'date', jsonPath: '.status.at' },
        ],
      },
    ),
  );
  const one = instance({
    spec: { size: 3 },
    status: {
      at: '2026-01-01T00:00:00Z',
      conditions: [
        { type: 'Up', status: 'No' },
        { type: 'Ready', status: 'True' },
      ],
    },
  });
  const { rows, columnDefinitions } = toTable(kind, [one, instance({})], {
    includeObject: 'None',
    nowMs: Date.parse('2026-01-01T00:05:10Z'),
    listMetadata: {},
  });
  assert.deepEqual(
    columnDefinitions.map((each) => (each as { name: string }).name),
    ['Name', 'Ready', 'Size', 'Since'],
  );
  assert.deepEqual(rows, [{ cells: ['w', 'True', 3, '5m10s'] }, { cells: ['w', '', null, '<unknown>'] }]);
});

test('JSON paths of printer columns', () => {
  const value = {
    a: { 'b.c': [10, 20, 30] },
    l: [
      { k: 'x', v: 1 },
      { k: 'y', v: 2 },
    ],
  };
  const cases: [string, unknown[]][] = [
    [".a['b.c'][0]", [10]],
    [".a['b.c'][-1]", [30]],
    ['.l[*].v', [1, 2]],
    ['.l[?(@.k=="y")].v', [2]],
    ["{.l[?(@.k!='y')].v}", [1]],
    ['.missing.deep', []],
    ['.l[9]', []],
  ];
  for (const [path, expected] of cases) assert.deepEqual(compileJsonPath(path)(value), expected, path);
  for (const path of ['', 'a', '.a[', '.a[?(x)]']) assert.throws(() => compileJsonPath(path), JsonPathError);
});

const rules: [string, unknown, unknown, unknown][] = [
  ['self == oldSelf', { a: [1] }, { a: [1] }, true],
  ['has(self.a) != has(self.b)', { a: 1 }, undefined, true],
  ['!has(oldSelf.x) || has(self.x)', {}, { x: 1 }, false],
  ['has(self.name) && has(self.__namespace__)', { name: 'a', namespace: 'b' }, undefined, true],
  ['size(self) > 0', '', undefined, false],
  ["self.all(k, k.startsWith('a'))", ['ab', 'b'], undefined, false],
  ["self.exists(k, k == 'b') && 'b' in self", ['ab', 'b'], undefined, true],
  ['self.min <= self.max ? true : false', { min: 1, max: 0 }, undefined, false],
  ["self.matches('^[a-z]+$') && self.size() == 3", 'abc', undefined, true],
  ['self.map(x, x * 2 + 1) == [3, 5]', [1, 2], undefined, true],
];
for (const [rule, self, oldSelf, expected] of rules) {
  test(`rule ${rule}`, () =>
    assert.equal(compileCel(rule).evaluate({ self, oldSelf }, new Meter()), expected));
}

test('a CEL rule that does not compile is rejected with its CRD, never skipped', () => {
  for (const rule of ['self.', 'quantity(self) > 1', 'self ==', 'self.frobnicate()', '(self', 'self # 1']) {
    assert.throws(() => compileCel(rule), CelError, rule);
  }
  const crd = widget({ 'x-kubernetes-validations': [{ rule: 'isURL(self)' }] });
  definitionKind.setDefaults(crd);
  assert.match(
    definitionKind.validate(crd)[0]?.message ?? '',
    /compilation failed: unknown function "isURL"/,
  );
});

test('CEL rules are checked on create, transition rules on update', () => {
  const snapshots = shipped.find(([file]) => file.endsWith('_volumesnapshots.yaml'))?.[1];
  assert.ok(snapshots);
  const kind = kindOf(snapshots);
  const snapshot = (source: Body) => ({ ...instance({ spec: { source } }), kind: 'VolumeSnapshot' });
  const messages = (errors: { message: string }[]) =>
    errors.map(({ message }) => message.replace(/^[^:]+: [^:]+: /, ''));
  assert.deepEqual(messages(kind.validate(snapshot({}))), [
    'exactly one of volumeSnapshotContentName and persistentVolumeClaimName must be set',
  ]);
  const before = snapshot({ persistentVolumeClaimName: 'a' });
  assert.deepEqual(kind.validate(before), []);
  assert.deepEqual(messages(kind.validateUpdate(snapshot({ persistentVolumeClaimName: 'b' }), before, '')), [
    'persistentVolumeClaimName is immutable',
  ]);
});

const refusedDefinitions: [string, (crd: CustomResourceDefinition) => void, RegExp][] = [
  [
    'a wrong name',
    (crd) => Object.assign(crd.metadata, { name: 'x' }),
    /metadata\.name.*spec\.names\.plural/,
  ],
  [
    'no storage version',
    (crd) => Object.assign(crd.spec.versions[0] as object, { storage: false }),
    /exactly one version marked as storage/,
  ],
  [
    'no schema',
    (crd) => Object.assign(crd.spec.versions[0] as object, { schema: undefined }),
    /schemas are required/,
  ],
  [
    'a field without type',
    (crd) =>
      Object.assign(crd.spec.versions[0]?.schema?.openAPIV3Schema as object, { properties: { a: {} } }),
    /must not be empty for specified object fields/,
  ],
  [
    'a conversion webhook',
    (crd) => Object.assign(crd.spec, { conversion: { strategy: 'Webhook' } }),
    /not supported by this server/,
  ],
  [
    'a bad column',
    (crd) =>
      Object.assign(crd.spec.versions[0] as object, {
        additionalPrinterColumns: [{ name: 'a', type: 'string', jsonPath: 'x' }],
      }),
    /invalid path/,
  ],
];
for (const [name, change, expected] of refusedDefinitions) {
  test(`a definition with ${name} is refused`, () => {
    const crd = widget({});
    change(crd);
    definitionKind.setDefaults(crd);
    const errors = definitionKind.validate(crd).map(({ field, message }) => `${field}: ${message}`);
    assert.match(errors.join('\n'), expected);
  });
}

test('a CRD whose names are in use is not established', () => {
  const now = '2026-01-01T00:00:00Z';
  const first = widget({}, {}, { shortNames: ['w'] });
  first.status = definitionStatus(first, namesTakenBy([], first), now);
  assert.equal(isEstablished(first), true);
  const second = widget({}, {}, { kind: 'Wheel', plural: 'wheels', shortNames: ['w'] });
  second.metadata.name = 'wheels.shop.io';
  second.status = definitionStatus(second, namesTakenBy([first, second], second), now);
  assert.equal(isEstablished(second), false);
  assert.equal(second.status.conditions?.[0]?.reason, 'ShortNamesConflict');
});

test('the registry serves the kinds of CRDs and notifies its listeners', () => {
  const registry = createKindRegistry(builtinKinds);
  const changes: string[] = [];
  const end = registry.onChange(({ added, removed }) => changes.push(`+${added.length} -${removed.length}`));
  const before = registry.all().length;
  registry.addCustom(widget({}));
  assert.equal(registry.find('shop.io', 'v1', 'widgets')?.kind, 'Widget');
  assert.equal(registry.findByKind('shop.io', 'v1', 'Widget')?.plural, 'widgets');
  assert.equal(registry.all().length, before + 1);
  assert.deepEqual(registry.groupVersions().at(-1), { group: 'shop.io', versions: ['v1'] });
  registry.addCustom(widget({}));
  registry.removeCustom('widgets.shop.io');
  registry.removeCustom('widgets.shop.io');
  assert.equal(registry.find('shop.io', 'v1', 'widgets'), undefined);
  assert.deepEqual(changes, ['+1 -0', '+1 -1', '+0 -1']);
  end();
});
