// Rules of RBAC, as rows: what they allow, and which rules cover others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attributes } from '../pipeline.ts';
import { CompiledRules, type PolicyRule, showRule, uncoveredRules } from './policy-rules.ts';

const rule = (verbs: string, resources: string, more: Partial<PolicyRule> = {}): PolicyRule => ({
  verbs: verbs.split(','),
  apiGroups: [''],
  resources: resources.split(','),
  ...more,
});
const user = { name: 'jane', groups: [] };
const asked = (verb: string, plural: string, more: Partial<Attributes> = {}): Attributes => ({
  ...{ user, verb, group: '', version: 'v1', plural },
  ...more,
});
const path = (verb: string, at: string): Attributes => ({ user, verb, path: at });

const named = rule('get', 'pods', { resourceNames: ['a', 'b'] });
const urls = (...nonResourceURLs: string[]): PolicyRule => ({ verbs: ['get'], nonResourceURLs });
const allowed: [what: string, rules: PolicyRule[], attributes: Attributes, isAllowed: boolean][] = [
  ['nothing', [], asked('get', 'pods'), false],
  ['the verb', [rule('get,list', 'pods')], asked('list', 'pods'), true],
  ['another verb', [rule('get,list', 'pods')], asked('watch', 'pods'), false],
  ['any verb', [rule('*', 'pods')], asked('watch', 'pods'), true],
  ['another resource', [rule('get', 'pods')], asked('get', 'secrets'), false],
  ['any resource', [rule('get', '*')], asked('get', 'secrets'), true],
  ['another group', [rule('get', 'pods')], asked('get', 'pods', { group: 'g' }), false],
  ['any group', [rule('get', 'pods', { apiGroups: ['*'] })], asked('get', 'pods', { group: 'g' }), true],
  [
    'one of two groups',
    [rule('get', 'pods', { apiGroups: ['', 'g'] })],
    asked('get', 'pods', { group: 'g' }),
    true,
  ],
  ['a subresource', [rule('get', 'pods/log')], asked('get', 'pods', { subresource: 'log' }), true],
  ['a subresource, not the resource', [rule('get', 'pods/log')], asked('get', 'pods'), false],
  [
    'the resource, not its subresource',
    [rule('get', 'pods')],
    asked('get', 'pods', { subresource: 'log' }),
    false,
  ],
  [
    'any subresource of a name',
    [rule('get', '*/scale')],
    asked('get', 'pods', { subresource: 'scale' }),
    true,
  ],
  ['any resource, and subresource', [rule('get', '*')], asked('get', 'pods', { subresource: 'log' }), true],
  ['one of the names', [named], asked('get', 'pods', { name: 'b' }), true],
  ['another name', [named], asked('get', 'pods', { name: 'c' }), false],
  ['no name', [named], asked('get', 'pods'), false],
  [
    'names of two rules',
    [named, rule('get', 'pods', { resourceNames: ['c'] })],
    asked('get', 'pods', { name: 'a' }),
    true,
  ],
  ['names, then any', [named, rule('get', 'pods')], asked('get', 'pods', { name: 'c' }), true],
  ['any, then names', [rule('get', 'pods'), named], asked('get', 'pods', { name: 'c' }), true],
  ['an empty list of names', [rule('get', 'pods', { resourceNames: [] })], asked('get', 'pods'), true],
  ['a path', [urls('/metrics')], path('get', '/metrics'), true],
  ['another path', [urls('/metrics')], path('get', '/metrics/x'), false],
  ['paths below', [urls('/healthz', '/metrics/*')], path('get', '/metrics/x'), true],
  ['any path', [urls('*')], path('get', '/x'), true],
  ['paths of two rules', [urls('/a'), urls('/b')], path('get', '/a'), true],
  ['a path by another verb', [urls('/a')], path('post', '/a'), false],
  ['a path, where only resources are allowed', [rule('get', '*')], path('get', '/a'), false],
  ['a resource, where only paths are allowed', [urls('*')], asked('get', 'pods'), false],
];
for (const [what, rules, attributes, isAllowed] of allowed) {
  test(`[SEC-4] rules allow ${what}: ${isAllowed ? 'yes' : 'no'}`, () =>
    assert.equal(new CompiledRules(rules).allows(attributes), isAllowed));
}

const covered: [what: string, owned: PolicyRule[], wanted: PolicyRule, missing: string][] = [
  ['the same', [rule('get', 'pods')], rule('get', 'pods'), ''],
  ['a verb more', [rule('get', 'pods')], rule('get,list', 'pods'), 'list pods'],
  ['a resource more', [rule('get', 'pods')], rule('get', 'pods,nodes'), 'get nodes'],
  [
    'parts of two rules',
    [rule('get', 'pods'), rule('list', 'nodes')],
    rule('get,list', 'pods,nodes'),
    'get nodes, list pods',
  ],
  ['anything', [rule('*', '*', { apiGroups: ['*'] })], rule('get', 'pods/log', { apiGroups: ['g'] }), ''],
  ['any verb, of one that has some', [rule('get,list', 'pods')], rule('*', 'pods'), '* pods'],
  ['any resource, of one that has some', [rule('get', 'pods')], rule('get', '*'), 'get *'],
  ['another group', [rule('get', 'pods')], rule('get', 'pods', { apiGroups: ['g'] }), 'get pods'],
  ['a subresource', [rule('get', '*/scale')], rule('get', 'pods/scale'), ''],
  ['another subresource', [rule('get', '*/scale')], rule('get', 'pods/log'), 'get pods/log'],
  ['a name', [rule('get', 'pods')], named, ''],
  ['one of two names', [rule('get', 'pods', { resourceNames: ['a'] })], named, 'get pods b'],
  ['all names, of one that has some', [named], rule('get', 'pods'), 'get pods'],
  ['a path', [urls('/a/*')], urls('/a/b', '/c'), 'get /c'],
  ['a path, of one that has resources', [rule('*', '*', { apiGroups: ['*'] })], urls('/a'), 'get /a'],
];
for (const [what, owned, wanted, missing] of covered) {
  test(`[SEC-4] rules cover ${what}: ${missing ? `not ${missing}` : 'yes'}`, () => {
    const shown = uncoveredRules(owned, [wanted]).map(
      ({ verbs, resources, nonResourceURLs, resourceNames }) =>
        [verbs, resources ?? nonResourceURLs, resourceNames ?? []].flat().join(' '),
    );
    assert.equal(shown.join(', '), missing);
  });
}

test('[SEC-4] a rule is shown as Kubernetes shows it', () => {
  assert.equal(
    showRule(named),
    '{APIGroups:[""], Resources:["pods"], ResourceNames:["a","b"], Verbs:["get"]}',
  );
  assert.equal(showRule({ ...urls('/a'), resources: [] }), '{NonResourceURLs:["/a"], Verbs:["get"]}');
});
