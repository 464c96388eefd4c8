// Events, leases, roles, definitions of custom resources, a custom resource, and reviews.

import type { Json, JsonObject } from '../exchange.ts';
import { NAMESPACE, type Subject } from './subject.ts';

const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1' };
const RULE = { apiGroups: [''], resources: ['pods'], verbs: ['get'] };
const SUBJECT = { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'jane' };
const roleRef = (kind: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name: 'view' });
const roleValues: Readonly<Record<string, readonly Json[]>> = {
  rules: [
    [{ ...RULE, verbs: ['list', 'get'] }],
    [{ apiGroups: [''], resources: ['pods'] }],
    [{ resources: ['pods'], verbs: ['get'] }],
    [{ nonResourceURLs: ['/x'], verbs: ['get'] }],
    [RULE, RULE],
  ],
};
const bindingValues = (kind: string): Readonly<Record<string, readonly Json[]>> => ({
  roleRef: [
    { ...roleRef(kind), name: 'edit' },
    { ...roleRef(kind), kind: 'Odd' },
    { kind, name: 'view' },
  ],
  subjects: [
    [{ kind: 'ServiceAccount', name: 'a', namespace: 'b' }],
    [{ kind: 'ServiceAccount', name: 'a' }],
    [{ kind: 'Odd', name: 'a' }],
    [{ kind: 'Group', name: 'g' }],
  ],
});

/** Installed on both servers before anything is sent. */
export const WIDGETS: JsonObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.differ.example.com' },
  spec: {
    group: 'differ.example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
        },
        selectableFields: [{ jsonPath: '.spec.size' }],
        additionalPrinterColumns: [{ name: 'Size', type: 'string', jsonPath: '.spec.size' }],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                required: ['size'],
                properties: {
                  size: { type: 'string', enum: ['small', 'large'] },
                  replicas: { type: 'integer', minimum: 0, maximum: 10, default: 1 },
                  color: { type: 'string', default: 'red', nullable: true },
                  note: { type: 'string', maxLength: 10 },
                  tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
                  ports: {
                    type: 'array',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['port'],
                    items: {
                      type: 'object',
                      required: ['port'],
                      properties: { port: { type: 'integer' }, name: { type: 'string' } },
                    },
                  },
                  options: { type: 'object', additionalProperties: { type: 'string' } },
                  loose: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                  either: { 'x-kubernetes-int-or-string': true },
                  limit: {
                    type: 'object',
                    properties: { min: { type: 'integer' }, max: { type: 'integer' } },
                    'x-kubernetes-validations': [
                      {
                        rule: '!has(self.min) || !has(self.max) || self.min <= self.max',
                        message: 'min must not exceed max',
                        fieldPath: '.min',
                        reason: 'FieldValueForbidden',
                      },
                    ],
                  },
                  fixed: {
                    type: 'string',
                    maxLength: 20,
                    'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'fixed is fixed' }],
                  },
                },
              },
              status: {
                type: 'object',
                properties: { replicas: { type: 'integer' }, phase: { type: 'string' } },
              },
            },
          },
        },
      },
    ],
  },
};

const schemaOf = (properties: JsonObject): JsonObject => ({
  openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties } } },
});

