import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CustomResourceDefinition, customResourceDefinitions } from '../../api/kinds.ts';
import { testServer } from '../testing/test-server.ts';

const NAME = 'things.shop.example.com';

function definition(stored: string): CustomResourceDefinition {
  const schema = { openAPIV3Schema: { type: 'object' } };
  return {
    metadata: { name: NAME },
    spec: {
      group: 'shop.example.com',
      scope: 'Cluster',
      names: { plural: 'things', kind: 'Thing' },
      versions: ['v1', 'v2'].map((name) => ({ name, served: true, storage: name === stored, schema })),
    },
    // A client's status is not taken over.
    status: { storedVersions: ['v9'] },
  } as never;
}

test('the answer to a write of a definition has its storage versions, as kube-apiserver answers', async (t) => {
  const server = await testServer(t);
  const client = server.client(server.adminUser);
  const dry = await client.create(customResourceDefinitions, definition('v1'), { dryRun: true });
  assert.deepEqual(dry.status?.storedVersions, ['v1']);
  const created = await client.create(customResourceDefinitions, definition('v1'));
  assert.deepEqual(created.status?.storedVersions, ['v1']);
  assert.ok(!JSON.stringify(created.metadata.managedFields).includes('f:status'), 'the server sets it');
  const patched = await client.patch(
    customResourceDefinitions,
    { name: NAME },
    { spec: { versions: definition('v2').spec.versions } },
    { type: 'merge' },
  );
  assert.deepEqual(patched.status?.storedVersions, ['v1', 'v2']);
  // Whoever has migrated the objects takes the old version off.
  const migrated = await client.patch(
    customResourceDefinitions,
    { name: NAME },
    { status: { storedVersions: ['v2'] } },
    { type: 'merge', subresource: 'status' },
  );
  assert.deepEqual(migrated.status?.storedVersions, ['v2']);
});
