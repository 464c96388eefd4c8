// Answers of kube-apiserver 1.36, recorded as facts: a table of requests to the embedded server, each with the code and
// the part of the answer that matters. `npm run differ` asks both servers.

import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { test } from 'node:test';
import type { Json, JsonObject, Step } from '../differ/exchange.ts';
import {
  answer,
  apply,
  driver,
  expectCodes,
  get,
  map,
  ownersOf,
  patch,
  post,
  put,
  remove,
  volume,
} from './requests.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const PVS = '/api/v1/persistentvolumes';
const DRIVERS = '/apis/storage.k8s.io/v1/csidrivers';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

test('kubectl takes over with server-side apply what it wrote with client-side apply', async () => {
  const lastApplied = `${JSON.stringify(map('mig', { data: { a: '1' } }))}\n`;
  const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
  const created = map('mig', { data: { a: '1' } });
  created.metadata = { name: 'mig', annotations: { [annotation]: lastApplied } };
  const first = post(`${MAPS}?fieldManager=kubectl-client-side-apply`, created);
  const changed = map('mig', { data: { a: '2' } });
  const migrated = await answer(first, apply(`${MAPS}/mig`, changed, 'fieldManager=kubectl'));
  assert.equal(migrated.code, 200, JSON.stringify(migrated.body));
  assert.deepEqual(migrated.body.data, { a: '2' });
  assert.deepEqual(ownersOf(migrated.body)['kubectl/Apply'], { 'f:data': { 'f:a': {} } });
  const annotations = (migrated.body.metadata as JsonObject).annotations as JsonObject;
  assert.deepEqual(JSON.parse(String(annotations[annotation])), changed);
  // Another manager's name opts out, and a field that someone changed since is a conflict.
  const again = map('mig', { data: { a: '3' } });
  await expectCodes([
    ['another manager', 409, apply(`${MAPS}/mig`, again, 'fieldManager=other')],
    [
      'changed since',
      409,
      patch('merge', `${MAPS}/mig?fieldManager=x`, { data: { a: '9' } }),
      apply(`${MAPS}/mig`, again, 'fieldManager=kubectl'),
    ],
  ]);
});

test('an applier that drops its last field owns nothing any more', async () => {
  const owned = await answer(
    apply(`${MAPS}/drop`, map('drop', { data: { a: '1' } })),
    apply(`${MAPS}/drop`, map('drop')),
  );
  assert.equal((owned.body.metadata as JsonObject).managedFields, undefined);
  assert.equal(owned.body.data, undefined);
});

test('the writer of a map, a pointer or an element owns it, and not a structure that is always there', async () => {
  const created = await answer(
    post(MAPS, { ...map('dots', { data: { a: '1' } }), metadata: { name: 'dots', labels: { x: 'y' } } }),
  );
  assert.deepEqual(ownersOf(created.body)['differ/Update'], {
    'f:data': { '.': {}, 'f:a': {} },
    'f:metadata': { 'f:labels': { '.': {}, 'f:x': {} } },
  });
  const pv = await answer(post(PVS, volume('dots')));
  const owned = ownersOf(pv.body)['differ/Update'] as { 'f:spec': JsonObject };
  assert.deepEqual(owned['f:spec']['f:csi'], { '.': {}, 'f:driver': {}, 'f:volumeHandle': {} });
  assert.equal((owned['f:spec'] as JsonObject)['.'], undefined);
});

test('ownership that was dropped is recorded again by the next apply', async () => {
  const reset = [
    post(MAPS, map('reset', { data: { a: '1' } })),
    patch('merge', `${MAPS}/reset`, { metadata: { managedFields: [{}] } }),
  ];
  const written = await answer(...reset, patch('merge', `${MAPS}/reset`, { data: { b: '2' } }));
  assert.deepEqual(ownersOf(written.body), {});
  const applied = await answer(apply(`${MAPS}/reset`, map('reset', { data: { c: '3' } })));
  assert.deepEqual(Object.keys(ownersOf(applied.body)).sort(), ['a/Apply', 'before-first-apply/Update']);
});

test('empty values are kept or dropped as the types of Kubernetes do', async () => {
  const pv = await answer(post(PVS, volume('empty', { mountOptions: [], storageClassName: '' })));
  const spec = pv.body.spec as JsonObject;
  assert.equal(Object.hasOwn(spec, 'mountOptions') || Object.hasOwn(spec, 'storageClassName'), false);
  const made = await answer(post(MAPS, map('empty', { data: {}, immutable: false })));
  assert.equal(Object.hasOwn(made.body, 'data'), false);
  assert.equal(made.body.immutable, false);
  const nulls = await answer(post(MAPS, map('nulls', { data: { a: null } })));
  assert.deepEqual(nulls.body.data, { a: '' });
});

