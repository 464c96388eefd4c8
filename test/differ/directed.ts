// Directed cases, made from tables: every kind × verbs, options and bad input; and every kind × changes of its fields ×
// ways of writing them. A case prepares what it needs; its last request is the one that counts.

import { type Body, type Edit, edited, type Json, type JsonObject, keysOf, type Step } from './exchange.ts';
import { collectionOf, editsOf, nameOf, objectOf, type Subject } from './subjects/subject.ts';

export interface Case {
  readonly id: string;
  readonly steps: readonly Step[];
  /** Sent afterwards, whatever the answers were. */
  readonly cleanup?: Step;
}

const PATCH = {
  json: { 'content-type': 'application/json-patch+json' },
  merge: { 'content-type': 'application/merge-patch+json' },
  strategic: { 'content-type': 'application/strategic-merge-patch+json' },
  apply: { 'content-type': 'application/apply-patch+yaml' },
} as const;
const accepting = (accept: string) => ({ accept });
const TABLE = accepting('application/json;as=Table;v=v1;g=meta.k8s.io');

/** What the rows of the tables are made with. */
interface Made {
  readonly subject: Subject;
  readonly collection: string;
  readonly item: string;
  readonly object: JsonObject;
  readonly name: string;
  /** Selects the case's objects. */
  readonly selector: string;
  /** The kind's collection without a namespace. */
  readonly everywhere: string;
}

type Row = readonly [id: string, step: (made: Made) => Omit<Step, 'body'> & { readonly body?: Body | Json }];

const post = (query: string, edits: readonly Edit[], headers = {}): Row[1] => {
  return ({ collection, object }) => ({
    method: 'POST',
    path: `${collection}${query}`,
    headers,
    body: { json: edited(object, edits) },
  });
};
const raw = (text: string, contentType = 'application/json'): Row[1] => {
  return ({ collection }) => ({
    method: 'POST',
    path: collection,
    headers: { 'content-type': contentType },
    body: { text },
  });
};
const get = (query: string, headers = {}): Row[1] => {
  return ({ item }) => ({ method: 'GET', path: `${item}${query}`, headers });
};
const list = (query: string, headers = {}): Row[1] => {
  return ({ collection, selector }) => ({
    method: 'GET',
    path: `${collection}?labelSelector=${selector}${query}`,
    headers,
  });
};
const put = (query: string, edits: readonly Edit[]): Row[1] => {
  return ({ item }) => ({ method: 'PUT', path: `${item}${query}`, body: { current: edits } });
};
const patch = (type: keyof typeof PATCH, query: string, body: (made: Made) => Json): Row[1] => {
  return (made) => ({
    method: 'PATCH',
    path: `${made.item}${query}`,
    headers: PATCH[type],
    body: { json: body(made) },
  });
};
const remove = (query: string, options?: Json): Row[1] => {
  return ({ item }) => ({
    method: 'DELETE',
    path: `${item}${query}`,
    ...(options === undefined ? {} : { body: { json: options } }),
  });
};
const removeAll = (query: string, options?: Json): Row[1] => {
  return ({ collection, selector }) => ({
    method: 'DELETE',
    path: `${collection}?labelSelector=${selector}${query}`,
    ...(options === undefined ? {} : { body: { json: options } }),
  });
};
const identityOf = ({ object }: Made): JsonObject => ({
  apiVersion: object.apiVersion as Json,
  kind: object.kind as Json,
});
const applied = (more: JsonObject) => (made: Made) => ({
  ...identityOf(made),
  metadata: { name: made.name, ...more },
});

