import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  labelSelectorOf,
  matchesFields,
  matchesLabels,
  matchesNodeSelectorTerms,
  parseFieldSelector,
  parseLabelSelector,
  SelectorError,
} from './selectors.ts';

const labels = { app: 'web', tier: 'front', size: '7', empty: '' };
const matching: [string, boolean][] = [
  ['', true],
  ['app=web', true],
  ['app == web', true],
  ['app!=web', false],
  ['absent!=web', true],
  ['app', true],
  ['!app', false],
  ['! absent', true],
  ['absent', false],
  ['app in (web, api)', true],
  ['app in (api)', false],
  ['app notin (api,db)', true],
  ['absent notin (api)', true],
  ['empty in (,a)', true],
  ['empty=', true],
  ['size>6', true],
  ['size<7', false],
  ['app>6', false],
  ['app=web,tier=back', false],
  ['app=web , tier in (front)', true],
];
for (const [text, expected] of matching) {
  test(`label selector "${text}" ${expected ? 'matches' : 'does not match'}`, () =>
    assert.equal(matchesLabels(parseLabelSelector(text), labels), expected));
}

for (const text of [
  '=',
  'a=b,',
  ',a',
  'a in b',
  'a in (b',
  'a b',
  'a>x',
  '-a',
  'a=-',
  'a in ()b',
  'x/y/z=1',
]) {
  test(`label selector "${text}" is refused`, () =>
    assert.throws(() => parseLabelSelector(text), SelectorError));
}

test('an absent LabelSelector matches nothing, an empty one everything', () => {
  assert.equal(matchesLabels(labelSelectorOf(undefined), labels), false);
  assert.equal(matchesLabels(labelSelectorOf({}), labels), true);
  const both = { matchLabels: { app: 'web' }, matchExpressions: [{ key: 'tier', operator: 'Exists' }] };
  assert.equal(matchesLabels(labelSelectorOf(both), labels), true);
  assert.throws(() => labelSelectorOf({ matchExpressions: [{ key: 'a', operator: 'Near' }] }), SelectorError);
});

test('field selectors compare exactly, with escapes', () => {
  const fields: Record<string, string> = { 'metadata.name': 'a', 'spec.nodeName': 'x=y,z' };
  const fieldOf = (field: string) => fields[field];
  assert.equal(matchesFields(parseFieldSelector('metadata.name=a'), fieldOf), true);
  assert.equal(matchesFields(parseFieldSelector('metadata.name!=a'), fieldOf), false);
  assert.equal(matchesFields(parseFieldSelector('spec.nodeName==x\\=y\\,z'), fieldOf), true);
  assert.equal(matchesFields(parseFieldSelector('spec.other='), fieldOf), true);
  assert.equal(matchesFields(parseFieldSelector(''), fieldOf), true);
  assert.throws(() => parseFieldSelector('metadata.name'), SelectorError);
});

const node = { metadata: { name: 'n1', labels: { zone: 'a', cores: '8' } } };
const term = (key: string, operator: string, ...values: string[]) => ({
  matchExpressions: [{ key, operator, values }],
});
const terms: [string, Parameters<typeof matchesNodeSelectorTerms>[0], boolean][] = [
  ['no terms', [], false],
  ['an empty term', [{}], false],
  ['In', [term('zone', 'In', 'a')], true],
  ['NotIn of an absent label', [term('absent', 'NotIn', 'a')], true],
  ['Exists', [term('absent', 'Exists')], false],
  ['DoesNotExist', [term('absent', 'DoesNotExist')], true],
  ['Gt', [term('cores', 'Gt', '4')], true],
  ['Lt', [term('cores', 'Lt', '4')], false],
  ['Gt of text', [term('zone', 'Gt', '4')], false],
  ['one of two terms', [term('zone', 'In', 'b'), term('zone', 'In', 'a')], true],
  [
    'all of one term',
    [{ ...term('zone', 'In', 'a'), matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n2'] }] }],
    false,
  ],
  ['the name', [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }], true],
];
for (const [name, given, expected] of terms) {
  test(`node selector terms: ${name}`, () => assert.equal(matchesNodeSelectorTerms(given, node), expected));
}
