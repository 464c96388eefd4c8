import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { nodes, pods, secrets, serviceAccounts } from '../../api/kinds.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { createMemoryReader } from '../testing/memory-reader.ts';
import { createServiceAccountTokens, ISSUER, type ServiceAccountClaims } from './service-account-token.ts';
import { createTokenSigner } from './token-signer.ts';

const newSigner = () => createTokenSigner(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
const signer = newSigner();

/** An account with a pod, a secret and a node, and claims that are right for all of them. */
function world() {
  const clock = new VirtualClock();
  const reader = createMemoryReader();
  const namespaced = (name: string) => ({ metadata: { name, namespace: 'app' } });
  const objects = {
    serviceaccount: reader.put(serviceAccounts, namespaced('worker')),
    pod: reader.put(pods, { ...namespaced('p'), spec: { containers: [] } }),
    secret: reader.put(secrets, namespaced('s')),
    node: reader.put(nodes, { metadata: { name: 'n' } }),
  };
  const reference = (kind: keyof typeof objects) => {
    const { name, uid } = objects[kind].metadata;
    return { name, uid };
  };
  const nowSeconds = clock.now() / 1000;
  const claims = {
    aud: [ISSUER],
    exp: nowSeconds + 100,
    iat: nowSeconds,
    nbf: nowSeconds,
    iss: ISSUER,
    jti: 'id',
    sub: 'sub',
  };
  const bound = { namespace: 'app', serviceaccount: reference('serviceaccount') };
  const tokens = createServiceAccountTokens({ signer, reader, clock });
  const check = (change: object = {}, more: object = {}, audiences?: string[]) =>
    tokens.check(signer.sign({ ...claims, 'kubernetes.io': { ...bound, ...more }, ...change }), audiences);
  return { clock, reader, tokens, check, reference, objects, nowSeconds, claims };
}

const problemOf = (verdict: object): string | undefined => (verdict as { problem?: string }).problem;

test('[SEC-2] a token gives the account, its groups, and what it is bound to', () => {
  const { check, reference, objects } = world();
  const { uid } = objects.serviceaccount.metadata;
  const name = 'system:serviceaccount:app:worker';
  const groups = ['system:serviceaccounts', 'system:serviceaccounts:app'];
  const credential = { 'authentication.kubernetes.io/credential-id': ['JTI=id'] };
  assert.deepEqual(check(), { user: { name, uid, groups, extra: credential }, audiences: [ISSUER] });
  const bound = check({}, { pod: reference('pod'), node: { name: 'n' }, secret: reference('secret') });
  assert.deepEqual((bound as { user: { extra: object } }).user.extra, {
    ...credential,
    'authentication.kubernetes.io/pod-name': ['p'],
    'authentication.kubernetes.io/pod-uid': [objects.pod.metadata.uid],
    'authentication.kubernetes.io/node-name': ['n'],
  });
});

test('[SEC-2] a token is valid from its beginning, with a minute for clocks, to its end', () => {
  const { check, nowSeconds } = world();
  assert.equal(problemOf(check({ exp: nowSeconds + 1 })), undefined);
  assert.match(problemOf(check({ exp: nowSeconds })) ?? '', /expired/);
  assert.equal(problemOf(check({ nbf: nowSeconds + 60 })), undefined);
  assert.match(problemOf(check({ nbf: nowSeconds + 61 })) ?? '', /not valid yet/);
});

test('[SEC-2] a token is valid for the audiences that both sides name', () => {
  const { check } = world();
  const audiences = (verdict: object) => (verdict as { audiences?: string[] }).audiences;
  assert.deepEqual(audiences(check({ aud: ['a', 'b', 'c'] }, {}, ['c', 'b', 'x'])), ['b', 'c']);
  assert.deepEqual(audiences(check({ aud: ['api', 'x'] })), ['api']);
  assert.match(problemOf(check({ aud: ['a', 'b'] }, {}, ['c'])) ?? '', /for audience a, b/);
});

const odd: { name: string; change: object }[] = [
  { name: 'another issuer', change: { iss: 'other' } },
  { name: 'an audience that is no list', change: { aud: ISSUER } },
  { name: 'no end', change: { exp: undefined } },
  { name: 'no beginning', change: { nbf: '0' } },
  { name: 'nothing about Kubernetes', change: { 'kubernetes.io': undefined } },
  { name: 'no namespace', change: { 'kubernetes.io': { serviceaccount: { name: 'worker' } } } },
  { name: 'no account', change: { 'kubernetes.io': { namespace: 'app' } } },
  {
    name: 'an account without a name',
    change: { 'kubernetes.io': { namespace: 'app', serviceaccount: {} } },
  },
  { name: 'null as its account', change: { 'kubernetes.io': { namespace: 'app', serviceaccount: null } } },
];
for (const { name, change } of odd) {
  test(`[SEC-2] a signed token with ${name} is none of ours`, () => {
    assert.match(problemOf(world().check(change)) ?? '', /not issued by this server/);
  });
}

test('[SEC-2] only tokens with our signature and our algorithm are ours', () => {
  const { tokens, check } = world();
  const claims = { iss: ISSUER } as Partial<ServiceAccountClaims>;
  const [head = '', body = '', signature = ''] = signer.sign(claims).split('.');
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const { kid } = signer.publicJwk;
  const others = [
    newSigner().sign(claims),
    `${head}.${encoded({ iss: 'other' })}.${signature}`,
    `${encoded({ alg: 'none', kid })}.${body}.${signature}`,
    `${encoded({ alg: 'ES256', kid: 'other' })}.${body}.${signature}`,
    `${encoded(['ES256'])}.${body}.${signature}`,
    `${encoded(null)}.${body}.${signature}`,
    `x.${body}.${signature}`,
    `${head}.${body}`,
    `${head}.${body}.${signature}.more`,
    '',
  ];
  for (const token of others) {
    assert.equal(signer.verify(token), undefined);
    assert.match(problemOf(tokens.check(token)) ?? '', /not issued/);
  }
  assert.deepEqual(signer.verify(signer.sign(claims)), claims);
  for (const value of [null, [], 'text', 5])
    assert.equal(signer.verify(signer.sign(value as never)), undefined);
  assert.equal(problemOf(check()), undefined);
});

for (const kind of ['serviceaccount', 'pod', 'secret', 'node'] as const) {
  test(`[SEC-2] a token ends with its ${kind}, a minute after that is deleted`, () => {
    const { check, clock, reader, reference, objects } = world();
    const resource = { serviceaccount: serviceAccounts, pod: pods, secret: secrets, node: nodes }[kind];
    const asked = (change: object = {}) =>
      problemOf(check({}, { [kind]: { ...reference(kind), ...change } }));
    assert.equal(asked(), undefined);
    assert.match(asked({ uid: 'another' }) ?? '', /is gone/);
    assert.match(asked({ name: 'none' }) ?? '', /is gone/);
    const deletedBefore = (ms: number) => {
      const deletionTimestamp = new Date(clock.now() - ms).toISOString();
      const { metadata } = objects[kind];
      reader.put(
        resource as typeof secrets,
        { ...objects[kind], metadata: { ...metadata, deletionTimestamp } } as never,
      );
    };
    deletedBefore(60_000);
    assert.equal(asked(), undefined);
    deletedBefore(60_001);
    assert.match(asked() ?? '', /is gone/);
  });
}

test('[SEC-2] the node of a pod’s token may be gone', () => {
  const { check, reference } = world();
  assert.equal(problemOf(check({}, { pod: reference('pod'), node: { name: 'none', uid: 'x' } })), undefined);
});

test('[SEC-2] a token that was seen is checked again, also after many others', async () => {
  const { check, tokens, clock, claims, reference } = world();
  const bound = { namespace: 'app', serviceaccount: reference('serviceaccount') };
  const token = signer.sign({ ...claims, 'kubernetes.io': bound });
  assert.equal(problemOf(tokens.check(token)), undefined);
  for (let index = 0; index < 2100; index++) check({ jti: `${index}` });
  assert.equal(problemOf(tokens.check(token)), undefined);
  await clock.advance(101_000);
  assert.match(problemOf(tokens.check(token)) ?? '', /expired/);
});
