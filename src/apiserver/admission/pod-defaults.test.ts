import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  configMaps,
  namespaces,
  type Pod,
  type PriorityClass,
  pods,
  priorityClasses,
  type RuntimeClass,
  runtimeClasses,
  type Service,
  services,
} from '../../api/kinds.ts';
import type { Draft } from '../../api/object.ts';
import type { ApiServer } from '../api-server.ts';
import { draft, testServer } from '../testing/test-server.ts';

const pod = (name: string, spec: object = {}): Draft<Pod> =>
  draft<Pod>({
    metadata: { namespace: 'default', name },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
  });
const service = (name: string, spec: object): Draft<Service> =>
  draft<Service>({ metadata: { namespace: 'default', name }, spec });
const ports = [{ port: 80 }];

/** Resolves when a namespace has this CA. */
function caPublished({ reader, pki }: ApiServer, namespace: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = () => {
    const found = reader.get(configMaps, { namespace, name: 'kube-root-ca.crt' });
    if (found?.data?.['ca.crt'] === pki.caPem) resolve();
  };
  const unsubscribe = reader.subscribe(configMaps, look);
  look();
  return promise.finally(unsubscribe);
}

suite('what a new pod is given', () => {
  test('[REAL-1] a pod gets token, CA and namespace where in-cluster clients look for them', async (t) => {
    const server = await testServer(t);
    const client = server.client(server.adminUser);
    const { spec } = await client.create(pods, pod('a', { initContainers: [{ name: 'i', image: 'i' }] }));
    const volume = spec.volumes?.find(({ name }) => name.startsWith('kube-api-access-'));
    assert.deepEqual(
      volume?.projected?.sources?.map((source) => Object.keys(source)[0]),
      ['serviceAccountToken', 'configMap', 'downwardAPI'],
    );
    for (const { volumeMounts } of [...spec.containers, ...(spec.initContainers ?? [])]) {
      assert.deepEqual(volumeMounts, [
        {
          name: volume?.name,
          mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
          readOnly: true,
        },
      ]);
    }
    const none = await client.create(pods, pod('b', { automountServiceAccountToken: false }));
    assert.equal(none.spec.volumes, undefined);
  });

  test("[REAL-1] every namespace has the ConfigMap with the server's CA, which is restored when deleted", async (t) => {
    const server = await testServer(t);
    const client = server.client(server.adminUser);
    await caPublished(server, 'default');
    await client.create(namespaces, draft({ metadata: { name: 'later' } }));
    await caPublished(server, 'later');
    await client.delete(configMaps, { namespace: 'later', name: 'kube-root-ca.crt' });
    await caPublished(server, 'later');
    const name = { namespace: 'default', name: 'kube-root-ca.crt' };
    await client.patch(configMaps, name, { data: { 'ca.crt': 'another' } }, { type: 'merge' });
    await caPublished(server, 'default');
  });

  test('[REAL-1] priority from its class, tolerations for failing nodes, overhead from its runtime', async (t) => {
    const server = await testServer(t);
    const client = server.client(server.adminUser);
    const { spec } = await client.create(pods, pod('plain'));
    assert.deepEqual([spec.priority, spec.preemptionPolicy], [0, 'PreemptLowerPriority']);
    assert.deepEqual(
      spec.tolerations?.map(({ key, tolerationSeconds }) => [key, tolerationSeconds]),
      [
        ['node.kubernetes.io/not-ready', 300],
        ['node.kubernetes.io/unreachable', 300],
      ],
    );
    const critical = await client.create(
      pods,
      pod('critical', { priorityClassName: 'system-node-critical' }),
    );
    assert.equal(critical.spec.priority, 2_000_001_000);
    await client.create(
      priorityClasses,
      draft<PriorityClass>({ metadata: { name: 'usual' }, value: 7, globalDefault: true }),
    );
    const usual = await client.create(pods, pod('usual'));
    assert.deepEqual([usual.spec.priorityClassName, usual.spec.priority], ['usual', 7]);
    await client.create(
      runtimeClasses,
      draft<RuntimeClass>({
        metadata: { name: 'heavy' },
        handler: 'runc',
        overhead: { podFixed: { memory: '10Mi' } },
        scheduling: { nodeSelector: { heavy: 'yes' } },
      }),
    );
    const heavy = await client.create(pods, pod('heavy', { runtimeClassName: 'heavy' }));
    assert.deepEqual(heavy.spec.overhead, { memory: '10Mi' });
    assert.deepEqual(heavy.spec.nodeSelector, { heavy: 'yes' });
    const tolerant = await client.create(pods, pod('tolerant', { tolerations: [{ operator: 'Exists' }] }));
    assert.equal(tolerant.spec.tolerations?.length, 1);
  });

  const refusals: [string, object, RegExp][] = [
    ['an unknown priority class', { priorityClassName: 'none' }, /no PriorityClass with name none was found/],
    ['a priority of its own', { priority: 5 }, /integer value of priority \(5\) must not be provided/],
    ['an unknown runtime class', { runtimeClassName: 'none' }, /RuntimeClass "none" not found/],
    ['an overhead without a class', { overhead: { memory: '1Mi' } }, /Overhead does not match/],
  ];
  for (const [name, spec, message] of refusals) {
    test(`[REAL-1] ${name} is refused`, async (t) => {
      const server = await testServer(t);
      const created = server.client(server.adminUser).create(pods, pod('a', spec));
      await assert.rejects(created, { reason: 'Forbidden', message });
    });
  }
});

