import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type CSIDriver, namespaces, type Pod, pods, serviceAccounts } from '../../api/kinds.ts';
import { draft, testServer } from '../../apiserver/testing/test-server.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { createServiceAccountTokens } from './service-account-tokens.ts';

const HOUR_MS = 3_600_000;
const signal = new AbortController().signal;

interface TokenRequest {
  spec: { audiences: string[]; expirationSeconds?: number; boundObjectRef: { name: string; uid: string } };
}

/** Tokens of a real API server; what was asked for, and a clock that can be put forward. */
async function start(t: TestContext) {
  const server = await testServer(t);
  const kube = server.client(server.adminUser);
  await kube.create(namespaces, draft({ metadata: { name: 'default' } })).catch(() => {});
  const asked: { account: string; namespace: string | undefined; spec: TokenRequest['spec'] }[] = [];
  const createSubresource: KubeClient['createSubresource'] = (resource, name, subresource, body, options) => {
    asked.push({ account: name.name, namespace: name.namespace, spec: (body as TokenRequest).spec });
    return kube.createSubresource(resource, name, subresource, body, options);
  };
  let offsetMs = 0;
  const tokens = createServiceAccountTokens({
    kube: { createSubresource },
    clock: { now: () => realClock.now() + offsetMs },
  });
  const pod = async (name: string, serviceAccountName?: string): Promise<Pod> => {
    const account = { metadata: { name: serviceAccountName ?? 'default', namespace: 'default' } };
    await kube.create(serviceAccounts, draft(account)).catch(() => {});
    const made = await kube.create(
      pods,
      draft<Pod>({
        metadata: { name, namespace: 'default' },
        spec: { ...(serviceAccountName && { serviceAccountName }), containers: [{ name: 'c', image: 'i' }] },
      }),
    );
    // As an API server stores it that does not fill in the account.
    const { serviceAccountName: _, ...spec } = made.spec;
    return serviceAccountName ? made : { ...made, spec };
  };
  const ask = async (of: Pod, ...tokenRequests: { audience: string; expirationSeconds?: number }[]) => {
    const driver = { metadata: {}, spec: { tokenRequests } } as unknown as CSIDriver;
    return (await tokens.forPod(of, driver, signal))?.reveal();
  };
  const putForward = (ms: number) => {
    offsetMs += ms;
  };
  return { tokens, pod, ask, asked, putForward };
}

test('a driver that asks for no token gets none', async (t) => {
  const { tokens, pod, ask, asked } = await start(t);
  const of = await pod('p');
  assert.equal(await tokens.forPod(of, undefined, signal), undefined);
  const silent = { metadata: {}, spec: {} } as unknown as CSIDriver;
  assert.equal(await tokens.forPod(of, silent, signal), undefined);
  assert.equal(await ask(of), undefined);
  assert.deepEqual(asked, []);
});

test('tokens are of the pod’s service account, bound to the pod, one per audience', async (t) => {
  const { pod, ask, asked } = await start(t);
  const of = await pod('p', 'sa');
  const text = await ask(of, { audience: 'vault', expirationSeconds: 3600 }, { audience: '' });
  const found: Record<string, { token: string; expirationTimestamp: string }> = JSON.parse(text ?? '{}');
  assert.deepEqual(Object.keys(found), ['vault', '']);
  for (const { token, expirationTimestamp } of Object.values(found)) {
    assert.ok(token.length > 20);
    assert.ok(Date.parse(expirationTimestamp) > realClock.now());
  }
  const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: of.metadata.uid };
  const common = { account: 'sa', namespace: 'default' };
  assert.deepEqual(asked, [
    { ...common, spec: { audiences: ['vault'], expirationSeconds: 3600, boundObjectRef } },
    { ...common, spec: { audiences: [], boundObjectRef } },
  ]);
});

test('a pod that names no account has the default one', async (t) => {
  const { pod, ask, asked } = await start(t);
  await ask(await pod('p'), { audience: 'vault' });
  assert.equal(asked[0]?.account, 'default');
});

test('a token is renewed when a fifth of its lifetime is left', async (t) => {
  const { pod, ask, asked, putForward } = await start(t);
  const of = await pod('p', 'sa');
  const request = { audience: 'vault', expirationSeconds: 3600 };
  const first = await ask(of, request);
  putForward(0.75 * HOUR_MS);
  assert.equal(await ask(of, request), first);
  assert.equal(asked.length, 1);
  putForward(0.1 * HOUR_MS);
  await ask(of, request);
  assert.equal(asked.length, 2);
});

test('tokens are cached per audience, lifetime and pod; a deleted pod drops only its own', async (t) => {
  const { tokens, pod, ask, asked } = await start(t);
  const one = await pod('one', 'sa');
  const two = await pod('two', 'sa');
  const vault = { audience: 'vault' };
  await ask(one, vault);
  await ask(one, { audience: 'other' });
  await ask(one, { audience: 'vault', expirationSeconds: 7200 });
  await ask(two, vault);
  assert.equal(asked.length, 4);
  tokens.forget(one.metadata.uid);
  await ask(two, vault);
  assert.equal(asked.length, 4, 'kept');
  await ask(one, vault);
  assert.equal(asked.length, 5, 'forgotten');
});
