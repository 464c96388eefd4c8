import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { Attributes, User } from '../pipeline.ts';
import type { ClusterAuthorizer } from './authorizer.ts';
import { virtualResources } from './virtual-resources.ts';

const jane: User = { name: 'jane', groups: ['g'] };

/** Posts a review to resources whose authorizer and authenticator answer as given. */
function post(
  kind: string,
  spec: object | undefined,
  given: {
    user?: User;
    namespace?: string;
    decision?: { decision: 'allow' | 'deny' | 'no-opinion'; reason?: string };
    verdict?: object;
    rules?: object[];
  } = {},
) {
  const asked: (Omit<Attributes, never> | unknown[])[] = [];
  const authorizer = {
    authorize(attributes: Attributes) {
      asked.push(attributes);
      return given.decision ?? { decision: 'allow' };
    },
    rulesFor: () => given.rules ?? [],
  } as unknown as ClusterAuthorizer;
  const authenticator = {
    checkToken(...args: unknown[]) {
      asked.push(args);
      return given.verdict as never;
    },
  };
  const resource = virtualResources({ authorizer, authenticator }).find((each) => each.kind === kind);
  assert.ok(resource);
  const body = { metadata: { name: 'r' }, ...(spec && { spec }) };
  const answer = resource.create(body as never, given.user ?? jane, given.namespace) as {
    apiVersion: string;
    kind: string;
    metadata: object;
    spec?: object;
    status: object;
  };
  assert.equal(answer.apiVersion, `${resource.group}/v1`);
  assert.equal(answer.kind, kind);
  assert.deepEqual(answer.metadata, { creationTimestamp: null, name: 'r' });
  assert.deepEqual(answer.spec, spec);
  return { status: answer.status, asked };
}

test('[SEC-4] reviews are posted under these names; only one of them belongs to a namespace', () => {
  const authorizer = {} as ClusterAuthorizer;
  const all = virtualResources({ authorizer, authenticator: { checkToken: () => assert.fail() } });
  assert.deepEqual(
    all.map(({ group, version, plural, namespaced }) => `${group}/${version} ${plural} ${namespaced}`),
    [
      'authentication.k8s.io/v1 selfsubjectreviews false',
      'authentication.k8s.io/v1 tokenreviews false',
      'authorization.k8s.io/v1 selfsubjectaccessreviews false',
      'authorization.k8s.io/v1 subjectaccessreviews false',
      'authorization.k8s.io/v1 localsubjectaccessreviews true',
      'authorization.k8s.io/v1 selfsubjectrulesreviews false',
    ],
  );
  for (const { singular, plural, kind } of all) {
    assert.deepEqual([singular, plural], [kind.toLowerCase(), `${kind.toLowerCase()}s`]);
  }
});

const refused = (act: () => unknown, says: RegExp): void =>
  void assert.throws(act, (error) => {
    assert.ok(error instanceof KubeError);
    assert.equal(error.code, 400);
    assert.match(error.message, says);
    return true;
  });

const resourceAttributes = { verb: 'get', resource: 'pods' };

const questions: { name: string; spec: object; asked: object }[] = [
  {
    name: 'the least of a resource',
    spec: { resourceAttributes },
    asked: { verb: 'get', group: '', version: '', plural: 'pods' },
  },
  {
    name: 'nothing but a resource',
    spec: { resourceAttributes: {} },
    asked: { verb: '', group: '', version: '', plural: '' },
  },
  {
    name: 'all of a resource',
    spec: {
      resourceAttributes: {
        ...resourceAttributes,
        group: 'apps',
        version: 'v1',
        subresource: 'status',
        namespace: 'ns',
        name: 'x',
        fieldSelector: { rawSelector: 'a=b' },
      },
    },
    asked: {
      verb: 'get',
      group: 'apps',
      version: 'v1',
      plural: 'pods',
      subresource: 'status',
      namespace: 'ns',
      name: 'x',
      fieldSelector: 'a=b',
    },
  },
  {
    name: 'requirements on fields, as far as they name one value',
    spec: {
      resourceAttributes: {
        ...resourceAttributes,
        fieldSelector: {
          requirements: [
            { key: 'a', operator: 'In', values: ['1'] },
            { key: 'b', operator: 'NotIn', values: ['2'] },
            { key: 'c', operator: 'In', values: ['3', '4'] },
            { key: 'd', operator: 'In', values: ['5'] },
          ],
        },
      },
    },
    asked: { verb: 'get', group: '', version: '', plural: 'pods', fieldSelector: 'a=1,d=5' },
  },
  {
    name: 'a path',
    spec: { nonResourceAttributes: { verb: 'get', path: '/metrics' } },
    asked: { verb: 'get', path: '/metrics' },
  },
  { name: 'an empty path', spec: { nonResourceAttributes: {} }, asked: { verb: '', path: '' } },
];
for (const { name, spec, asked } of questions) {
  test(`[SEC-4] an access review asks about ${name}`, () => {
    assert.deepEqual(post('SelfSubjectAccessReview', spec).asked, [{ user: jane, ...asked }]);
  });
}