test('an update names what it replaces', async () => {
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'byput' } };
  await expectCodes([
    ['without a name', 400, post(MAPS, map('p1', { data: { a: '1' } })), put(`${MAPS}/p1`, { data: {} })],
    ['version 0', 200, put(`${MAPS}/p1`, { ...map('p1'), metadata: { name: 'p1', resourceVersion: '0' } })],
    ['version x', 500, put(`${MAPS}/p1`, { ...map('p1'), metadata: { name: 'p1', resourceVersion: 'x' } })],
    [
      'no version of a CSIDriver',
      422,
      post(DRIVERS, driver('p.example.com')),
      put(`${DRIVERS}/p.example.com`, driver('p.example.com')),
    ],
    ['create a Lease', 201, put(`${LEASES}/byput`, lease)],
    ['not a ConfigMap', 404, put(`${MAPS}/absent`, map('absent'))],
    ['another uid', 409, put(`${MAPS}/p1`, { ...map('p1'), metadata: { name: 'p1', uid: 'u' } })],
    ['a patch to another uid', 422, patch('merge', `${MAPS}/p1`, { metadata: { uid: 'u' } })],
    ['a patch that removes the name', 400, patch('merge', `${MAPS}/p1`, { metadata: null })],
  ]);
});

test('what apply cannot own is rejected', async () => {
  const { body } = await answer(post(MAPS, map('odd')));
  assert.equal((body.metadata as JsonObject).name, 'odd');
  await expectCodes([
    ['unknown field', 500, apply(`${MAPS}/odd`, map('odd', { odd: 1 }))],
    ['wrong type', 500, apply(`${MAPS}/odd`, map('odd', { data: 'x' }))],
    ['no name', 400, apply(`${MAPS}/nameless`, { apiVersion: 'v1', kind: 'ConfigMap' })],
    ['a uid of nothing', 409, apply(`${MAPS}/new`, { ...map('new'), metadata: { name: 'new', uid: 'u' } })],
    ['no manager', 422, apply(`${MAPS}/odd`, map('odd'), '')],
  ]);
});

test('options and patches that cannot be are unprocessable', async () => {
  await expectCodes([
    ['dryRun', 422, post(`${MAPS}?dryRun=Some`, map('o1'))],
    ['fieldValidation', 422, post(`${MAPS}?fieldValidation=Odd`, map('o1'))],
    ['fieldManager', 422, post(`${MAPS}?fieldManager=${'m'.repeat(129)}`, map('o1'))],
    [
      'version at creation',
      500,
      post(MAPS, { ...map('o1'), metadata: { name: 'o1', resourceVersion: '5' } }),
    ],
    [
      'version 0 at creation',
      201,
      post(MAPS, { ...map('o1'), metadata: { name: 'o1', resourceVersion: '0' } }),
    ],
    ['null for a body', 422, post(MAPS, null)],
    ['force', 422, patch('merge', `${MAPS}/o1?force=true`, {})],
    ['unknown operation', 422, patch('json', `${MAPS}/o1`, [{ op: 'odd', path: '/a' }])],
    ['pointer', 422, patch('json', `${MAPS}/o1`, [{ op: 'add', path: 'a', value: 1 }])],
    ['wrong type', 422, patch('merge', `${MAPS}/o1`, { data: 'x' })],
    ['directive', 500, patch('strategic', `${MAPS}/o1`, { metadata: { labels: { $patch: 'odd' } } })],
    ['policy', 422, remove(`${MAPS}/o1?propagationPolicy=Odd`)],
    ['two policies', 422, remove(`${MAPS}/o1`, { orphanDependents: true, propagationPolicy: 'Orphan' })],
    ['match without version', 422, get(`${MAPS}?resourceVersionMatch=Exact`)],
    ['initial events of a list', 422, get(`${MAPS}?sendInitialEvents=true`)],
    ['version of a get', 500, get(`${MAPS}/o1?resourceVersion=x`)],
    [
      'one object as a list',
      406,
      get(`${MAPS}/o1`, { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' }),
    ],
    [
      'includeObject',
      400,
      get(`${MAPS}/o1?includeObject=Odd`, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }),
    ],
  ]);
});

test('a Status has details where clients read them, and a deletion answers as the kind does', async () => {
  const missing = await answer(get('/apis/absent.example.com/v1/things'));
  assert.deepEqual(missing.body.details, {});
  const options = await answer(post(`${MAPS}?dryRun=Some`, map('d1')));
  assert.equal((options.body.details as JsonObject).kind, 'CreateOptions');
  const object = await answer(post(PVS, volume('gone')), remove(`${PVS}/gone`));
  assert.equal(object.body.kind, 'PersistentVolume');
  const status = await answer(post(MAPS, map('gone')), remove(`${MAPS}/gone`));
  assert.equal(status.body.kind, 'Status');
});

const CLAIMS = '/api/v1/namespaces/default/persistentvolumeclaims';
const PODS = '/api/v1/namespaces/default/pods';
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

test('storage objects keep the rules of kube-apiserver', async () => {
  const zone = (value: string): JsonObject => ({
    nodeAffinity: {
      required: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: [value] }] }],
      },
    },
  });
  const csi = (more: JsonObject): JsonObject => ({
    csi: { driver: 'd.example.com', volumeHandle: 'h', ...more },
  });
  const secret = { name: 'a', namespace: 'b' };
  const merged = (json: JsonObject): Step => patch('merge', `${PVS}/rules`, { spec: json });
  await expectCodes([
    ['a volume', 201, post(PVS, volume('rules', zone('a')))],
    ['another value of its affinity', 422, merged(zone('b'))],
    ['a secret for expansion', 200, merged(csi({ controllerExpandSecretRef: secret }))],
    ['another secret', 422, merged(csi({ controllerExpandSecretRef: { ...secret, name: 'c' } }))],
    ['a secret of nodes', 422, merged(csi({ nodeExpandSecretRef: secret }))],
    [
      'the name of a secret',
      422,
      post(PVS, volume('r2', csi({ nodePublishSecretRef: { ...secret, name: 'UP' } }))),
    ],
    ['the name of a class', 422, post(PVS, volume('r2', { volumeAttributesClassName: 'Not Valid' }))],
    ['the name of a driver', 422, post(DRIVERS, driver('UPPER.example.com'))],
    [
      'a path that goes up',
      422,
      post(PVS, {
        ...volume('r2'),
        spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/a/../b' } },
      }),
    ],
    [
      'a namespace of a volume',
      201,
      post(PVS, { ...volume('r3'), metadata: { name: 'r3', namespace: 'x' } }),
    ],
    [
      'the start of a deletion',
      422,
      patch('merge', `${PVS}/r3`, { metadata: { deletionTimestamp: '2030-01-01T00:00:00Z' } }),
    ],
  ]);
});

