// Which objects a request selects, as rows of parameters and the keys that match.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../../api/object.ts';
import { KubeError } from '../../../runtime/kube/kube-error.ts';
import type { Kind } from '../../kind.ts';
import { Version } from '../../storage/version.ts';
import { compileSelection, type SelectionInput } from './selection.ts';

const kindOf = (namespaced: boolean) =>
  ({
    group: '',
    version: 'v1',
    kind: 'Pod',
    plural: 'pods',
    namespaced,
    selectable: ['spec.nodeName'],
    selectableField: (object: KubeObject) =>
      (object as { spec?: { nodeName?: string } }).spec?.nodeName ?? '',
  }) as unknown as Kind;
const version = (key: string, nodeName: string, labels?: Record<string, string>) => {
  const [name = '', namespace] = key.split('/').reverse();
  const metadata = { name, ...(namespace && { namespace }), ...(labels && { labels }) };
  const object = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { nodeName } } as unknown as KubeObject;
  return new Version({ key, revision: 1, object, freeze: true });
};
const inNamespaces = [
  version('a/x', 'n1', { app: 'web' }),
  version('a/yx', 'n2', { app: 'db' }),
  version('b/x', 'n1'),
  version('ab/z', 'n2', { app: 'web' }),
];
const ofCluster = [version('x', 'n1'), version('yx', 'n2')];

type Input = Omit<SelectionInput, 'kind' | 'namespace'> & { namespace?: string };
interface Expected {
  keys: string;
  prefix?: string;
  onlyKey?: string;
  everything?: true;
  selective?: false;
}
const rows: [what: string, namespaced: boolean, input: Input, expected: Expected][] = [
  ['everything', true, {}, { keys: 'a/x a/yx b/x ab/z', everything: true, selective: false }],
  [
    'empty selectors',
    true,
    { labelSelector: '', fieldSelector: '', name: '' },
    { keys: 'a/x a/yx b/x ab/z', everything: true, selective: false },
  ],
  ['a namespace', true, { namespace: 'a' }, { keys: 'a/x a/yx', prefix: 'a/', selective: false }],
  [
    'a namespace by field',
    true,
    { fieldSelector: 'metadata.namespace=a' },
    { keys: 'a/x a/yx', prefix: 'a/' },
  ],
  ['all but a namespace', true, { fieldSelector: 'metadata.namespace!=a' }, { keys: 'b/x ab/z' }],
  [
    'two namespaces at once',
    true,
    { namespace: 'b', fieldSelector: 'metadata.namespace=a' },
    { keys: '', prefix: 'b/' },
  ],
  ['a name', true, { name: 'x' }, { keys: 'a/x b/x' }],
  ['a name by field', true, { fieldSelector: 'metadata.name=x' }, { keys: 'a/x b/x' }],
  ['all but a name', true, { fieldSelector: 'metadata.name!=x' }, { keys: 'a/yx ab/z' }],
  ['one object', true, { namespace: 'a', name: 'x' }, { keys: 'a/x', prefix: 'a/', onlyKey: 'a/x' }],
  [
    'one object by fields',
    true,
    { fieldSelector: 'metadata.namespace=b,metadata.name=x' },
    { keys: 'b/x', prefix: 'b/', onlyKey: 'b/x' },
  ],
  ['a field', true, { fieldSelector: 'spec.nodeName=n2' }, { keys: 'a/yx ab/z' }],
  ['labels', true, { labelSelector: 'app=web' }, { keys: 'a/x ab/z' }],
  ['a label that is missing', true, { labelSelector: '!app' }, { keys: 'b/x' }],
  [
    'labels and a field',
    true,
    { labelSelector: 'app', fieldSelector: 'spec.nodeName=n2' },
    { keys: 'a/yx ab/z' },
  ],
  ['a kind without namespaces', false, {}, { keys: 'x yx', everything: true, selective: false }],
  ['a name without a namespace', false, { name: 'x' }, { keys: 'x', onlyKey: 'x' }],
  ['a namespace that objects do not have', false, { fieldSelector: 'metadata.namespace=a' }, { keys: '' }],
];
for (const [what, namespaced, input, expected] of rows) {
  test(`a selection of ${what}`, () => {
    const selection = compileSelection({ kind: kindOf(namespaced), namespace: undefined, ...input });
    const found = (namespaced ? inNamespaces : ofCluster).filter((each) => selection.matches(each));
    assert.deepEqual(
      {
        keys: found.map(({ key }) => key).join(' '),
        prefix: selection.prefix,
        onlyKey: selection.onlyKey,
        everything: selection.everything,
        selective: selection.selective,
      },
      { prefix: '', onlyKey: undefined, everything: false, selective: true, ...expected },
    );
  });
}

const wrong: [input: Input, problem: RegExp][] = [
  [{ fieldSelector: 'spec.other=x' }, /^field label not supported: spec\.other$/],
  [{ labelSelector: 'a in (' }, /^unable to parse requirement: (?!unable)/],
  [{ fieldSelector: 'nothing' }, /./],
];
for (const [input, problem] of wrong) {
  test(`a selection is rejected: ${JSON.stringify(input)}`, () =>
    assert.throws(
      () => compileSelection({ kind: kindOf(true), namespace: undefined, ...input }),
      (error) => error instanceof KubeError && error.code === 400 && problem.test(error.message),
    ));
}
