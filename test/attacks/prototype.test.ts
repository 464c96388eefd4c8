// Names that every JavaScript object inherits, wherever a client can put a name.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  APPLY_PATCH,
  attackedServer,
  configMap,
  JSON_PATCH,
  MAPS,
  MERGE_PATCH,
  STRATEGIC_PATCH,
} from './attacked-server.ts';

const INHERITED = ['toString', 'constructor', 'hasOwnProperty', 'valueOf', '__proto__'];

test('[DOOR-4] a JSON patch cannot give an object labels through its prototype', async (t) => {
  const { asAdmin: call } = await attackedServer(t);
  await call('POST', '/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n', labels: { a: 'b' } },
  });
  for (const path of [
    '/metadata/labels/__proto__',
    '/metadata/__proto__',
    '/__proto__',
    '/spec/__proto__/x',
  ]) {
    const value = { 'node-role.kubernetes.io/control-plane': 'true' };
    for (const op of ['add', 'replace', 'remove']) {
      const { code } = await call('PATCH', '/api/v1/nodes/n', [{ op, path, value }], JSON_PATCH);
      assert.equal(code, 400, `${op} ${path}`);
    }
    for (const op of ['move', 'copy']) {
      const operation = { op, from: path, path: '/metadata/annotations' };
      assert.equal(
        (await call('PATCH', '/api/v1/nodes/n', [operation], JSON_PATCH)).code,
        400,
        `${op} ${path}`,
      );
    }
  }
  const found = await call('GET', '/api/v1/nodes?labelSelector=node-role.kubernetes.io/control-plane');
  assert.deepEqual(found.body.items, []);
});

test('[DOOR-4] selectors see no inherited names', async (t) => {
  const { asAdmin: call } = await attackedServer(t);
  await call('POST', MAPS, configMap('plain'));
  await call('POST', MAPS, {
    ...configMap('labelled'),
    metadata: { name: 'labelled', labels: { constructor: 'x', toString: 'y' } },
  });
  const names = async (query: string): Promise<string[]> => {
    const { code, body } = await call('GET', `${MAPS}?${query}`);
    assert.equal(code, 200, query);
    return body.items.map((each: { metadata: { name: string } }) => each.metadata.name);
  };
  assert.deepEqual(await names('labelSelector=toString'), ['labelled']);
  assert.deepEqual(await names('labelSelector=constructor=x'), ['labelled']);
  assert.deepEqual(await names('labelSelector=valueOf'), []);
  assert.equal((await call('GET', `${MAPS}?fieldSelector=constructor%3Dx`)).code, 400);
  assert.equal((await call('GET', `${MAPS}?fieldSelector=__proto__%3Dx`)).code, 400);
});

test('[DOOR-4] maps may have inherited names as keys, through every kind of write, and keep them', async (t) => {
  const { asAdmin: call } = await attackedServer(t);
  const names = INHERITED.filter((name) => name !== '__proto__');
  for (const name of names) {
    const at = `${MAPS}/${name.toLowerCase()}`;
    const created = await call('POST', MAPS, configMap(name.toLowerCase(), { [name]: '1', other: 'x' }));
    assert.deepEqual([created.code, created.body.data], [201, { [name]: '1', other: 'x' }], name);
    const removed = await call('PATCH', at, [{ op: 'remove', path: `/data/${name}` }], JSON_PATCH);
    assert.deepEqual(removed.body.data, { other: 'x' }, name);
    for (const [type, patch] of [
      [JSON_PATCH, [{ op: 'add', path: `/data/${name}`, value: '2' }]],
      [MERGE_PATCH, { data: { [name]: '3' } }],
      [STRATEGIC_PATCH, { data: { [name]: '4' } }],
    ] as const) {
      // Without the name again, so that each patch meets an object that does not have it.
      await call('PUT', at, configMap(name.toLowerCase(), { other: 'x' }));
      const patched = await call('PATCH', at, patch, type);
      assert.equal(patched.code, 200, `${name} ${type}: ${patched.message}`);
      assert.deepEqual(Object.keys(patched.body.data).sort(), [name, 'other'].sort(), `${name} ${type}`);
      assert.deepEqual((await call('GET', at)).body.data, patched.body.data, `${name} ${type}`);
    }
    const applied = await call(
      'PATCH',
      `${at}?fieldManager=m&force=true`,
      configMap(name.toLowerCase(), { [name]: '5' }),
      APPLY_PATCH,
    );
    assert.deepEqual([applied.code, applied.body.data], [200, { [name]: '5', other: 'x' }], name);
    const abandoned = await call(
      'PATCH',
      `${at}?fieldManager=m&force=true`,
      configMap(name.toLowerCase(), {}),
      APPLY_PATCH,
    );
    assert.deepEqual(abandoned.body.data, { other: 'x' }, name);
  }
});

test('[DOOR-4] a value with a toString of its own is refused, not called', async (t) => {
  const { asAdmin: call } = await attackedServer(t);
  await call('POST', MAPS, configMap('m'));
  const odd = { toString: 1, valueOf: 2 };
  const requests: [Parameters<typeof call>[0], string, object, string?][] = [
    ['POST', MAPS, { ...configMap('n'), kind: odd }],
    ['POST', MAPS, { ...configMap('n'), apiVersion: odd }],
    ['DELETE', `${MAPS}/m`, { kind: odd }],
    ['DELETE', `${MAPS}/m`, { propagationPolicy: odd }],
    ['PATCH', `${MAPS}/m?fieldManager=m`, { ...configMap('m'), kind: odd }, APPLY_PATCH],
    ['PATCH', `${MAPS}/m`, { data: { $patch: odd } }, STRATEGIC_PATCH],
  ];
  for (const [method, path, body, type] of requests) {
    const { code } = await call(method, path, body, type);
    assert.ok(code === 400 || code === 422, `${method} ${JSON.stringify(body)}: ${code}`);
  }
});

test('[DOOR-4] the paths that a CRD names reach no prototype', async (t) => {
  const { asAdmin: call } = await attackedServer(t);
  await call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.attack.example.com' },
    spec: {
      group: 'attack.example.com',
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          subresources: {
            status: {},
            scale: { specReplicasPath: '.spec.__proto__.polluted', statusReplicasPath: '.status.replicas' },
          },
          additionalPrinterColumns: [{ name: 'C', type: 'string', jsonPath: '.spec.constructor.name' }],
        },
      ],
    },
  });
  const things = '/apis/attack.example.com/v1/namespaces/default/things';
  await call('POST', things, {
    apiVersion: 'attack.example.com/v1',
    kind: 'Thing',
    metadata: { name: 't' },
    spec: {},
  });
  const { body } = await call('GET', `${things}/t/scale`);
  await call('PUT', `${things}/t/scale`, { ...body, spec: { replicas: 7 } });
  assert.equal(({} as { polluted?: number }).polluted, undefined);
  assert.equal((await call('GET', MAPS)).code, 200);
});