test('[REAL-1] there is one default priority class', async (t) => {
  const server = await testServer(t);
  const client = server.client(server.adminUser);
  const named = (name: string) => draft<PriorityClass>({ metadata: { name }, value: 1, globalDefault: true });
  await client.create(priorityClasses, named('one'));
  await assert.rejects(client.create(priorityClasses, named('two')), {
    message: /PriorityClass one is already marked as default/,
  });
});

suite('[REAL-1] services', () => {
  test('get a clusterIP that does not change', async (t) => {
    const server = await testServer(t);
    const client = server.client(server.adminUser);
    const first = await client.create(services, service('a', { ports }));
    const second = await client.create(services, service('b', { ports }));
    assert.deepEqual([first.spec?.clusterIP, second.spec?.clusterIP], ['10.96.0.2', '10.96.0.3']);
    assert.deepEqual(first.spec?.ports, [{ port: 80, targetPort: 80, protocol: 'TCP' }]);
    const changed = await client.update(services, service('a', { ports: [{ port: 81 }] }));
    assert.equal(changed.spec?.clusterIP, '10.96.0.2');
    await assert.rejects(client.update(services, service('a', { ports, clusterIP: '10.96.0.9' })), {
      reason: 'Invalid',
    });
    await client.delete(services, { namespace: 'default', name: 'a' });
    const third = await client.create(services, service('c', { ports }));
    assert.equal(third.spec?.clusterIP, '10.96.0.2');
    const headless = await client.create(services, service('d', { clusterIP: 'None' }));
    assert.deepEqual(headless.spec?.clusterIPs, ['None']);
  });

  const refusals: [string, object, RegExp][] = [
    ['no ports', {}, /spec.ports: Required value/],
    ['a port out of range', { ports: [{ port: 70_000 }] }, /must be between 1 and 65535/],
    ['ports without names', { ports: [{ port: 1 }, { port: 2 }] }, /spec.ports\[0\].name: Required value/],
    ['an unknown type', { ports, type: 'Magic' }, /spec.type: Unsupported value: "Magic"/],
    ['an address that is none', { ports, clusterIP: 'x' }, /must be a valid IP address/],
    ['no external name', { type: 'ExternalName' }, /spec.externalName: Required value/],
  ];
  for (const [name, spec, message] of refusals) {
    test(`${name}: rejected`, async (t) => {
      const server = await testServer(t);
      const created = server.client(server.adminUser).create(services, service('a', spec));
      await assert.rejects(created, { reason: 'Invalid', message });
    });
  }
});
