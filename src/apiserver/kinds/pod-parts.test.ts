import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Pod, pods } from '../../api/kinds.ts';
import { draft, testServer } from '../testing/test-server.ts';

const name = { namespace: 'default', name: 'web' };
const web = draft<Pod>({
  metadata: name,
  spec: {
    containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1' }, limits: { cpu: '2' } } }],
  },
});

test('[REAL-1] kubectl debug adds a container, and nothing else', async (t) => {
  const server = await testServer(t);
  const client = server.client(server.adminUser);
  await client.create(pods, web);
  const write = (spec: object, metadata: object = {}) =>
    client.patch(pods, name, { metadata, spec }, { type: 'strategic', subresource: 'ephemeralcontainers' });
  const debugged = await write(
    { ephemeralContainers: [{ name: 'd', image: 'busybox', targetContainerName: 'c' }], nodeName: 'x' },
    { labels: { a: 'b' } },
  );
  assert.equal(debugged.spec.ephemeralContainers?.[0]?.imagePullPolicy, 'Always');
  assert.equal(debugged.spec.nodeName, undefined);
  assert.equal(debugged.metadata.labels, undefined);
  const refusals: [object, RegExp][] = [
    [{ ephemeralContainers: [{ name: 'd', image: 'other' }] }, /"d" may not be changed/],
    [{ ephemeralContainers: [{ $patch: 'delete', name: 'd' }] }, /"d" may not be removed/],
    [{ ephemeralContainers: [{ name: 'c', image: 'i' }] }, /Duplicate value: "c"/],
    [{ ephemeralContainers: [{ name: 'e' }] }, /image: Required value/],
    [{ ephemeralContainers: [{ name: 'e', image: 'i', targetContainerName: 'z' }] }, /Not found: "z"/],
    [
      { ephemeralContainers: [{ name: 'e', image: 'i', ports: [{ containerPort: 1 }] }] },
      /Ephemeral Container/,
    ],
  ];
  for (const [spec, message] of refusals) await assert.rejects(write(spec), { reason: 'Invalid', message });
  await assert.rejects(
    client.patch(
      pods,
      name,
      { spec: { ephemeralContainers: [{ name: 'e', image: 'i' }] } },
      { type: 'strategic' },
    ),
    { reason: 'Invalid' },
  );
});

test('[REAL-1] resize changes the resources of a container, and nothing else', async (t) => {
  const server = await testServer(t);
  const client = server.client(server.adminUser);
  const { metadata } = await client.create(pods, web);
  const resize = (container: object) =>
    client.patch(
      pods,
      name,
      { spec: { containers: [{ name: 'c', ...container }] } },
      { type: 'strategic', subresource: 'resize' },
    );
  const resized = await resize({ image: 'other', resources: { limits: { cpu: '3' } } });
  assert.deepEqual(resized.spec.containers[0]?.resources, { requests: { cpu: '1' }, limits: { cpu: '3' } });
  assert.equal(resized.spec.containers[0]?.image, 'i');
  assert.equal(resized.metadata.generation, (metadata.generation ?? 0) + 1);
  await assert.rejects(resize({ resources: { requests: { cpu: '4' } } }), { reason: 'Invalid' });
  await assert.rejects(resize({ resources: { $patch: 'replace' } }), { message: /QOS Class may not change/ });
});
