import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { beforeEach, suite, test } from 'node:test';
import type { Pod, ServiceAccount } from '../../api/kinds.ts';
import { nodes, pods, secrets, serviceAccounts } from '../../api/kinds.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import type { Authorizer, User } from '../pipeline.ts';
import { createMemoryReader, type MemoryReader } from '../testing/memory-reader.ts';
import { type Authenticator, createAuthenticator } from './authenticator.ts';
import { impersonate } from './impersonation.ts';
import { createPki, type Pki } from './pki.ts';
import { issueServiceAccountToken, type TokenRequest } from './token-request.ts';

const DAY_MS = 86_400_000;
let clock: VirtualClock;
let pki: Pki;
let reader: MemoryReader;
let authenticator: Authenticator;
let account: ServiceAccount;
let pod: Pod;
let ids = 0;

beforeEach(async () => {
  clock = new VirtualClock();
  pki = await createPki({ clock });
  reader = createMemoryReader();
  account = reader.put(serviceAccounts, { metadata: { name: 'worker', namespace: 'app' } });
  reader.put(nodes, { metadata: { name: 'n1' } });
  pod = reader.put(pods, {
    metadata: { name: 'p', namespace: 'app' },
    spec: { containers: [], serviceAccountName: 'worker', nodeName: 'n1' },
  });
  const staticTokens = new Map<string, User>([['letmein', { name: 'boss', groups: ['system:masters'] }]]);
  authenticator = createAuthenticator({ pki, reader, clock, staticTokens });
});

const issue = (request: TokenRequest = {}) =>
  issueServiceAccountToken(
    { signer: pki.serviceAccountKey, reader, clock, random: { uuid: () => `jti-${ids++}` } },
    { namespace: 'app', name: 'worker' },
    request,
  );
const bearer = (token: string) => authenticator.authenticate({ authorizationHeader: `Bearer ${token}` });
const certificateOf = (pem: string) => ({ peerCertificate: { raw: new X509Certificate(pem).raw } });

function userOf(result: ReturnType<Authenticator['authenticate']>): User {
  if ('error' in result) throw result.error;
  return result.user;
}
function refused(result: ReturnType<Authenticator['authenticate']>, pattern: RegExp): void {
  assert.ok('error' in result, 'was let in');
  assert.equal(result.error.code, 401);
  assert.match(result.error.message, pattern);
}