/** Nothing exists beforehand. */
const ON_NOTHING: readonly Row[] = [
  ['create', post('', [])],
  ['create dry', post('?dryRun=All', [])],
  ['create dryRun bad', post('?dryRun=Some', [])],
  ['create dryRun twice', post('?dryRun=All&dryRun=All', [])],
  ['create strict', post('?fieldValidation=Strict', [])],
  ['create strict unknown', post('?fieldValidation=Strict', [{ path: 'odd', value: 1 }])],
  ['create warn unknown', post('?fieldValidation=Warn', [{ path: 'odd', value: 1 }])],
  ['create ignore unknown', post('?fieldValidation=Ignore', [{ path: 'odd', value: 1 }])],
  ['create fieldValidation bad', post('?fieldValidation=Odd', [])],
  ['create fieldManager', post('?fieldManager=me', [])],
  ['create fieldManager long', post(`?fieldManager=${'m'.repeat(130)}`, [])],
  ['create fieldManager odd', post('?fieldManager=%01', [])],
  ['create without name', post('', [{ path: 'metadata/name' }])],
  ['create without metadata', post('', [{ path: 'metadata' }])],
  ['create empty name', post('', [{ path: 'metadata/name', value: '' }])],
  ['create upper name', post('', [{ path: 'metadata/name', value: 'UPPER' }])],
  ['create name with slash', post('', [{ path: 'metadata/name', value: 'a/b' }])],
  ['create name with dots', post('', [{ path: 'metadata/name', value: '..' }])],
  ['create long name', post('', [{ path: 'metadata/name', value: 'x'.repeat(254) }])],
  ['create name of 64', post('', [{ path: 'metadata/name', value: 'x'.repeat(64) }])],
  [
    'create generateName',
    post('', [{ path: 'metadata/name' }, { path: 'metadata/generateName', value: 'generated-' }]),
  ],
  [
    'create generateName bad',
    post('', [{ path: 'metadata/name' }, { path: 'metadata/generateName', value: 'UP!' }]),
  ],
  ['create other apiVersion', post('', [{ path: 'apiVersion', value: 'other/v1' }])],
  ['create other kind', post('', [{ path: 'kind', value: 'Other' }])],
  ['create without kind', post('', [{ path: 'kind' }, { path: 'apiVersion' }])],
  ['create other namespace', post('', [{ path: 'metadata/namespace', value: 'elsewhere' }])],
  ['create with version', post('', [{ path: 'metadata/resourceVersion', value: '5' }])],
  ['create with version 0', post('', [{ path: 'metadata/resourceVersion', value: '0' }])],
  ['create with uid', post('', [{ path: 'metadata/uid', value: 'u' }])],
  ['create spec of wrong type', post('', [{ path: 'spec', value: 'x' }])],
  ['create labels of wrong type', post('', [{ path: 'metadata/labels', value: ['x'] }])],
  ['create as table', post('', [], TABLE)],
  [
    'create as metadata',
    post('', [], accepting('application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io')),
  ],
  ['create pretty', post('?pretty=true', [])],
  ['create empty', raw('')],
  ['create not json', raw('{"a":')],
  ['create array', raw('[]')],
  ['create null', raw('null')],
  ['create text', raw('"x"')],
  ['create duplicate field', raw('{"kind":"X","kind":"X"}')],
  ['create yaml', raw('kind: Odd\n', 'application/yaml')],
  ['create yaml bad', raw('a: [', 'application/yaml')],
  ['create odd media type', raw('{}', 'text/html')],
  ['create patch media type', raw('{}', 'application/merge-patch+json')],
  ['create on name', ({ item, object }) => ({ method: 'POST', path: item, body: { json: object } })],
  [
    'create everywhere',
    ({ everywhere, object }) => ({ method: 'POST', path: everywhere, body: { json: object } }),
  ],
  [
    'create in missing namespace',
    ({ collection, object }) => ({
      method: 'POST',
      path: collection.replace('/namespaces/differ/', '/namespaces/missing/'),
      body: { json: object },
    }),
  ],
  ['get missing', get('')],
  ['get missing as table', get('', TABLE)],
  ['put missing', ({ item, object }) => ({ method: 'PUT', path: item, body: { json: object } })],
  [
    'put missing with version',
    ({ item, object }) => ({
      method: 'PUT',
      path: item,
      body: { json: edited(object, [{ path: 'metadata/resourceVersion', value: '5' }]) },
    }),
  ],
  [
    'put missing with uid',
    ({ item, object }) => ({
      method: 'PUT',
      path: item,
      body: { json: edited(object, [{ path: 'metadata/uid', value: 'u' }]) },
    }),
  ],
  ['merge missing', patch('merge', '', () => ({ metadata: { labels: { a: 'b' } } }))],
  ['json missing', patch('json', '', () => [])],
  ['strategic missing', patch('strategic', '', () => ({}))],
  ['apply creates', patch('apply', '?fieldManager=a', ({ object }) => object)],
  ['apply creates dry', patch('apply', '?fieldManager=a&dryRun=All', ({ object }) => object)],
  [
    'apply creates without name',
    patch('apply', '?fieldManager=a', ({ object }) => edited(object, [{ path: 'metadata/name' }])),
  ],
  [
    'apply creates with uid',
    patch('apply', '?fieldManager=a', ({ object }) => edited(object, [{ path: 'metadata/uid', value: 'u' }])),
  ],
  ['delete missing', remove('')],
  ['status missing', ({ item }) => ({ method: 'GET', path: `${item}/status` })],
  ['list nothing', list('')],
  ['list as table', list('', TABLE)],
  ['list as odd', list('', accepting('text/html'))],
  ['delete nothing', removeAll('')],
];

