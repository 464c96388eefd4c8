import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Body, changedFields, rows } from '../validation/testing/rows.ts';
import { validateDefinition, validateDefinitionUpdate } from './validate-definition.ts';

const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } };
const names = { kind: 'Widget', listKind: 'WidgetList', plural: 'widgets', singular: 'widget' };
const good = { group: 'shop.example', scope: 'Namespaced', names, versions: [version] };
const crd = (change: Body) => ({ metadata: { name: 'widgets.shop.example' }, spec: { ...good, ...change } });
const named = (change: Body) => crd({ names: { ...names, ...change } });
const column = { name: 'Size', type: 'integer', jsonPath: '.spec.size' };
const columns = (...additionalPrinterColumns: Body[]) =>
  crd({ versions: [{ ...version, additionalPrinterColumns }] });

rows(validateDefinition, {}, [
  ['a good definition', named({ shortNames: ['w'], categories: ['all'] }), []],
  ['a definition of no group', crd({ group: '' }), ['spec.group: Required value', 'metadata.name: Invalid']],
  [
    'a definition of a group that is no domain',
    { ...crd({ group: 'shop' }), metadata: { name: 'widgets.shop' } },
    ['spec.group: Invalid value: "shop": should be a domain with at least one dot'],
  ],
  [
    'a definition under another name',
    { ...crd({}), metadata: { name: 'w.shop.example' } },
    ['metadata.name: Invalid'],
  ],
  [
    'a definition without plural',
    named({ plural: '' }),
    ['metadata.name: Invalid', 'spec.names.plural: Required value'],
  ],
  ['a definition without singular', named({ singular: '' }), []],
  [
    'a definition without kinds',
    named({ kind: '', listKind: '' }),
    ['spec.names.kind: Required value', 'spec.names.listKind: Required value'],
  ],
  [
    'a definition whose list is its kind',
    named({ listKind: 'Widget' }),
    ['spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same'],
  ],
  [
    'a definition with names that are none',
    named({ singular: 'A', kind: 'A B', shortNames: ['A'], categories: ['1'] }),
    [
      'spec.names.singular: Invalid',
      'spec.names.kind: Invalid',
      'spec.names.shortNames[0]: Invalid',
      'spec.names.categories[0]: Invalid',
    ],
  ],
  ['a definition of no scope', crd({ scope: '' }), ['spec.scope: Required value']],
  ['a definition of a scope that does not exist', crd({ scope: 'World' }), ['spec.scope: Unsupported']],
  [
    'a definition without versions',
    crd({ versions: [] }),
    ['spec.versions: Invalid value: []: must have exactly one'],
  ],
  [
    'a definition with two stored versions of one name',
    crd({ versions: [version, version] }),
    ['spec.versions: Invalid value: ["v1","v1"]: must have exactly one', 'spec.versions[1].name: Duplicate'],
  ],
  [
    'a definition of a version that is none',
    crd({ versions: [{ ...version, name: '1' }] }),
    ['spec.versions[0].name: Invalid'],
  ],
  ['a definition with a column', columns(column), []],
  [
    'a definition with a column of nothing',
    columns({}),
    ['name', 'type', 'jsonPath'].map(
      (field) => `spec.versions[0].additionalPrinterColumns[0].${field}: Required`,
    ),
  ],
  [
    'a definition with a column of no type',
    columns({ ...column, type: 'text' }),
    ['spec.versions[0].additionalPrinterColumns[0].type: Unsupported'],
  ],
  [
    'a definition with a scale',
    crd({
      versions: [
        {
          ...version,
          subresources: { scale: { specReplicasPath: '.spec.a', statusReplicasPath: '.status.b' } },
        },
      ],
    }),
    [],
  ],
  [
    'a definition with half a scale',
    crd({ versions: [{ ...version, subresources: { scale: {} } }] }),
    ['specReplicasPath', 'statusReplicasPath'].map(
      (field) => `spec.versions[0].subresources.scale.${field}: Required`,
    ),
  ],
  ['a definition that converts nothing', crd({ conversion: { strategy: 'None' } }), []],
  [
    'a definition with a conversion that does not exist',
    crd({ conversion: { strategy: 'Some' } }),
    ['spec.conversion.strategy: Unsupported'],
  ],
  [
    'a definition that keeps unknown fields',
    crd({ preserveUnknownFields: true }),
    ['spec.preserveUnknownFields: Invalid'],
  ],
]);

const approval = (group: string, annotation?: string) => ({
  ...crd({ group }),
  metadata: {
    name: `widgets.${group}`,
    ...(annotation === undefined ? {} : { annotations: { 'api-approved.kubernetes.io': annotation } }),
  },
});
const URL_OF_APPROVAL = 'https://github.com/kubernetes/enhancements/pull/1111';
const NOT_APPROVED = 'metadata.annotations[api-approved.kubernetes.io]';
rows(validateDefinition, {}, [
  [
    'a definition in a group of Kubernetes',
    approval('storage.k8s.io'),
    [
      `${NOT_APPROVED}: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see ${URL_OF_APPROVAL}`,
    ],
  ],
  ['a definition in kubernetes.io itself', approval('kubernetes.io'), [`${NOT_APPROVED}: Required value`]],
  [
    'a definition whose approval is neither a URL nor a reason',
    approval('x.kubernetes.io', 'yes'),
    [
      `${NOT_APPROVED}: Invalid value: "yes": protected groups must have approval annotation "api-approved.kubernetes.io" with either a URL or a reason starting with "unapproved", see ${URL_OF_APPROVAL}`,
    ],
  ],
  ['a definition with an approval', approval('x.k8s.io', URL_OF_APPROVAL), []],
  ['a definition that says it is not approved', approval('x.k8s.io', 'unapproved, experimental'), []],
  ['a definition in a group that only sounds alike', approval('notk8s.io'), []],
]);

test('a definition that was stored without an approval can be updated, but not lose one', () => {
  const errors = (next: Body, current: Body) =>
    validateDefinition(next as never, current as never).map(({ field }) => field);
  assert.deepEqual(errors(approval('x.k8s.io'), approval('x.k8s.io')), []);
  assert.deepEqual(errors(approval('x.k8s.io'), approval('x.k8s.io', URL_OF_APPROVAL)), [NOT_APPROVED]);
});

test('mutable and immutable fields of a CRD', () => {
  const status = { conditions: [{ type: 'Established', status: 'True' }], storedVersions: ['v1'] };
  const changed = (change: Body, current: Body = status) =>
    changedFields(validateDefinitionUpdate, { ...crd({}), status: current }, crd(change));
  assert.deepEqual(changed({ preserveUnknownFields: false }), []);
  assert.deepEqual(changed({ group: 'other.example' }), ['spec.group']);
  assert.deepEqual(changed({ scope: 'Cluster' }), ['spec.scope']);
  assert.deepEqual(changed({ names: { ...names, kind: 'A', plural: 'b' } }), [
    'spec.names.kind',
    'spec.names.plural',
  ]);
  const waits = {
    conditions: [
      { type: 'Established', status: 'False' },
      { type: 'NamesAccepted', status: 'True' },
    ],
  };
  assert.deepEqual(changed({ scope: 'Cluster' }, waits), [], 'nobody uses it yet');
  const next = { ...version, name: 'v2' };
  assert.deepEqual(changed({ versions: [next] }), ['status.storedVersions[0]'], 'objects are stored so');
  assert.deepEqual(changed({ versions: [{ ...version, storage: false }, next] }), []);
  assert.deepEqual(validateDefinitionUpdate(crd({ group: 'x' }) as never, crd({}) as never, 'status'), []);
});