test('data sources follow from each other, and a label changes where a class was applied', async () => {
  const claim = (name: string, spec: JsonObject): JsonObject => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
  });
  const thing = { apiGroup: 'example.com', kind: 'Thing', name: 't' };
  const specOf = async (source: JsonObject): Promise<JsonObject> => {
    const name = `s${JSON.stringify(source).length}`;
    return (await answer(post(CLAIMS, claim(name, source)))).body.spec as JsonObject;
  };
  const referred = await specOf({ dataSourceRef: thing });
  assert.deepEqual([referred.dataSource, referred.dataSourceRef], [thing, thing]);
  const dropped = await specOf({ dataSource: thing });
  assert.deepEqual([dropped.dataSource, dropped.dataSourceRef], [undefined, undefined]);
  const other = { ...thing, namespace: 'other' };
  const elsewhere = await specOf({ dataSourceRef: other });
  assert.deepEqual([elsewhere.dataSource, elsewhere.dataSourceRef], [undefined, other]);
  const applied = { status: { phase: 'Bound', currentVolumeAttributesClassName: 'gold' } };
  await expectCodes([
    ['a claim', 201, post(CLAIMS, claim('vac', {}))],
    ['its status', 200, patch('merge', `${CLAIMS}/vac/status`, applied)],
    ['its label', 200, patch('merge', `${CLAIMS}/vac`, { metadata: { labels: { a: 'b' } } })],
  ]);
});

test('pods keep the rules of kube-apiserver', async () => {
  await answer(post('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } }));
  const main = { name: 'main', image: 'i' };
  const pod = (name: string, container: JsonObject, spec: JsonObject = {}): JsonObject => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { containers: [{ ...main, ...container }], volumes: [{ name: 'v', emptyDir: {} }], ...spec },
  });
  const rejected = (title: string, container: JsonObject, spec: JsonObject = {}): [string, number, Step] => [
    title,
    422,
    post(PODS, pod('bad', container, spec)),
  ];
  const mounted = (more: JsonObject): JsonObject => ({
    volumeMounts: [{ name: 'v', mountPath: '/v', ...more }],
  });
  const target = { apiVersion: 'v1', kind: 'Node', name: 'n' };
  const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'gated' }, target };
  await expectCodes([
    rejected('a probe without a handler', { livenessProbe: {} }),
    rejected('two handlers', { livenessProbe: { exec: { command: ['a'] }, httpGet: { port: 1 } } }),
    rejected('a hook without a handler', { lifecycle: { preStop: {} } }),
    rejected('propagation without privilege', mounted({ mountPropagation: 'Bidirectional' })),
    rejected('two subpaths', mounted({ subPath: 'a', subPathExpr: '$(A)' })),
    rejected('a device of a directory', { volumeDevices: [{ name: 'v', devicePath: '/d' }] }),
    rejected('a deadline of nothing', {}, { activeDeadlineSeconds: 0 }),
    rejected('a field of the pod', {
      env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.odd' } } }],
    }),
    ['a gated pod', 201, post(PODS, pod('gated', {}, { schedulingGates: [{ name: 'example.com/wait' }] }))],
    ['its binding', 409, post(`${PODS}/gated/binding`, binding)],
    [
      'a binding of another name',
      400,
      post(`${PODS}/gated/binding`, { ...binding, metadata: { name: 'x' } }),
    ],
    ['an eviction without a name', 400, post(`${PODS}/gated/eviction`, {})],
    ['all tolerations removed', 200, patch('merge', `${PODS}/gated`, { spec: { tolerations: null } })],
  ]);
  const set = {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 's' },
    spec: {
      podManagementPolicy: 'Odd',
      selector: { matchLabels: { a: 'b' } },
      template: { metadata: { labels: { a: 'b' } }, spec: { containers: [main] } },
    },
  };
  assert.equal((await answer(post('/apis/apps/v1/namespaces/default/statefulsets', set))).code, 422);
});