/** On an object that exists. */
const ON_OBJECT: readonly Row[] = [
  ['create again', post('', [])],
  ['get', get('')],
  ['get version 0', get('?resourceVersion=0')],
  ['get version own', get('?resourceVersion=$OWN_VERSION')],
  ['get version bad', get('?resourceVersion=x')],
  ['get pretty', get('?pretty=1')],
  ['get as table', get('', TABLE)],
  ['get as table v1beta1', get('', accepting('application/json;as=Table;v=v1beta1;g=meta.k8s.io'))],
  ['get table objects', get('?includeObject=Object', TABLE)],
  ['get table no objects', get('?includeObject=None', TABLE)],
  ['get table odd objects', get('?includeObject=Odd', TABLE)],
  ['get as metadata', get('', accepting('application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'))],
  [
    'get as metadata list',
    get('', accepting('application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io')),
  ],
  ['get as odd', get('', accepting('application/json;as=Odd;v=v1;g=meta.k8s.io'))],
  ['get as odd or json', get('', accepting('application/json;as=Odd;v=v1;g=meta.k8s.io,application/json'))],
  ['get html', get('', accepting('text/html'))],
  ['get anything', get('', accepting('text/html,*/*;q=0.5'))],
  ['get odd subresource', ({ item }) => ({ method: 'GET', path: `${item}/odd` })],
  ['get below subresource', ({ item }) => ({ method: 'GET', path: `${item}/status/odd` })],
  ['list', list('')],
  ['list limit', list('&limit=1')],
  ['list limit -1', list('&limit=-1')],
  ['list limit bad', list('&limit=x')],
  ['list continue bad', list('&continue=x')],
  ['list version 0', list('&resourceVersion=0')],
  ['list version bad', list('&resourceVersion=x')],
  ['list version own', list('&resourceVersion=$OWN_VERSION')],
  ['list match exact', list('&resourceVersion=$OWN_VERSION&resourceVersionMatch=Exact')],
  ['list match not older', list('&resourceVersion=$OWN_VERSION&resourceVersionMatch=NotOlderThan')],
  ['list match alone', list('&resourceVersionMatch=Exact')],
  ['list match exact 0', list('&resourceVersion=0&resourceVersionMatch=Exact')],
  ['list match bad', list('&resourceVersion=1&resourceVersionMatch=Odd')],
  ['list match and continue', list('&resourceVersion=1&resourceVersionMatch=Exact&continue=x')],
  ['list version and continue', list('&resourceVersion=1&continue=x')],
  ['list by name', list('&fieldSelector=metadata.name=none')],
  ['list by odd field', list('&fieldSelector=spec.odd=none')],
  ['list by bad field selector', list('&fieldSelector=a')],
  [
    'list by bad label selector',
    ({ collection }) => ({ method: 'GET', path: `${collection}?labelSelector=a==b==c` }),
  ],
  [
    'list by set',
    ({ collection, name }) => ({ method: 'GET', path: `${collection}?labelSelector=case+in+(${name},x)` }),
  ],
  [
    'list by bad set',
    ({ collection }) => ({ method: 'GET', path: `${collection}?labelSelector=case+in+()` }),
  ],
  ['list as table', list('', TABLE)],
  [
    'list as metadata',
    list('', accepting('application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io')),
  ],
  [
    'list as one metadata',
    list('', accepting('application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io')),
  ],
  [
    'list everywhere',
    ({ everywhere, selector }) => ({ method: 'GET', path: `${everywhere}?labelSelector=${selector}` }),
  ],
  ['list initial events', list('&sendInitialEvents=true')],
  ['watch', list('&watch=1&timeoutSeconds=1&resourceVersion=0')],
  ['watch as table', list('&watch=true&timeoutSeconds=1&resourceVersion=0', TABLE)],
  [
    'watch streaming list',
    list(
      '&watch=1&timeoutSeconds=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan',
    ),
  ],
  ['watch streaming list without match', list('&watch=1&timeoutSeconds=1&sendInitialEvents=true')],
  ['watch bad version', list('&watch=1&timeoutSeconds=1&resourceVersion=x')],
  ['watch bad', list('&watch=odd&timeoutSeconds=1')],
  [
    'watch by path',
    ({ collection, selector }) => ({
      method: 'GET',
      path: `${collection.replace(/^(\/api\/v1|\/apis\/[^/]+\/[^/]+)/, '$1/watch')}?labelSelector=${selector}&timeoutSeconds=1&resourceVersion=0`,
    }),
  ],
  [
    'watch one by path',
    ({ item }) => ({
      method: 'GET',
      path: `${item.replace(/^(\/api\/v1|\/apis\/[^/]+\/[^/]+)/, '$1/watch')}?timeoutSeconds=1&resourceVersion=0`,
    }),
  ],
  ['put same', put('', [])],
  ['put dry', put('?dryRun=All', [{ path: 'metadata/labels/new', value: 'x' }])],
  ['put dryRun bad', put('?dryRun=Odd', [])],
  ['put label', put('', [{ path: 'metadata/labels/new', value: 'x' }])],
  ['put without name', put('', [{ path: 'metadata/name' }])],
  ['put without metadata', put('', [{ path: 'metadata' }])],
  [
    'put only type',
    ({ item, object }) => ({
      method: 'PUT',
      path: item,
      body: { json: { apiVersion: object.apiVersion as Json, kind: object.kind as Json } },
    }),
  ],
  ['put without version', put('', [{ path: 'metadata/resourceVersion' }])],
  ['put version 0', put('', [{ path: 'metadata/resourceVersion', value: '0' }])],
  ['put version 1', put('', [{ path: 'metadata/resourceVersion', value: '1' }])],
  ['put version bad', put('', [{ path: 'metadata/resourceVersion', value: 'x' }])],
  ['put version number', put('', [{ path: 'metadata/resourceVersion', value: 5 }])],
  ['put without uid', put('', [{ path: 'metadata/uid' }])],
  ['put other uid', put('', [{ path: 'metadata/uid', value: 'other' }])],
  ['put other name', put('', [{ path: 'metadata/name', value: 'other' }])],
  ['put other namespace', put('', [{ path: 'metadata/namespace', value: 'other' }])],
  ['put without namespace', put('', [{ path: 'metadata/namespace' }])],
  ['put other kind', put('', [{ path: 'kind', value: 'Other' }])],
  ['put other apiVersion', put('', [{ path: 'apiVersion', value: 'other/v1' }])],
  [
    'put without times',
    put('', [{ path: 'metadata/creationTimestamp' }, { path: 'metadata/managedFields' }]),
  ],
  ['put strict unknown', put('?fieldValidation=Strict', [{ path: 'odd', value: 1 }])],
  ['put sample', ({ item, object }) => ({ method: 'PUT', path: item, body: { json: object } })],
  ['put empty body', ({ item }) => ({ method: 'PUT', path: item, body: { text: '' } })],
  [
    'put collection',
    ({ collection, object }) => ({ method: 'PUT', path: collection, body: { json: object } }),
  ],
  ['put as table', ({ item }) => ({ method: 'PUT', path: item, headers: TABLE, body: { current: [] } })],
  [
    'patch collection',
    ({ collection }) => ({ method: 'PATCH', path: collection, headers: PATCH.merge, body: { json: {} } }),
  ],
  [
    'patch odd type',
    ({ item }) => ({
      method: 'PATCH',
      path: item,
      headers: { 'content-type': 'application/json' },
      body: { json: {} },
    }),
  ],
  ['patch dryRun bad', patch('merge', '?dryRun=Odd', () => ({}))],
  ['patch force', patch('merge', '?force=true', () => ({}))],
  ['patch force bad', patch('merge', '?force=odd', () => ({}))],
  ['patch fieldValidation bad', patch('merge', '?fieldValidation=odd', () => ({}))],
  ['merge nothing', patch('merge', '', () => ({}))],
  ['merge label', patch('merge', '', () => ({ metadata: { labels: { new: 'x' } } }))],
  ['merge null label', patch('merge', '', () => ({ metadata: { labels: { case: null } } }))],
  ['merge array', patch('merge', '', () => [])],
  ['merge text', patch('merge', '', () => 'x')],
  ['merge null', patch('merge', '', () => null)],
  ['merge other name', patch('merge', '', () => ({ metadata: { name: 'other' } }))],
  ['merge null name', patch('merge', '', () => ({ metadata: { name: null } }))],
  ['merge other kind', patch('merge', '', () => ({ kind: 'Other' }))],
  ['merge null kind', patch('merge', '', () => ({ kind: null }))],
  ['merge null metadata', patch('merge', '', () => ({ metadata: null }))],
  ['merge version', patch('merge', '', () => ({ metadata: { resourceVersion: '1' } }))],
  ['merge version 0', patch('merge', '', () => ({ metadata: { resourceVersion: '0' } }))],
  ['merge null version', patch('merge', '', () => ({ metadata: { resourceVersion: null } }))],
  ['merge uid', patch('merge', '', () => ({ metadata: { uid: 'other' } }))],
  ['merge wrong type', patch('merge', '', () => ({ metadata: { labels: 'x' } }))],
  ['merge unknown', patch('merge', '', () => ({ odd: 1 }))],
  ['merge unknown strict', patch('merge', '?fieldValidation=Strict', () => ({ odd: 1 }))],
  [
    'merge not json',
    ({ item }) => ({ method: 'PATCH', path: item, headers: PATCH.merge, body: { text: '{' } }),
  ],
  ['merge empty', ({ item }) => ({ method: 'PATCH', path: item, headers: PATCH.merge, body: { text: '' } })],
  ['json nothing', patch('json', '', () => [])],
  ['json object', patch('json', '', () => ({}))],
  ['json text', patch('json', '', () => 'x')],
  [
    'json not json',
    ({ item }) => ({ method: 'PATCH', path: item, headers: PATCH.json, body: { text: '[' } }),
  ],
  ['json test holds', patch('json', '', ({ name }) => [{ op: 'test', path: '/metadata/name', value: name }])],
  ['json test fails', patch('json', '', () => [{ op: 'test', path: '/metadata/name', value: 'other' }])],
  ['json odd op', patch('json', '', () => [{ op: 'odd', path: '/a' }])],
  ['json without op', patch('json', '', () => [{ path: '/a' }])],
  ['json bad pointer', patch('json', '', () => [{ op: 'add', path: 'a', value: 1 }])],
  ['json add label', patch('json', '', () => [{ op: 'add', path: '/metadata/labels/new', value: 'x' }])],
  ['json add below missing', patch('json', '', () => [{ op: 'add', path: '/odd/below/it', value: 'x' }])],
  ['json remove missing', patch('json', '', () => [{ op: 'remove', path: '/metadata/odd' }])],
  ['json replace missing', patch('json', '', () => [{ op: 'replace', path: '/metadata/odd', value: 'x' }])],
  [
    'json move',
    patch('json', '', () => [{ op: 'move', from: '/metadata/labels/case', path: '/metadata/labels/moved' }]),
  ],
  [
    'json copy',
    patch('json', '', () => [{ op: 'copy', from: '/metadata/labels/case', path: '/metadata/labels/copied' }]),
  ],
  ['json without value', patch('json', '', () => [{ op: 'add', path: '/metadata/labels/new' }])],
  ['json remove metadata', patch('json', '', () => [{ op: 'remove', path: '/metadata' }])],
  ['json replace whole', patch('json', '', () => [{ op: 'replace', path: '', value: {} }])],
  ['strategic nothing', patch('strategic', '', () => ({}))],
  ['strategic label', patch('strategic', '', () => ({ metadata: { labels: { new: 'x' } } }))],
  ['strategic array', patch('strategic', '', () => [])],
  [
    'strategic replace labels',
    patch('strategic', '', () => ({ metadata: { labels: { $patch: 'replace', only: 'x' } } })),
  ],
  ['strategic odd directive', patch('strategic', '', () => ({ metadata: { labels: { $patch: 'odd' } } }))],
  [
    'strategic finalizers',
    patch('strategic', '', () => ({ metadata: { finalizers: ['example.com/b', 'example.com/a'] } })),
  ],
  [
    'strategic finalizer removal',
    patch('strategic', '', () => ({ metadata: { '$deleteFromPrimitiveList/finalizers': ['x/y'] } })),
  ],
  ['apply nothing', patch('apply', '?fieldManager=a', applied({}))],
  ['apply label', patch('apply', '?fieldManager=a', applied({ labels: { new: 'x' } }))],
  ['apply conflict', patch('apply', '?fieldManager=a', applied({ labels: { case: 'x' } }))],
  ['apply forced', patch('apply', '?fieldManager=a&force=true', applied({ labels: { case: 'x' } }))],
  ['apply same', patch('apply', '?fieldManager=a', ({ object }) => object)],
  ['apply dry', patch('apply', '?fieldManager=a&dryRun=All', applied({ labels: { new: 'x' } }))],
  ['apply without manager', patch('apply', '', applied({}))],
  ['apply without name', patch('apply', '?fieldManager=a', (made) => identityOf(made))],
  [
    'apply other name',
    patch('apply', '?fieldManager=a', (made) => ({ ...identityOf(made), metadata: { name: 'other' } })),
  ],
  ['apply other kind', patch('apply', '?fieldManager=a', (made) => ({ ...identityOf(made), kind: 'Other' }))],
  [
    'apply other apiVersion',
    patch('apply', '?fieldManager=a', (made) => ({ ...identityOf(made), apiVersion: 'other/v1' })),
  ],
  ['apply without kind', patch('apply', '?fieldManager=a', ({ name }) => ({ metadata: { name } }))],
  ['apply managedFields', patch('apply', '?fieldManager=a', applied({ managedFields: [{ manager: 'x' }] }))],
  ['apply version', patch('apply', '?fieldManager=a', applied({ resourceVersion: '1' }))],
  ['apply uid', patch('apply', '?fieldManager=a', applied({ uid: 'other' }))],
  ['apply unknown', patch('apply', '?fieldManager=a', (made) => ({ ...applied({})(made), odd: 1 }))],
  [
    'apply unknown below',
    patch('apply', '?fieldManager=a', (made) => ({
      ...applied({})(made),
      metadata: { name: made.name, odd: 1 },
    })),
  ],
  ['apply null label', patch('apply', '?fieldManager=a', applied({ labels: { case: null } }))],
  ['apply wrong type', patch('apply', '?fieldManager=a', applied({ labels: 'x' }))],
  ['apply array', patch('apply', '?fieldManager=a', () => [])],
  [
    'apply yaml',
    (made) => ({
      method: 'PATCH',
      path: `${made.item}?fieldManager=a`,
      headers: PATCH.apply,
      body: {
        text: `apiVersion: ${made.object.apiVersion as string}\nkind: ${made.object.kind as string}\nmetadata:\n  name: ${made.name}\n  labels: {new: x}\n`,
      },
    }),
  ],
  [
    'apply not yaml',
    ({ item }) => ({
      method: 'PATCH',
      path: `${item}?fieldManager=a`,
      headers: PATCH.apply,
      body: { text: 'a: [' },
    }),
  ],
  ['delete', remove('')],
  ['delete dry', remove('?dryRun=All')],
  ['delete dry in body', remove('', { dryRun: ['All'] })],
  ['delete dryRun bad', remove('?dryRun=Odd')],
  ['delete dryRun bad in body', remove('', { dryRun: ['Odd'] })],
  ['delete uid', remove('', { preconditions: { uid: '$OWN_UID' } })],
  ['delete other uid', remove('', { preconditions: { uid: 'other' } })],
  ['delete version', remove('', { preconditions: { resourceVersion: '$OWN_VERSION' } })],
  ['delete other version', remove('', { preconditions: { resourceVersion: '1' } })],
  ['delete background', remove('?propagationPolicy=Background')],
  ['delete foreground', remove('?propagationPolicy=Foreground')],
  ['delete orphan', remove('?propagationPolicy=Orphan')],
  ['delete policy bad', remove('?propagationPolicy=Odd')],
  ['delete policy bad in body', remove('', { propagationPolicy: 'Odd' })],
  ['delete orphanDependents', remove('', { orphanDependents: true })],
  ['delete both', remove('', { orphanDependents: true, propagationPolicy: 'Orphan' })],
  ['delete grace 0', remove('?gracePeriodSeconds=0')],
  ['delete grace 5', remove('', { gracePeriodSeconds: 5 })],
  ['delete grace -1', remove('', { gracePeriodSeconds: -1 })],
  ['delete grace bad', remove('?gracePeriodSeconds=x')],
  ['delete grace text', remove('', { gracePeriodSeconds: 'x' })],
  ['delete options kind', remove('', { kind: 'DeleteOptions', apiVersion: 'v1' })],
  ['delete options group', remove('', { kind: 'DeleteOptions', apiVersion: 'meta.k8s.io/v1' })],
  ['delete odd kind', remove('', { kind: 'Odd', apiVersion: 'v1' })],
  ['delete unknown option', remove('', { odd: 1 })],
  ['delete array', remove('', [])],
  ['delete not json', ({ item }) => ({ method: 'DELETE', path: item, body: { text: '{' } })],
  ['delete as table', ({ item }) => ({ method: 'DELETE', path: item, headers: TABLE })],
  ['delete all', removeAll('')],
  ['delete all dry', removeAll('&dryRun=All')],
  ['delete all limit', removeAll('&limit=1')],
  ['delete all policy bad', removeAll('&propagationPolicy=Odd')],
  [
    'delete all everywhere',
    ({ everywhere, selector }) => ({ method: 'DELETE', path: `${everywhere}?labelSelector=${selector}` }),
  ],
  [
    'delete all bad selector',
    ({ collection }) => ({ method: 'DELETE', path: `${collection}?labelSelector=a==b==c` }),
  ],
];