test('[SEC-4] an access review asks about a resource or a path, and not about both', () => {
  for (const spec of [{}, undefined, { resourceAttributes, nonResourceAttributes: {} }])
    refused(() => post('SelfSubjectAccessReview', spec), /exactly one of/);
});

const answers = [
  { decision: { decision: 'allow' }, status: { allowed: true } },
  { decision: { decision: 'allow', reason: 'a role' }, status: { allowed: true, reason: 'a role' } },
  { decision: { decision: 'deny', reason: 'no' }, status: { allowed: false, denied: true, reason: 'no' } },
  { decision: { decision: 'no-opinion' }, status: { allowed: false } },
] as const;
for (const { decision, status } of answers) {
  test(`[SEC-4] an access review answers ${JSON.stringify(status)}`, () => {
    assert.deepEqual(post('SelfSubjectAccessReview', { resourceAttributes }, { decision }).status, status);
  });
}

const subjects: { spec: object; user: object }[] = [
  { spec: { user: 'bob' }, user: { name: 'bob', groups: [] } },
  { spec: { groups: ['g'] }, user: { name: '', groups: ['g'] } },
  {
    spec: { user: 'bob', groups: ['g'], uid: 'u', extra: { a: ['b'] } },
    user: { name: 'bob', groups: ['g'], uid: 'u', extra: { a: ['b'] } },
  },
];
for (const { spec, user } of subjects) {
  test(`[SEC-4] an access review of ${JSON.stringify(spec)} asks about that user`, () => {
    const { asked } = post('SubjectAccessReview', { resourceAttributes, ...spec });
    assert.deepEqual((asked[0] as Attributes).user, user);
  });
}

test('[SEC-4] an access review of nobody is refused', () => {
  refused(
    () => post('SubjectAccessReview', { resourceAttributes }),
    /at least one of spec.user and spec.groups/,
  );
});

test('[SEC-4] a local access review is about a resource of its namespace', () => {
  const review = (spec: object) =>
    post('LocalSubjectAccessReview', { user: 'bob', ...spec }, { namespace: 'ns' });
  const local = { ...resourceAttributes, namespace: 'ns' };
  assert.deepEqual(review({ resourceAttributes: local }).status, { allowed: true });
  const says = /namespace must be "ns"/;
  refused(() => review({ resourceAttributes: { ...local, namespace: 'other' } }), says);
  refused(() => review({ resourceAttributes }), says);
  refused(() => review({ nonResourceAttributes: { path: '/', verb: 'get' } }), says);
});

test('[SEC-2] a review of oneself shows what the server knows of the user', () => {
  assert.deepEqual(post('SelfSubjectReview', {}).status, { userInfo: { username: 'jane', groups: ['g'] } });
  const user = { ...jane, uid: 'u', extra: { a: ['b'] } };
  const userInfo = { username: 'jane', uid: 'u', groups: ['g'], extra: { a: ['b'] } };
  assert.deepEqual(post('SelfSubjectReview', {}, { user }).status, { userInfo });
});

test('[SEC-2] a token review is for the audiences that it names, or for the server’s own', () => {
  const verdict = { user: jane, audiences: ['a'] };
  const review = (spec: object) => post('TokenReview', spec, { verdict });
  assert.deepEqual(review({ token: 't', audiences: ['a'] }), {
    status: { authenticated: true, user: { username: 'jane', groups: ['g'] }, audiences: ['a'] },
    asked: [['t', ['a']]],
  });
  for (const audiences of [undefined, [], 'a'])
    assert.deepEqual(review({ token: 't', audiences }).asked, [['t', undefined]]);
  const problem = { verdict: { problem: 'expired' } };
  const status = { authenticated: false, error: 'expired' };
  assert.deepEqual(post('TokenReview', { token: 't' }, problem).status, status);
  for (const token of [undefined, '', 5]) refused(() => review({ token }), /token is required/);
});

test('[SEC-4] a review of rules lists those of resources and those of paths', () => {
  const rules = [
    { verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['x'] },
    { verbs: ['list'], apiGroups: [''], resources: ['pods'], resourceNames: [] },
    { verbs: ['get'], nonResourceURLs: ['/metrics'] },
    { verbs: ['get'], resources: [], nonResourceURLs: [] },
  ];
  const shown = {
    resourceRules: [rules[0], { verbs: ['list'], apiGroups: [''], resources: ['pods'] }],
    nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/metrics'] }],
  };
  const review = (groups: string[]) =>
    post('SelfSubjectRulesReview', { namespace: 'ns' }, { rules, user: { name: 'n', groups } }).status;
  assert.deepEqual(review(['g']), { ...shown, incomplete: false });
  assert.deepEqual(review(['system:nodes', 'system:masters']), { ...shown, incomplete: false });
  const evaluationError = 'what a node may read depends on its pods and is not listed';
  assert.deepEqual(review(['system:nodes']), { ...shown, incomplete: true, evaluationError });
  refused(() => post('SelfSubjectRulesReview', {}), /no namespace/);
});