suite('credentials', () => {
  test('a request without credentials is anonymous', () => {
    const anonymous = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
    assert.deepEqual(userOf(authenticator.authenticate({})), anonymous);
    assert.deepEqual(userOf(authenticator.authenticate({ peerCertificate: {} })), anonymous);
  });

  test('a client certificate gives the user by its common name and the groups by its organizations', () => {
    const { certificatePem } = pki.issueClientCertificate({
      commonName: 'system:node:n1',
      organizations: ['system:nodes'],
    });
    assert.deepEqual(userOf(authenticator.authenticate(certificateOf(certificatePem))), {
      name: 'system:node:n1',
      groups: ['system:nodes', 'system:authenticated'],
    });
  });

  test('certificates of another CA, expired ones and server certificates are rejected', async () => {
    const foreign = await createPki({ clock });
    const { certificatePem } = foreign.issueClientCertificate({
      commonName: 'kubernetes-admin',
      organizations: ['system:masters'],
    });
    refused(authenticator.authenticate(certificateOf(certificatePem)), /not one of this server's/);
    refused(
      authenticator.authenticate(certificateOf((await pki.serving()).certificatePem)),
      /not one of this server's/,
    );
    refused(authenticator.authenticate(certificateOf(pki.caPem)), /not one of this server's/);
    const short = pki.issueClientCertificate({ commonName: 'jane', days: 1 });
    assert.equal(userOf(authenticator.authenticate(certificateOf(short.certificatePem))).name, 'jane');
    await clock.advance(2 * DAY_MS);
    refused(authenticator.authenticate(certificateOf(short.certificatePem)), /expired/);
  });

  test('static tokens, and malformed Authorization headers', () => {
    assert.deepEqual(userOf(bearer('letmein')), {
      name: 'boss',
      groups: ['system:masters', 'system:authenticated'],
    });
    refused(bearer('letmeout'), /not issued by this server/);
    refused(authenticator.authenticate({ authorizationHeader: 'Basic Zm9vOmJhcg==' }), /Bearer/);
  });
});

suite('service account tokens', () => {
  test('name the account, its groups, its pod and node', () => {
    const { status } = issue({
      spec: { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'p', uid: pod.metadata.uid } },
    });
    const user = userOf(bearer(status?.token ?? ''));
    assert.equal(user.name, 'system:serviceaccount:app:worker');
    assert.equal(user.uid, account.metadata.uid);
    assert.deepEqual(user.groups, [
      'system:serviceaccounts',
      'system:serviceaccounts:app',
      'system:authenticated',
    ]);
    assert.deepEqual(user.extra?.['authentication.kubernetes.io/pod-name'], ['p']);
    assert.deepEqual(user.extra?.['authentication.kubernetes.io/node-name'], ['n1']);
  });

  test('expire', async () => {
    const { status } = issue({ spec: { expirationSeconds: 600 } });
    assert.equal(Date.parse(status?.expirationTimestamp ?? ''), clock.now() + 600_000);
    userOf(bearer(status?.token ?? ''));
    await clock.advance(600_000);
    refused(bearer(status?.token ?? ''), /expired/);
  });

  test('are valid for their audience only', () => {
    const token = issue({ spec: { audiences: ['vault'] } }).status?.token ?? '';
    refused(bearer(token), /audience vault/);
    assert.ok('user' in authenticator.checkToken(token, ['vault', 'other']));
    assert.ok('problem' in authenticator.checkToken(token, ['other']));
  });

  const bindings: [what: string, kind: string, name: string, remove: () => void][] = [
    ['its pod is gone', 'Pod', 'p', () => reader.remove(pods, { namespace: 'app', name: 'p' })],
    [
      'its pod was replaced',
      'Pod',
      'p',
      () => {
        reader.remove(pods, { namespace: 'app', name: 'p' });
        reader.put(pods, { metadata: { name: 'p', namespace: 'app' }, spec: pod.spec });
      },
    ],
    ['its secret is gone', 'Secret', 's', () => reader.remove(secrets, { namespace: 'app', name: 's' })],
    ['its node is gone', 'Node', 'n1', () => reader.remove(nodes, { name: 'n1' })],
    [
      'its account is gone',
      'Pod',
      'p',
      () => reader.remove(serviceAccounts, { namespace: 'app', name: 'worker' }),
    ],
    [
      'its account was replaced',
      'Pod',
      'p',
      () => {
        reader.remove(serviceAccounts, { namespace: 'app', name: 'worker' });
        reader.put(serviceAccounts, { metadata: { name: 'worker', namespace: 'app' } });
      },
    ],
  ];
  for (const [what, kind, name, remove] of bindings) {
    test(`are rejected once ${what}`, () => {
      reader.put(secrets, { metadata: { name: 's', namespace: 'app' } });
      const { status } = issue({ spec: { boundObjectRef: { kind, apiVersion: 'v1', name } } });
      userOf(bearer(status?.token ?? ''));
      remove();
      refused(bearer(status?.token ?? ''), /is gone/);
    });
  }

  const bad: [what: string, request: TokenRequest, code: number, pattern: RegExp][] = [
    ['a life under ten minutes', { spec: { expirationSeconds: 599 } }, 422, /less than 10 minutes/],
    ['a pod that is not there', { spec: { boundObjectRef: { kind: 'Pod', name: 'x' } } }, 404, /not found/],
    [
      'a pod with another uid',
      { spec: { boundObjectRef: { kind: 'Pod', name: 'p', uid: 'x' } } },
      409,
      /UID/,
    ],
    [
      'a kind that cannot be bound',
      { spec: { boundObjectRef: { kind: 'Deployment', name: 'x' } } },
      400,
      /Deployment/,
    ],
  ];
  for (const [what, request, code, pattern] of bad) {
    test(`are not issued for ${what}`, () => {
      assert.throws(
        () => issue(request),
        (error) => error instanceof KubeError && error.code === code && pattern.test(error.message),
      );
    });
  }

  test('are not bound to a pod of another account', () => {
    reader.put(pods, {
      metadata: { name: 'o', namespace: 'app' },
      spec: { containers: [], serviceAccountName: 'other' },
    });
    assert.throws(
      () => issue({ spec: { boundObjectRef: { kind: 'Pod', name: 'o' } } }),
      /different serviceaccount/,
    );
  });
});

suite('impersonation', () => {
  const user: User = { name: 'boss', groups: ['system:masters'] };
  const only = (...allowed: string[]): Authorizer => ({
    authorize: ({ plural, subresource, name }) => ({
      decision: allowed.includes(`${plural}${subresource ? `/${subresource}` : ''} ${name}`)
        ? 'allow'
        : 'no-opinion',
    }),
  });

  const table: [
    what: string,
    headers: Record<string, string[]>,
    allowed: string[],
    expected: User | number,
  ][] = [
    ['no headers', {}, [], user],
    [
      'a user',
      { 'impersonate-user': ['jane'] },
      ['users jane'],
      { name: 'jane', groups: ['system:authenticated'] },
    ],
    ['a user without the right', { 'impersonate-user': ['jane'] }, ['users bob'], 403],
    [
      'a user with groups',
      { 'impersonate-user': ['jane'], 'impersonate-group': ['a', 'b'] },
      ['users jane', 'groups a', 'groups b'],
      { name: 'jane', groups: ['a', 'b', 'system:authenticated'] },
    ],
    [
      'a group without the right',
      { 'impersonate-user': ['jane'], 'impersonate-group': ['system:masters'] },
      ['users jane'],
      403,
    ],
    [
      'a service account',
      { 'impersonate-user': ['system:serviceaccount:app:worker'] },
      ['serviceaccounts worker'],
      {
        name: 'system:serviceaccount:app:worker',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:app', 'system:authenticated'],
      },
    ],
    [
      'uid and extra',
      { 'impersonate-user': ['jane'], 'impersonate-uid': ['u1'], 'impersonate-extra-scopes%2fx': ['v'] },
      ['users jane', 'uids u1', 'userextras/scopes/x v'],
      { name: 'jane', groups: ['system:authenticated'], uid: 'u1', extra: { 'scopes/x': ['v'] } },
    ],
    [
      'the anonymous user',
      { 'impersonate-user': ['system:anonymous'] },
      ['users system:anonymous'],
      { name: 'system:anonymous', groups: ['system:unauthenticated'] },
    ],
    ['groups without a user', { 'impersonate-group': ['a'] }, ['groups a'], 400],
  ];
  for (const [what, headers, allowed, expected] of table) {
    test(what, () => {
      const act = () => impersonate({ user, headers, authorizer: only(...allowed) });
      if (typeof expected === 'number')
        assert.throws(act, (error) => error instanceof KubeError && error.code === expected);
      else assert.deepEqual(act(), expected);
    });
  }
});