const definitionSchemas: readonly Json[] = [
  schemaOf({ a: { type: 'string' } }),
  schemaOf({ a: {} }),
  schemaOf({ a: { type: 'odd' } }),
  schemaOf({ a: { type: 'string', default: 5 } }),
  schemaOf({ a: { type: 'string', default: 'x', enum: ['y'] } }),
  schemaOf({ a: { type: 'array' } }),
  schemaOf({ a: { type: 'array', items: { type: 'object' }, 'x-kubernetes-list-type': 'map' } }),
  schemaOf({
    a: {
      type: 'array',
      items: { type: 'object', properties: { k: { type: 'string' } } },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k'],
    },
  }),
  schemaOf({
    a: {
      type: 'array',
      items: { type: 'object', required: ['k'], properties: { k: { type: 'string' } } },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k', 'missing'],
    },
  }),
  schemaOf({
    a: {
      type: 'array',
      items: { type: 'object', required: ['k'], properties: { k: { type: 'object' } } },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k'],
    },
  }),
  schemaOf({ a: { type: 'array', items: { type: 'object' }, 'x-kubernetes-list-type': 'set' } }),
  schemaOf({ a: { type: 'string', 'x-kubernetes-list-type': 'set' } }),
  schemaOf({ a: { type: 'string', 'x-kubernetes-map-type': 'atomic' } }),
  schemaOf({ a: { type: 'string', pattern: '(' } }),
  schemaOf({ a: { type: 'string', minLength: 5, maxLength: 1 } }),
  schemaOf({
    a: { type: 'object', properties: { b: { type: 'string' } }, additionalProperties: { type: 'string' } },
  }),
  schemaOf({ a: { type: 'string', uniqueItems: true } }),
  schemaOf({ a: { type: 'string', nullable: true, default: null } }),
  schemaOf({ a: { 'x-kubernetes-int-or-string': true, type: 'string' } }),
  schemaOf({ a: { type: 'object', 'x-kubernetes-embedded-resource': true } }),
  schemaOf({
    a: {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
    },
  }),
  schemaOf({ a: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self == 5' }] } }),
  schemaOf({ a: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self ==' }] } }),
  schemaOf({ a: { type: 'string', 'x-kubernetes-validations': [{ rule: '' }] } }),
  schemaOf({ a: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self.missing == 1' }] } }),
  schemaOf({ a: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self' }] } }),
  schemaOf({ a: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self != ""', reason: 'Odd' }] } }),
  schemaOf({ a: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self != ""', fieldPath: '.b' }] } }),
  schemaOf({
    a: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self != ""', message: 'two\nlines' }] },
  }),
  schemaOf({
    a: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self != ""', messageExpression: '5' }] },
  }),
  schemaOf({
    a: {
      type: 'array',
      items: {
        type: 'array',
        items: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self.matches("a*")' }] },
      },
    },
  }),
  schemaOf({
    a: {
      type: 'array',
      items: { type: 'string' },
      'x-kubernetes-validations': [{ rule: 'self.all(x, self.all(y, x != y))' }],
    },
  }),
  schemaOf({ a: { allOf: [{ type: 'string' }] } }),
  schemaOf({ a: { type: 'string', anyOf: [{ minLength: 2 }, { type: 'integer' }] } }),
  schemaOf({ a: { type: 'string', format: 'odd' } }),
  { openAPIV3Schema: { type: 'string' } },
  {
    openAPIV3Schema: {
      type: 'object',
      properties: { metadata: { type: 'object', properties: { labels: { type: 'object' } } } },
    },
  },
  {
    openAPIV3Schema: {
      type: 'object',
      properties: { metadata: { type: 'object', properties: { name: { type: 'string', maxLength: 5 } } } },
    },
  },
];

export const otherSubjects: readonly Subject[] = [
  {
    apiVersion: 'v1',
    kind: 'Event',
    plural: 'events',
    namespaced: true,
    sample: {
      involvedObject: { kind: 'Pod', namespace: NAMESPACE, name: 'p' },
      reason: 'Tested',
      message: 'hello',
      type: 'Normal',
    },
    values: {
      involvedObject: [
        { kind: 'Pod', namespace: 'elsewhere', name: 'p' },
        { kind: 'Node', name: 'n' },
      ],
      reason: ['Other'],
      type: ['Warning', 'Odd'],
      count: [5],
      eventTime: ['2030-01-01T00:00:00.000000Z', '2030-01-01T00:00:00Z'],
      source: [{ component: 'c' }],
      series: [{ count: 2, lastObservedTime: '2030-01-01T00:00:00.000000Z' }],
    },
  },
  {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    plural: 'events',
    namespaced: true,
    sample: {
      eventTime: '2030-01-01T00:00:00.000000Z',
      reportingController: 'example.com/c',
      reportingInstance: 'c-1',
      action: 'Testing',
      reason: 'Tested',
      regarding: { kind: 'Pod', namespace: NAMESPACE, name: 'p' },
      note: 'hello',
      type: 'Normal',
    },
    values: {
      reason: ['Other', 'x'.repeat(200)],
      type: ['Warning', 'Odd'],
      note: ['x'.repeat(1500)],
      reportingController: ['not valid!'],
      action: ['x'.repeat(200)],
      series: [
        { count: 2, lastObservedTime: '2030-01-01T00:00:00.000000Z' },
        { count: 1, lastObservedTime: '2030-01-01T00:00:00.000000Z' },
      ],
    },
  },
  {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    plural: 'leases',
    namespaced: true,
    sample: { spec: { holderIdentity: 'a', leaseDurationSeconds: 15 } },
    values: {
      'spec/holderIdentity': ['b'],
      'spec/leaseDurationSeconds': [30, 0],
      'spec/leaseTransitions': [2],
      'spec/acquireTime': ['2030-01-01T00:00:00.000000Z', '2030-01-01T00:00:00Z', 'soon'],
      'spec/renewTime': ['2030-01-01T00:00:01.000000Z'],
      'spec/strategy': ['OldestEmulationVersion', 'Odd'],
    },
  },
  { ...rbac, kind: 'Role', plural: 'roles', namespaced: true, sample: { rules: [RULE] }, values: roleValues },
  {
    ...rbac,
    kind: 'ClusterRole',
    plural: 'clusterroles',
    namespaced: false,
    sample: { rules: [RULE] },
    values: {
      ...roleValues,
      aggregationRule: [
        { clusterRoleSelectors: [{ matchLabels: { nothing: 'has-this' } }] },
        { clusterRoleSelectors: [] },
      ],
    },
  },
  {
    ...rbac,
    kind: 'RoleBinding',
    plural: 'rolebindings',
    namespaced: true,
    sample: { roleRef: roleRef('ClusterRole'), subjects: [SUBJECT] },
    values: bindingValues('ClusterRole'),
  },
  {
    ...rbac,
    kind: 'ClusterRoleBinding',
    plural: 'clusterrolebindings',
    namespaced: false,
    sample: { roleRef: roleRef('ClusterRole'), subjects: [SUBJECT] },
    values: bindingValues('ClusterRole'),
  },
  {
    apiVersion: 'differ.example.com/v1',
    kind: 'Widget',
    plural: 'widgets',
    namespaced: true,
    subresources: ['status', 'scale'],
    sample: { spec: { size: 'small' } },
    values: {
      spec: [{ size: 'large' }],
      'spec/size': ['large', 'huge'],
      'spec/replicas': [3, 11, 1.5, '3'],
      'spec/color': ['blue'],
      'spec/note': ['short', 'far too long for it'],
      'spec/tags': [['a', 'b'], ['b', 'a'], ['a', 'a'], [null]],
      'spec/ports': [
        [{ port: 1 }, { port: 2, name: 'x' }],
        [{ port: 2 }],
        [{ port: 1 }, { port: 1 }],
        [{ name: 'x' }],
      ],
      'spec/options': [{ a: 'b' }, { a: null }, { a: 5 }],
      'spec/loose': [{ any: { thing: null } }],
      'spec/either': [5, '5', 1.5],
      'spec/limit': [{ min: 1, max: 2 }, { min: 2, max: 1 }, { min: null }],
      'spec/fixed': ['a', 'b'],
      'spec/unknown': ['x'],
      'status/replicas': [2, 'x'],
      'status/phase': ['Good'],
    },
  },
];

export const definitionSubject: Subject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
  subresources: ['status'],
  heavy: true,
  sample: {},
  make(name) {
    const word = name.replaceAll(/[^a-z0-9]/g, '');
    return {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${word}.made.example.com`, labels: { case: name } },
      spec: {
        group: 'made.example.com',
        scope: 'Namespaced',
        names: { plural: word, singular: word, kind: `K${word}`, listKind: `K${word}List` },
        versions: [{ name: 'v1', served: true, storage: true, schema: schemaOf({ a: { type: 'string' } }) }],
      },
    };
  },
  values: {
    'spec/group': ['other.example.com', 'Not Valid', 'made.k8s.io', 'made.kubernetes.io'],
    'spec/scope': ['Cluster', 'Odd'],
    'spec/names/plural': ['others', 'Not Valid'],
    'spec/names/kind': ['Other', 'not valid'],
    'spec/names/singular': ['Not Valid'],
    'spec/names/shortNames': [['th'], ['TH']],
    'spec/names/categories': [['all'], ['Not Valid']],
    'spec/preserveUnknownFields': [true, false],
    'spec/conversion': [{ strategy: 'None' }, { strategy: 'Webhook' }, { strategy: 'Odd' }],
    'spec/versions/0/name': ['v2', 'Not Valid'],
    'spec/versions/0/served': [false],
    'spec/versions/0/storage': [false],
    'spec/versions/0/schema': definitionSchemas,
    'spec/versions/0/subresources': [
      { status: {} },
      { scale: { specReplicasPath: '.spec.a', statusReplicasPath: '.status.a' } },
      { scale: { specReplicasPath: 'spec.a', statusReplicasPath: '.status.a' } },
      { scale: {} },
    ],
    'spec/versions/0/selectableFields': [
      [{ jsonPath: '.spec.a' }],
      [{ jsonPath: '.spec.missing' }],
      [{ jsonPath: '.spec' }],
      [{ jsonPath: '.metadata.name' }],
      [{ jsonPath: 'spec.a' }],
      [{ jsonPath: '.spec.a' }, { jsonPath: '.spec.a' }],
    ],
    'spec/versions/0/additionalPrinterColumns': [
      [{ name: 'A', type: 'string', jsonPath: '.spec.a' }],
      [{ name: 'A', type: 'odd', jsonPath: '.spec.a' }],
      [{ name: 'A', type: 'string', jsonPath: 'spec.a' }],
      [{ name: 'A', type: 'string' }],
    ],
    'spec/versions/0/deprecated': [true],
    'spec/versions/0/deprecationWarning': ['use another'],
    'spec/versions': [
      [
        { name: 'v1', served: true, storage: true, schema: schemaOf({}) },
        { name: 'v1', served: true, storage: false, schema: schemaOf({}) },
      ],
      [
        { name: 'v1', served: true, storage: true, schema: schemaOf({}) },
        { name: 'v2', served: true, storage: false, schema: schemaOf({}) },
      ],
    ],
  },
};
