import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseDocument, stringify } from 'yaml';
import { plainYaml } from './plain-yaml.ts';

const KUBECTL = `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==
    server: https://127.0.0.1:6443
  name: kind-test
contexts:
- context:
    cluster: kind-test
    user: kind-test
  name: kind-test
current-context: kind-test
kind: Config
preferences: {}
users:
- name: kind-test
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      args:
      - --region
      - eu-west-1
      - get token
      command: aws
      env: null
      interactiveMode: IfAvailable
      provideClusterInfo: false
`;

const plain: { name: string; text: string }[] = [
  { name: 'as kubectl writes it', text: KUBECTL },
  { name: 'with Windows line ends', text: KUBECTL.replaceAll('\n', '\r\n') },
  { name: 'with a document start, comments and blank lines', text: `---\n# written by hand\n\n${KUBECTL}` },
  { name: 'lists further in than their keys', text: 'users:\n  - name: a\n    user: {}\n  - name: b\n' },
  { name: 'quoted scalars', text: `a: "x: \\"y\\" # z"\nb: 'it is # so'\nc: ""\nd: "123"\n` },
  { name: 'keys without values', text: 'a:\nb:\n  c:\nd: x\n' },
  { name: 'JSON', text: '{"kind": "Config", "users": [{"name": "a"}]}\n' },
];
for (const { name, text } of plain) {
  test(`reads ${name}`, () => {
    assert.deepEqual(plainYaml(text)?.value, parseDocument(text).toJS());
  });
}

const others: { name: string; text: string }[] = [
  { name: 'nothing', text: '' },
  { name: 'a lone scalar', text: 'hello\n' },
  { name: 'a tab', text: 'a:\n\tb: c\n' },
  { name: 'a number', text: 'a: 12\n' },
  { name: 'a word that older parsers take for a truth value', text: 'a: yes\n' },
  { name: 'an anchor', text: 'a: &x\n  b: c\nd: *x\n' },
  { name: 'a block scalar', text: 'a: |\n  b\n  c\n' },
  { name: 'a scalar on two lines', text: 'a: b\n  c\n' },
  { name: 'a flow list', text: 'a: [b, c]\n' },
  { name: 'a comment behind a value', text: 'a: b # c\n' },
  { name: 'a key that comes twice', text: 'a: b\na: c\n' },
  { name: 'a second document', text: 'a: b\n---\na: c\n' },
  { name: 'an indentation that fits nothing', text: 'a:\n    b: c\n  d: e\n' },
  { name: 'broken JSON', text: '{"a": ' },
];
for (const { name, text } of others) {
  test(`leaves ${name} to the whole parser`, () => {
    assert.equal(plainYaml(text), undefined);
  });
}

/** What the whole parser makes of it; undefined where it finds an error. */
function whole(text: string): unknown {
  const document = parseDocument(text);
  return document.errors.length > 0 ? undefined : document.toJS();
}

const word = fc.constantFrom(
  'a',
  'server',
  'x-y.z',
  'https://h:1/p',
  '/var/lib',
  'LS0t==',
  '--flag',
  'get token',
);
const odd = fc.constantFrom(
  ...[
    '1',
    '-1',
    '.5',
    '~',
    'null',
    'True',
    'no',
    "'q'",
    '"d"',
    '"\\n"',
    "'it''s'",
    'a: b',
    'a:',
    ':a',
    '#c',
    'a #c',
    'a#c',
  ],
  ...[
    '- a',
    '-',
    '[]',
    '{}',
    '[a]',
    '{a: b}',
    '|',
    '>',
    '&a',
    '*a',
    '!t',
    '%d',
    '@a',
    '0x1',
    '1e3',
    '2001-01-01',
    '',
    '<<',
    '?',
    '---',
    '...',
  ],
);
const line = fc
  .tuple(
    fc.constantFrom('', '  ', '    ', '- ', '  - ', '- - ', '   '),
    fc.constantFrom('', 'a: ', 'b: ', 'name: ', 'c:', 'd:  ', '<<: ', '__proto__: ', 'null: ', '1: '),
    fc.oneof(word, odd),
    fc.constantFrom('', ' ', ' # c'),
  )
  .map((parts) => parts.join(''));

test('whatever it reads, it reads as the whole parser does', () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), (lines) => {
      const text = lines.join('\n');
      const read = plainYaml(text);
      if (read !== undefined) assert.deepEqual(read.value, whole(text), JSON.stringify(text));
    }),
    { numRuns: 3000 },
  );
});

test('it reads what is made of plain maps and lists', () => {
  const value = fc.letrec((tie) => ({
    any: fc.oneof({ maxDepth: 3 }, word, fc.boolean(), tie('map'), tie('list')),
    map: fc.dictionary(fc.stringMatching(/^k[a-z]{2,7}(-[a-z]{2,5})?$/), tie('any'), {
      minKeys: 1,
      maxKeys: 4,
    }),
    list: fc.array(fc.oneof(word, tie('map')), { minLength: 1, maxLength: 3 }),
  })).map;
  fc.assert(
    fc.property(value, (given) => {
      assert.deepEqual(plainYaml(stringify(given))?.value, JSON.parse(JSON.stringify(given)));
    }),
    { numRuns: 500 },
  );
});