/** On each subresource of an object that exists. */
const ON_SUBRESOURCE: readonly ((sub: string) => Row)[] = [
  (sub) => [`${sub} get`, get(`/${sub}`)],
  (sub) => [`${sub} get as table`, get(`/${sub}`, TABLE)],
  (sub) => [`${sub} put same`, put(`/${sub}`, [])],
  (sub) => [`${sub} put label`, put(`/${sub}`, [{ path: 'metadata/labels/new', value: 'x' }])],
  (sub) => [`${sub} put status`, put(`/${sub}`, [{ path: 'status/odd', value: 1 }])],
  (sub) => [`${sub} put spec`, put(`/${sub}`, [{ path: 'spec/odd', value: 1 }])],
  (sub) => [`${sub} put without name`, put(`/${sub}`, [{ path: 'metadata/name' }])],
  (sub) => [`${sub} put without version`, put(`/${sub}`, [{ path: 'metadata/resourceVersion' }])],
  (sub) => [
    `${sub} post`,
    ({ item, object }) => ({ method: 'POST', path: `${item}/${sub}`, body: { json: object } }),
  ],
  (sub) => [
    `${sub} post nothing`,
    ({ item }) => ({ method: 'POST', path: `${item}/${sub}`, body: { json: {} } }),
  ],
  (sub) => [`${sub} delete`, remove(`/${sub}`)],
  (sub) => [`${sub} merge`, patch('merge', `/${sub}`, () => ({ metadata: { labels: { new: 'x' } } }))],
  (sub) => [
    `${sub} merge replicas`,
    patch('merge', `/${sub}`, () => ({ spec: { replicas: 2 }, status: { replicas: 3 } })),
  ],
  (sub) => [`${sub} merge negative replicas`, patch('merge', `/${sub}`, () => ({ spec: { replicas: -2 } }))],
  (sub) => [`${sub} json`, patch('json', `/${sub}`, () => [])],
  (sub) => [`${sub} strategic`, patch('strategic', `/${sub}`, () => ({}))],
  (sub) => [`${sub} apply`, patch('apply', `/${sub}?fieldManager=a`, applied({ labels: { new: 'x' } }))],
  (sub) => [
    `${sub} apply scale`,
    patch('apply', `/${sub}?fieldManager=a`, ({ name }) => ({
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { name },
      spec: { replicas: 3 },
    })),
  ],
  (sub) => [
    `${sub} apply scale forced`,
    patch('apply', `/${sub}?fieldManager=a&force=true`, ({ name }) => ({
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { name },
      spec: { replicas: 3 },
    })),
  ],
];