function definition(plural: string, properties: JsonObject, more: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.answers.example.com` },
    spec: {
      group: 'answers.example.com',
      scope: 'Namespaced',
      names: { plural, singular: plural, kind: `K${plural}`, listKind: `K${plural}List` },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties } } },
          },
          ...more,
        },
      ],
    },
  };
}

test('definitions that a cluster rejects are rejected', async () => {
  const item = (key: JsonObject, more: JsonObject = {}): JsonObject => ({
    a: {
      type: 'array',
      items: { type: 'object', properties: { k: key }, ...more },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k'],
    },
  });
  const text = { type: 'string' };
  const ruled = (more: JsonObject): JsonObject => ({
    a: { ...text, 'x-kubernetes-validations': [{ rule: 'self != ""', ...more }] },
  });
  const bad = (title: string, properties: JsonObject, more: JsonObject = {}): [string, number, Step] => [
    title,
    422,
    post(CRDS, definition('bad', properties, more)),
  ];
  await expectCodes([
    bad('a default of another type', { a: { ...text, default: 5 } }),
    bad('a default outside its enum', { a: { ...text, enum: ['y'], default: 'x' } }),
    bad('a key without default', item(text)),
    bad('a key that is an object', item({ type: 'object' }, { required: ['k'] })),
    bad('a set of objects', {
      a: { type: 'array', items: { type: 'object' }, 'x-kubernetes-list-type': 'set' },
    }),
    bad('a list type of a string', { a: { ...text, 'x-kubernetes-list-type': 'set' } }),
    bad('an odd reason', ruled({ reason: 'Odd' })),
    bad('a fieldPath to nothing', ruled({ fieldPath: '.b' })),
    bad('a message of two lines', ruled({ message: 'a\nb' })),
    bad('a selectable field that is missing', { a: text }, { selectableFields: [{ jsonPath: '.spec.b' }] }),
    bad('a selectable object', { a: text }, { selectableFields: [{ jsonPath: '.spec' }] }),
    bad(
      'a path of replicas',
      { a: text },
      { subresources: { scale: { specReplicasPath: 'spec.a', statusReplicasPath: '.status.a' } } },
    ),
    ['required key', 201, post(`${CRDS}?dryRun=All`, definition('good', item(text, { required: ['k'] })))],
  ]);
});

test('nulls in custom resources are absent fields, and a rule says what it is about', async () => {
  const limit = {
    type: 'object',
    properties: { min: { type: 'integer' }, max: { type: 'integer' } },
    'x-kubernetes-validations': [
      {
        rule: '!has(self.min) || !has(self.max) || self.min <= self.max',
        fieldPath: '.min',
        reason: 'FieldValueForbidden',
        message: 'too large',
      },
    ],
  };
  const made = await answer(post(CRDS, definition('nulls', { limit, note: { type: 'string' } })));
  assert.equal(made.code, 201, JSON.stringify(made.body));
  const path = '/apis/answers.example.com/v1/namespaces/default/nulls';
  const object = (name: string, spec: JsonObject): JsonObject => ({
    apiVersion: 'answers.example.com/v1',
    kind: 'Knulls',
    metadata: { name },
    spec,
  });
  const created = await answer(post(path, object('a', { note: null, limit: { min: null } })));
  assert.deepEqual([created.code, created.body.spec], [201, { limit: {} }]);
  const refused = await answer(post(path, object('b', { limit: { min: 2, max: 1 } })));
  const { causes } = refused.body.details as { causes?: JsonObject[] };
  assert.deepEqual(
    causes?.map(({ reason, field }) => [reason, field]),
    [['FieldValueForbidden', 'spec.limit.min']],
  );
});

test('a watch may be asked for by its path, and replicas applied through scale', async () => {
  await answer(post(MAPS, map('watched')));
  const heard = await answer(
    get(`/api/v1/watch/namespaces/default/configmaps/watched?timeoutSeconds=1&resourceVersion=0`),
  );
  assert.equal((heard.body as JsonObject).type, 'ADDED');
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'd' },
    spec: { selector: { matchLabels: { a: 'b' } }, template },
  };
  const scale = {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name: 'd' },
    spec: { replicas: 3 },
  };
  await expectCodes([
    ['of another owner', 409, post(deployments, deployment), apply(`${deployments}/d/scale`, scale)],
    ['of another kind', 400, put(`${deployments}/d/scale`, deployment)],
  ]);
  const scaled = await answer(apply(`${deployments}/d/scale`, scale, 'fieldManager=a&force=true'));
  assert.deepEqual((scaled.body.spec as JsonObject).replicas, 3, JSON.stringify(scaled.body));
});

const GADGET_PATH = '/apis/answers.example.com/v1/namespaces/default/gadgets';
const GADGETS: JsonObject = {
  metadata: { name: 'gadgets.answers.example.com' },
  spec: {
    group: 'answers.example.com',
    scope: 'Namespaced',
    names: { plural: 'gadgets', kind: 'Gadget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {
          scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
        },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  replicas: { type: 'integer' },
                  tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
                },
                'x-kubernetes-validations': [{ rule: '!has(self.replicas) || self.replicas != 3' }],
              },
            },
          },
        },
      },
    ],
  },
};
const gadget = (name: string, spec: Json, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: 'answers.example.com/v1',
  kind: 'Gadget',
  metadata: { name, ...metadata },
  spec,
});
const fieldsOf = ({ body }: { body: JsonObject }): string[] =>
  ((body.details as JsonObject).causes as JsonObject[]).map(({ field }) => String(field));

test('an object is validated before its name is looked up, and warnings come with errors, too', async () => {
  const taken = post(DRIVERS, driver('taken.example.com'));
  const bad = {
    ...driver('taken.example.com'),
    metadata: { name: 'taken.example.com', finalizers: ['plain'] },
  };
  await expectCodes([
    ['taken', 409, taken, taken],
    ['taken and wrong', 422, post(DRIVERS, bad)],
  ]);
  const { code, warnings } = await answer(put(`${MAPS}/nameless`, { unknownField: 1 }));
  assert.deepEqual([code, warnings.length], [400, 1]);
});

test('what is accepted and yet deprecated is warned of', async () => {
  const claim = (storage: string, name: string): JsonObject => ({
    metadata: { name },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } },
  });
  const claims = '/api/v1/namespaces/default/persistentvolumeclaims';
  const rows: [Step, string | undefined][] = [
    [post(PVS, volume('recycled', { persistentVolumeReclaimPolicy: 'Recycle' })), 'Recycle'],
    [post(PVS, volume('retained')), undefined],
    [post(claims, claim('1500m', 'fraction')), 'fractional byte value'],
    [post(claims, claim('1Gi', 'whole')), undefined],
    [post(DRIVERS, driver('tokens.example.com', { tokenRequests: [{ audience: 'a' }] })), 'TokenInSecrets'],
    [patch('merge', `${DRIVERS}/tokens.example.com`, { metadata: { labels: { a: 'b' } } }), undefined],
  ];
  for (const [step, text] of rows) {
    const { code, warnings } = await answer(step);
    assert.ok(code < 300, `${step.path}: ${code}`);
    assert.equal(warnings.length, text === undefined ? 0 : 1, `${step.path}: ${warnings.join()}`);
    if (text !== undefined) assert.match(warnings[0] ?? '', new RegExp(text));
  }
});

test('times and data that cannot be decoded are malformed, and data is never shown', async () => {
  const secrets = '/api/v1/namespaces/default/secrets';
  const secret = (value: string): JsonObject => ({ metadata: { name: 'coded' }, data: { k: value } });
  const lease = (acquireTime: string): JsonObject => ({ metadata: { name: 'timed' }, spec: { acquireTime } });
  await expectCodes([
    ['seconds', 400, post(LEASES, lease('2030-01-01T00:00:00Z'))],
    ['microseconds', 201, post(LEASES, lease('2030-01-01T00:00:00.000000Z'))],
    ['base64', 201, post(secrets, secret('aHVudGVyMg=='))],
    ['a patch', 422, patch('merge', `${secrets}/coded`, { data: { k: 'hunter2!' } })],
  ]);
  const refused = await answer(post(secrets, secret('hunter2!')));
  assert.equal(refused.code, 400);
  assert.doesNotMatch(JSON.stringify(refused.body), /hunter2/);
});

test('deletions answer as kube-apiserver: a pod as marked, a namespace without a grace period', async () => {
  const pods = '/api/v1/namespaces/default/pods';
  const pod = { metadata: { name: 'marked' }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const { metadata } = (await answer(post(pods, pod), remove(`${pods}/marked`))).body as {
    metadata: JsonObject;
  };
  assert.deepEqual([metadata.deletionGracePeriodSeconds, metadata.generation], [0, 2]);
  assert.ok(metadata.deletionTimestamp);
  const gone = await answer(
    post('/api/v1/namespaces', { metadata: { name: 'marked' } }),
    remove('/api/v1/namespaces/marked?dryRun=All'),
  );
  assert.equal((gone.body.metadata as JsonObject).deletionGracePeriodSeconds, undefined);
  const events = '/api/v1/namespaces/default/events';
  const event = { metadata: { name: 'e' }, involvedObject: { namespace: 'default' }, reason: 'r' };
  const deleted = await answer(post(events, event), remove(`${events}/e?propagationPolicy=Foreground`));
  assert.equal(deleted.body.status, 'Success');
});

test('a status write of an attachment changes no metadata', async () => {
  const path = '/apis/storage.k8s.io/v1/volumeattachments';
  const attachment = {
    metadata: { name: 'kept', labels: { a: 'b' } },
    spec: { attacher: 'd.example.com', nodeName: 'n', source: { persistentVolumeName: 'pv' } },
  };
  const { body } = await answer(
    post(path, attachment),
    patch('merge', `${path}/kept/status`, { metadata: { labels: { a: 'c' } }, status: { attached: true } }),
  );
  assert.deepEqual([(body.metadata as JsonObject).labels, body.status], [{ a: 'b' }, { attached: true }]);
});

test('custom resources: formats of patches, types that a Scale needs, errors that keep rules from running', async () => {
  await answer(post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', GADGETS));
  await expectCodes([['a strategic patch of none', 415, patch('strategic', `${GADGET_PATH}/none`, {})]]);
  const wrong = await answer(post(GADGET_PATH, gadget('wrong', [])));
  assert.deepEqual(fieldsOf(wrong), ['spec', '.spec.replicas', '<nil>']);
  const both = await answer(post(GADGET_PATH, gadget('both', { tags: ['a', 'a'], replicas: 3 })));
  assert.deepEqual(fieldsOf(both), ['spec.tags[1]', 'spec']);
  const warned = await answer(post(GADGET_PATH, gadget('warned', {}, { finalizers: ['plain'] })));
  assert.deepEqual([warned.code, warned.warnings.length], [201, 1]);
  const listed = await answer(get(GADGET_PATH));
  assert.equal((listed.body.metadata as JsonObject).continue, '');
});

test('workloads: the strategy of a rollout is validated', async () => {
  const apps = '/apis/apps/v1/namespaces/default';
  const workload = (spec: JsonObject): JsonObject => ({
    metadata: { name: 'rolled' },
    spec: {
      selector: { matchLabels: { app: 'x' } },
      template: { metadata: { labels: { app: 'x' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      ...spec,
    },
  });
  const rolling = (maxSurge: Json, maxUnavailable: Json): JsonObject => ({
    type: 'RollingUpdate',
    rollingUpdate: { maxSurge, maxUnavailable },
  });
  const rows: [string, JsonObject, string | undefined][] = [
    ['deployments', { strategy: rolling(1, '50%') }, undefined],
    ['deployments', { strategy: { type: 'Odd' } }, 'spec.strategy'],
    [
      'deployments',
      { strategy: { type: 'Recreate', rollingUpdate: { maxSurge: 1 } } },
      'spec.strategy.rollingUpdate',
    ],
    ['deployments', { strategy: rolling(0, 0) }, 'spec.strategy.rollingUpdate.maxUnavailable'],
    ['deployments', { strategy: rolling(0, '101%') }, 'spec.strategy.rollingUpdate.maxUnavailable'],
    ['deployments', { strategy: rolling('x', 1) }, 'spec.strategy.rollingUpdate.maxSurge'],
    ['deployments', { progressDeadlineSeconds: 5, minReadySeconds: 5 }, 'spec.progressDeadlineSeconds'],
    ['daemonsets', { updateStrategy: rolling(0, 1) }, undefined],
    ['daemonsets', { updateStrategy: { type: 'OnDelete' } }, undefined],
    ['daemonsets', { updateStrategy: { type: 'Odd' } }, 'spec.updateStrategy'],
    ['daemonsets', { updateStrategy: rolling(1, 1) }, 'spec.updateStrategy.rollingUpdate.maxSurge'],
    ['daemonsets', { updateStrategy: rolling(0, 0) }, 'spec.updateStrategy.rollingUpdate.maxUnavailable'],
  ];
  for (const [plural, spec, field] of rows) {
    const given = await answer(post(`${apps}/${plural}?dryRun=All`, workload(spec)));
    const title = `${plural} ${JSON.stringify(spec)}: ${JSON.stringify(given.body)}`;
    assert.equal(given.code, field === undefined ? 201 : 422, title);
    if (field !== undefined) assert.deepEqual(fieldsOf(given), [field], title);
  }
});

test('what an object always has, and what counts as a change of it', async () => {
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
  const deployment: JsonObject = {
    metadata: { name: 'counted' },
    spec: {
      selector: { matchLabels: { app: 'x' } },
      template: {
        metadata: { labels: { app: 'x' } },
        spec: {
          containers: [{ name: 'c', image: 'i' }],
          imagePullSecrets: [{}],
          volumes: [{ name: 'v', ephemeral: { volumeClaimTemplate: { spec: claim } } }],
        },
      },
    },
  };
  const created = await answer(post(deployments, deployment));
  assert.equal(created.warnings.length, 1, 'a secret without a name');
  const { template } = created.body.spec as { template: { spec: { volumes: JsonObject[] } } };
  const ephemeral = template.spec.volumes[0]?.ephemeral as JsonObject;
  assert.deepEqual((ephemeral.volumeClaimTemplate as JsonObject).metadata, {});
  const annotate = (path: string): Step => patch('merge', path, { metadata: { annotations: { a: 'b' } } });
  const { body } = await answer(annotate(`${deployments}/counted`));
  assert.equal((body.metadata as JsonObject).generation, 2);
  const namespaces = '/api/v1/namespaces';
  await expectCodes([
    [
      'a phase that is removed',
      200,
      patch('json', `${namespaces}/default/status`, [{ op: 'remove', path: '/status/phase' }]),
    ],
    [
      'a quota of a scope that does not exist',
      422,
      post(`${namespaces}/default/resourcequotas`, {
        metadata: { name: 'q' },
        spec: { hard: {}, scopes: ['Odd'] },
      }),
    ],
  ]);
});

test('the keys of service accounts are published, so that others can verify their tokens', async () => {
  const { body: configuration } = await answer(get('/.well-known/openid-configuration'));
  assert.deepEqual(configuration.id_token_signing_alg_values_supported, ['ES256']);
  const keys = await answer(get(new URL(String(configuration.jwks_uri)).pathname));
  assert.equal(keys.type, 'application/jwk-set+json');
  const [key] = keys.body.keys as JsonObject[];
  assert.equal(key?.d, undefined, 'no private key');
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  const asked = await answer(
    post(accounts, { metadata: { name: 'known' } }),
    post(`${accounts}/known/token`, { spec: { expirationSeconds: 600 } }),
  );
  const [head = '', claims = '', signature = ''] = String((asked.body.status as JsonObject).token).split('.');
  const publicKey = createPublicKey({ key: key as Record<string, string>, format: 'jwk' });
  const bytes = Buffer.from(`${head}.${claims}`);
  const given = Buffer.from(signature, 'base64url');
  assert.ok(verify('sha256', bytes, { key: publicKey, dsaEncoding: 'ieee-p1363' }, given));
  assert.equal(JSON.parse(String(Buffer.from(claims, 'base64url'))).iss, configuration.issuer);
});

test('Services, slices and the classes of pods keep the rules of kube-apiserver', async () => {
  const core = '/api/v1/namespaces/default';
  const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?dryRun=All';
  const classes = '/apis/scheduling.k8s.io/v1/priorityclasses?dryRun=All';
  const runtimes = '/apis/node.k8s.io/v1/runtimeclasses?dryRun=All';
  const service = (spec: JsonObject): JsonObject => ({
    metadata: { name: 'ruled' },
    spec: { clusterIP: 'None', ports: [{ port: 80 }], ...spec },
  });
  const slice = (more: JsonObject): JsonObject => ({
    metadata: { name: 'ruled' },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.1.2.3'] }],
    ...more,
  });
  const rows: [string, JsonObject, string][] = [
    [`${core}/services?dryRun=All`, service({ ipFamilyPolicy: 'Odd' }), 'spec.ipFamilyPolicy'],
    [`${core}/services?dryRun=All`, service({ selector: { 'not valid!': 'x' } }), 'spec.selector'],
    [
      `${core}/services?dryRun=All`,
      service({ ports: [{ port: 80, nodePort: 30080 }] }),
      'spec.ports[0].nodePort',
    ],
    [slices, slice({ addressType: 'IPv6' }), 'endpoints[0].addresses'],
    [
      slices,
      slice({ endpoints: [{ addresses: ['10.1.2.3'], hostname: 'Not Valid' }] }),
      'endpoints[0].hostname',
    ],
    [slices, slice({ ports: [{ name: 'Not Valid' }] }), 'ports[0].name'],
    [classes, { value: 1 }, 'metadata.name'],
    [
      runtimes,
      { metadata: { name: 'r' }, handler: 'r', scheduling: { nodeSelector: { 'not valid!': 'x' } } },
      'scheduling.nodeSelector',
    ],
  ];
  for (const [path, body, field] of rows) {
    const given = await answer(post(path, body));
    assert.equal(given.code, 422, `${field}: ${JSON.stringify(given.body)}`);
    assert.deepEqual(fieldsOf(given), [field]);
  }
  const { body } = await answer(post(`${core}/services`, service({})));
  assert.deepEqual((body.spec as JsonObject).clusterIPs, ['None']);
  const [entry] = (body.metadata as JsonObject).managedFields as JsonObject[];
  const owned = ((entry as JsonObject).fieldsV1 as JsonObject)['f:spec'] as JsonObject;
  assert.deepEqual(['f:clusterIP' in owned, 'f:clusterIPs' in owned], [true, false]);
  for (const step of [
    get(`${core}/endpoints`),
    get(`${core}/endpoints/none`),
    post(`${core}/endpoints`, {}),
  ]) {
    assert.equal((await answer(step)).warnings.length, 1, step.method);
  }
});

test('the published schemas name values, and say how lists merge', async () => {
  const schemasOf = async (path: string) =>
    ((await answer(get(`/openapi/v3/${path}`))).body.components as { schemas: Record<string, JsonObject> })
      .schemas;
  const fieldOf = (schemas: Record<string, JsonObject>, type: string, field: string): JsonObject =>
    ((schemas[`io.k8s.api.${type}`] as JsonObject).properties as Record<string, JsonObject>)[
      field
    ] as JsonObject;
  const core = await schemasOf('api/v1');
  assert.deepEqual(fieldOf(core, 'core.v1.PodSpec', 'restartPolicy').enum, ['Always', 'Never', 'OnFailure']);
  const modes = fieldOf(core, 'core.v1.PersistentVolumeClaimSpec', 'accessModes').items as JsonObject;
  assert.deepEqual(modes.enum, ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod']);
  assert.equal(fieldOf(core, 'core.v1.ServicePort', 'port').format, 'int32');
  const apps = await schemasOf('apis/apps/v1');
  assert.deepEqual(apps['io.k8s.api.apps.v1.StatefulSetSpec']?.required, ['selector', 'template']);
  const services = '/api/v1/namespaces/default/services';
  const service = {
    metadata: { name: 'merged' },
    spec: { clusterIP: 'None', ports: [{ name: 'a', port: 80 }] },
  };
  const { body } = await answer(
    post(services, service),
    patch('strategic', `${services}/merged`, { spec: { ports: [{ name: 'b', port: 81 }] } }),
  );
  const { ports } = body.spec as { ports: JsonObject[] };
  assert.deepEqual(
    ports.map(({ port }) => port),
    [81, 80],
  );
});

test('a custom resource is sent with its type, unlike a built-in kind', async () => {
  const WIDGETS = '/apis/typed.example.com/v1/widgets';
  const schema = { openAPIV3Schema: { type: 'object' } };
  const definition: JsonObject = {
    metadata: { name: 'widgets.typed.example.com' },
    spec: {
      group: 'typed.example.com',
      scope: 'Cluster',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  };
  const [apiVersion, kind, metadata] = ['typed.example.com/v1', 'Widget', { name: 'a' }];
  await expectCodes([
    ['the definition', 201, post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition)],
    ['no kind', 400, post(WIDGETS, { apiVersion, metadata })],
    ['no version', 400, post(WIDGETS, { kind, metadata })],
    ['both', 201, post(WIDGETS, { apiVersion, kind, metadata })],
    ['an update without a kind', 400, put(`${WIDGETS}/a`, { apiVersion, metadata })],
  ]);
  const refused = await answer(put(`${WIDGETS}/a`, { apiVersion, metadata, odd: 1 }));
  assert.deepEqual(refused.warnings, []);
});

test('a Service that is moved elsewhere gives its address back', async () => {
  const SERVICES = '/api/v1/namespaces/default/services';
  const spec = { selector: { a: 'b' }, ports: [{ port: 80 }], externalIPs: ['10.1.2.3'] };
  const made = await answer(post(SERVICES, { metadata: { name: 'moved' }, spec }));
  assert.equal((made.body.spec as JsonObject).externalTrafficPolicy, 'Cluster');
  const inside = await answer(patch('merge', `${SERVICES}/moved`, { spec: { externalIPs: null } }));
  assert.equal((inside.body.spec as JsonObject).externalTrafficPolicy, undefined);
  const moved = { spec: { type: 'ExternalName', externalName: 'a.example' } };
  const elsewhere = await answer(patch('merge', `${SERVICES}/moved`, moved));
  assert.deepEqual(elsewhere.body.spec, {
    selector: { a: 'b' },
    ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
    sessionAffinity: 'None',
    ...moved.spec,
  });
  const back = await answer(
    patch('merge', `${SERVICES}/moved`, { spec: { type: 'ClusterIP', externalName: null } }),
  );
  assert.match(String((back.body.spec as JsonObject).clusterIP), /^10\.96\./);
  await expectCodes([
    [
      'IPv6',
      422,
      post(SERVICES, { metadata: { name: 'six' }, spec: { ports: [{ port: 80 }], ipFamilies: ['IPv6'] } }),
    ],
    ['another address', 422, patch('merge', `${SERVICES}/moved`, { spec: { clusterIP: '10.96.9.9' } })],
  ]);
  const free = await answer(post(SERVICES, { metadata: { name: 'free' }, spec: { clusterIP: 'None' } }));
  assert.deepEqual((free.body.spec as JsonObject).ipFamilies, ['IPv4', 'IPv6']);
});

test("the generation of a PriorityClass stays 1, ports of a template are not made the host's", async () => {
  const CLASSES = '/apis/scheduling.k8s.io/v1/priorityclasses';
  const changed = await answer(
    post(CLASSES, { metadata: { name: 'stays' }, value: 1 }),
    patch('merge', `${CLASSES}/stays`, { description: 'other' }),
  );
  assert.equal((changed.body.metadata as JsonObject).generation, 1);
  const template = (labels: JsonObject): JsonObject => ({
    metadata: { labels },
    spec: { hostNetwork: true, containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 80 }] }] },
  });
  const portsOf = (spec: Json | undefined): Json =>
    ((spec as { containers: { ports: Json }[] }).containers[0] as { ports: Json }).ports;
  const deployment = await answer(
    post('/apis/apps/v1/namespaces/default/deployments', {
      metadata: { name: 'hosts' },
      spec: { selector: { matchLabels: { a: 'b' } }, template: template({ a: 'b' }) },
    }),
  );
  const { template: kept } = deployment.body.spec as { template: JsonObject };
  assert.deepEqual(portsOf(kept.spec), [{ containerPort: 80, protocol: 'TCP' }]);
  const pod = await answer(
    post('/api/v1/namespaces/default/pods', { metadata: { name: 'hosts' }, spec: template({}).spec as Json }),
  );
  assert.deepEqual(portsOf(pod.body.spec), [{ containerPort: 80, hostPort: 80, protocol: 'TCP' }]);
});

test('an applied quantity is a scalar', async () => {
  const claim = (storage: Json): JsonObject => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'scalar' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } },
  });
  const path = '/api/v1/namespaces/default/persistentvolumeclaims/scalar';
  const refused = await answer(apply(path, claim([])));
  assert.equal(refused.code, 500);
  assert.match(String(refused.body.message), /\.spec\.resources\.requests\.storage: expected any scalar/);
  await expectCodes([['a number', 201, apply(path, claim(1024))]]);
});

test('deletionTimestamp has owners, and nobody sets it by an apply', async () => {
  const dying = { ...map('dying'), metadata: { name: 'dying', finalizers: ['a.b/c'] } };
  await expectCodes([
    ['the object', 201, post(MAPS, dying)],
    [
      'an apply that would delete it',
      422,
      apply(`${MAPS}/dying`, {
        ...map('dying'),
        metadata: { name: 'dying', deletionTimestamp: '2030-01-01T00:00:00Z' },
      }),
    ],
  ]);
  const applied = await answer(
    remove(`${MAPS}/dying`),
    patch('merge', `${MAPS}/dying`, { metadata: { managedFields: [] } }),
    apply(`${MAPS}/dying`, map('dying', { data: { a: '1' } })),
  );
  assert.deepEqual(ownersOf(applied.body)['before-first-apply/Update'], {
    'f:metadata': {
      'f:deletionGracePeriodSeconds': {},
      'f:deletionTimestamp': {},
      'f:finalizers': { '.': {}, 'v:"a.b/c"': {} },
    },
  });
  await answer(patch('merge', `${MAPS}/dying`, { metadata: { finalizers: null } }));
});
