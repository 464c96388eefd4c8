// What a URL asks for, as rows of path and target, and of query and parameters.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import {
  readBoolean,
  readDryRun,
  readFieldValidation,
  readInteger,
  readListParameters,
  readWatchParameters,
} from './query.ts';
import { readRequestInfo } from './request-info.ts';

/** group/version, namespace, plural, name, subresource; `-` for none. */
const targets: [path: string, target: string][] = [
  ['/api/v1/pods', '/v1 - pods - -'],
  ['/api/v1/pods/', '/v1 - pods - -'],
  ['/api/v1/nodes/n', '/v1 - nodes n -'],
  ['/api/v1/nodes/n/status', '/v1 - nodes n status'],
  ['/api/v1/namespaces', '/v1 - namespaces - -'],
  ['/api/v1/namespaces/a', '/v1 - namespaces a -'],
  ['/api/v1/namespaces/a/status', '/v1 - namespaces a status'],
  ['/api/v1/namespaces/a/finalize', '/v1 - namespaces a finalize'],
  ['/api/v1/namespaces/a/pods', '/v1 a pods - -'],
  ['/api/v1/namespaces/a/status/x', '/v1 a status x -'],
  ['/api/v1/namespaces/a/pods/p/log', '/v1 a pods p log'],
  ['/api/v1/namespaces/a/pods/p%2Fq', '/v1 a pods p/q -'],
  ['/apis/apps/v1/deployments', 'apps/v1 - deployments - -'],
  ['/apis/apps/v1/namespaces/a/deployments/d/scale', 'apps/v1 a deployments d scale'],
  ['/api/v1/watch/pods', '/v1 - pods - - watch'],
  ['/api/v1/watch/namespaces/a/pods/p', '/v1 a pods p - watch'],
  ['/api/v1/watch', '/v1 - watch - -'],
  ['/api/v1/nodes/n/proxy/a/b', '/v1 - nodes n proxy'],
  ['/api/v1/nodes/n/status/a', 'other'],
  ['/api/v1/pods/p/proxy/a', 'other'],
  ['/apis/g/v1/nodes/n/proxy/a', 'other'],
  ['/api/v1/namespaces//pods', 'other'],
  ['/api/v1//p', 'other'],
  ['/', 'other'],
  ['/api', 'other'],
  ['/api/v1', 'other'],
  ['/apis', 'other'],
  ['/apis/apps', 'other'],
  ['/apis/apps/v1', 'other'],
  ['/apis/apps/v1/', 'other'],
  ['/healthz/ping/x/y', 'other'],
];
for (const [path, expected] of targets) {
  test(`${path} is about ${expected}`, () => {
    const target = readRequestInfo(path)?.target;
    assert.ok(target);
    const shown =
      target.kind === 'other'
        ? 'other'
        : [
            `${target.group}/${target.version}`,
            ...[target.namespace, target.plural, target.name, target.subresource].map((part) => part || '-'),
            ...(target.watches ? ['watch'] : []),
          ].join(' ');
    assert.equal(shown, expected);
  });
}

test('a URL has a path and a query; one that cannot be decoded is none', () => {
  assert.equal(readRequestInfo('/api/v1/pods/%zz'), undefined);
  const info = readRequestInfo('/api/v1/pods?limit=1&x=a%20b?c');
  assert.equal(info?.path, '/api/v1/pods');
  assert.deepEqual([info.query.get('limit'), info.query.get('x')], ['1', 'a b?c']);
  assert.equal(readRequestInfo('/x')?.query.size, 0);
  assert.equal(readRequestInfo('?a=1')?.path, '');
});

const query = (text: string) => new URLSearchParams(text);
const refused = (act: () => unknown, problem: RegExp) =>
  assert.throws(act, (error) => error instanceof KubeError && problem.test(error.message));

test('truth values: anything but 0 and false is true', () => {
  const rows: [string, boolean | undefined][] = [
    ['', undefined],
    ['b', true],
    ['b=', true],
    ['b=true', true],
    ['b=no', true],
    ['b=0', false],
    ['b=False', false],
    ['b=00', true],
  ];
  for (const [text, value] of rows) assert.equal(readBoolean(query(text), 'b'), value, text);
});

test('whole numbers, also negative ones', () => {
  const rows: [string, number | undefined][] = [
    ['', undefined],
    ['n=', undefined],
    ['n=0', 0],
    ['n=-5', -5],
    ['n=1234567890', 1_234_567_890],
  ];
  for (const [text, value] of rows) assert.equal(readInteger(query(text), 'n'), value, text);
  for (const text of ['n=x', 'n=1.5', 'n=1x', 'n=12345678901', 'n=--1'])
    refused(() => readInteger(query(text), 'n'), /n: Invalid value: ".*": must be an integer/);
});

test('a dry run, and what happens to unknown fields', () => {
  assert.deepEqual(
    ['', 'dryRun=', 'dryRun=All', 'dryRun=All&dryRun=All'].map((text) => readDryRun(query(text), 'O')),
    [false, false, true, true],
  );
  refused(() => readDryRun(query('dryRun=Some'), 'O'), /dryRun.*"All"/);
  refused(() => readDryRun(query('dryRun=All&dryRun=x'), 'O'), /dryRun/);
  assert.deepEqual(
    ['', 'fieldValidation=', 'fieldValidation=Ignore', 'fieldValidation=Warn', 'fieldValidation=Strict'].map(
      (text) => readFieldValidation(query(text), 'O'),
    ),
    ['Warn', 'Warn', 'Ignore', 'Warn', 'Strict'],
  );
  refused(() => readFieldValidation(query('fieldValidation=strict'), 'O'), /fieldValidation.*"strict"/);
});

test('the parameters of lists and watches; an empty one is none', () => {
  const shared =
    'labelSelector=a&fieldSelector=b&resourceVersion=5&resourceVersionMatch=Exact&sendInitialEvents=1';
  const read = {
    ...{ labelSelector: 'a', fieldSelector: 'b', resourceVersion: '5' },
    ...{ resourceVersionMatch: 'Exact', sendInitialEvents: true },
  };
  assert.deepEqual(readListParameters(query(`${shared}&limit=3&continue=c`)), {
    ...read,
    limit: 3,
    continue: 'c',
  });
  assert.deepEqual(readWatchParameters(query(`${shared}&allowWatchBookmarks=true`)), {
    ...read,
    allowBookmarks: true,
  });
  const empty = readListParameters(query('labelSelector=&fieldSelector=&resourceVersion=&continue=&limit='));
  assert.ok(Object.values(empty).every((each) => each === undefined));
});