const WAYS = ['put', 'merge', 'json', 'strategic', 'apply'] as const;

export function directedCases(subjects: readonly Subject[]): Case[] {
  return subjects.flatMap((subject) => [
    ...ON_NOTHING.map((row) => caseOf(subject, row, [])),
    ...ON_OBJECT.map((row) => caseOf(subject, row, ['create'])),
    ...(subject.subresources ?? []).flatMap((sub) =>
      ON_SUBRESOURCE.map((row) => caseOf(subject, row(sub), ['create'])),
    ),
    ...fieldCases(subject),
  ]);
}

let made = 0;

export function partsOf(subject: Subject, name: string): Made {
  const object = objectOf(subject, name);
  const collection = collectionOf(subject);
  return {
    subject,
    object,
    collection,
    name: nameOf(object),
    item: `${collection}/${nameOf(object)}`,
    selector: `case%3D${name}`,
    everywhere: collection.replace(/\/namespaces\/[^/]+/, ''),
  };
}

function caseOf(subject: Subject, [id, step]: Row, before: readonly 'create'[]): Case {
  const parts = partsOf(subject, `c${++made}`);
  const { body, ...rest } = step(parts);
  const last: Step = { ...rest, ...(body === undefined ? {} : { body: body as Body }) };
  const steps = before.map(
    (): Step => ({ method: 'POST', path: parts.collection, body: { json: parts.object } }),
  );
  return {
    id: `${subject.apiVersion} ${subject.kind}: ${id}`,
    steps: [...steps, last],
    ...(subject.heavy ? { cleanup: { method: 'DELETE', path: parts.item } } : {}),
  };
}

/** Each change at creation, and by one of the ways to change an object, in turns. */
function fieldCases(subject: Subject): Case[] {
  const kind = `${subject.apiVersion} ${subject.kind}`;
  return editsOf(subject).flatMap((edit, index) => {
    const way = WAYS[index % WAYS.length] as (typeof WAYS)[number];
    const text = `${edit.path} = ${'value' in edit ? JSON.stringify(edit.value).slice(0, 80) : 'removed'}`;
    const query = subject.heavy ? '?dryRun=All' : '';
    const fresh = (): Made => partsOf(subject, `c${++made}`);
    const first = fresh();
    const second = fresh();
    const create = ({ collection, object }: Made, edits: readonly Edit[], after: string): Step => ({
      method: 'POST',
      path: `${collection}${after}`,
      body: { json: edited(object, edits) },
    });
    return [
      { id: `${kind}: create with ${text}`, steps: [create(first, [edit], query)] },
      {
        id: `${kind}: ${way} ${text}`,
        steps: [
          ...(subject.heavy
            ? [{ method: 'GET', path: heavyItem(subject) } as const]
            : [create(second, [], '')]),
          changeStep(subject, second, way, edit, query),
        ],
      },
    ];
  });
}

/** The one object that changes of a heavy subject refer to. */
export const heavyItem = (subject: Subject): string => partsOf(subject, 'heavy').item;

export function changeStep(
  subject: Subject,
  parts: Made,
  way: (typeof WAYS)[number],
  edit: Edit,
  query: string,
): Step {
  const target = subject.heavy ? partsOf(subject, 'heavy') : parts;
  // A status is only written through its subresource.
  const sub = edit.path.startsWith('status/') && subject.subresources?.includes('status') ? '/status' : '';
  const path = `${target.item}${sub}${query}`;
  switch (way) {
    case 'put':
      return { method: 'PUT', path, body: { current: [edit] } };
    case 'json': {
      const pointer = `/${edit.path}`;
      const change =
        'value' in edit
          ? { op: 'add', path: pointer, value: edit.value as Json }
          : { op: 'remove', path: pointer };
      return { method: 'PATCH', path, headers: PATCH.json, body: { json: [change] } };
    }
    case 'apply': {
      const body = edited(
        { apiVersion: subject.apiVersion, kind: subject.kind, metadata: { name: target.name } },
        [edit],
      );
      const joint = query === '' ? '?' : '&';
      return {
        method: 'PATCH',
        path: `${path}${joint}fieldManager=applier&force=true`,
        headers: PATCH.apply,
        body: { json: body },
      };
    }
    default:
      return { method: 'PATCH', path, headers: PATCH[way], body: { json: nested(edit) } };
  }
}

/** A merge patch of one change. Elements of lists are not reached by it: the list is replaced. */
export function nested({ path, value }: Edit): Json {
  return keysOf(path).reduceRight<Json>(
    (below, key) => (/^\d+$/.test(key) ? [below] : { [key]: below }),
    value ?? null,
  );
}
