// What answers look like on the wire: representation, headers, errors, metrics.

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import type { Version } from '../storage/version.ts';
import { addWarnings, answerError, answerJson, prettyJson } from './answer.ts';
import { listChunks } from './list-chunks.ts';
import { RequestMetrics } from './metrics.ts';
import { negotiate } from './negotiation.ts';

const json = { format: 'json' };
const as = (name: string, version = 'v1') => ({ format: 'json', as: name, asVersion: version });
const accepted: [accept: string | undefined, then: object | undefined][] = [
  [undefined, json],
  ['', json],
  ['*/*', json],
  ['application/json', json],
  ['application/*', json],
  ['APPLICATION/JSON', json],
  ['application/yaml', { format: 'yaml' }],
  ['text/yaml', { format: 'yaml' }],
  ['text/html', undefined],
  ['text/html, */*;q=0.1', json],
  ['application/yaml;q=0.5, application/json;q=0.4', { format: 'yaml' }],
  ['application/yaml;q=0.5, application/json', json],
  ['application/json;q=0', undefined],
  ['application/json;q=0, application/yaml;q=0.1', { format: 'yaml' }],
  ['application/vnd.kubernetes.protobuf, application/json', json],
  ['application/json;as=Table;v=v1;g=meta.k8s.io', as('Table')],
  ['application/json;as="Table";v="v1beta1"', as('Table', 'v1beta1')],
  ['application/json; as=Table', as('Table')],
  ['application/json;as=Table;v=v2', undefined],
  ['application/json;as=Odd', undefined],
  ['application/json;as=Odd, application/json', json],
  ['application/yaml;as=Table', undefined],
  ['application/json;as=PartialObjectMetadata', as('PartialObjectMetadata')],
  ['application/json;as=APIGroupDiscoveryList;v=v2', as('APIGroupDiscoveryList', 'v2')],
  ['application/json;as=APIGroupDiscoveryList;v=v1', undefined],
];
for (const [accept, then] of accepted) {
  test(`Accept: ${accept} is answered with ${then ? JSON.stringify(then) : 'an error'}`, () => {
    if (then) assert.deepEqual(negotiate(accept), then);
    else
      assert.throws(
        () => negotiate(accept),
        (error) => error instanceof KubeError && error.code === 406,
      );
  });
}

/** A response that keeps what is sent. */
function sink(state: { headersSent?: boolean; destroyed?: boolean } = {}) {
  const sent = { code: 0, headers: {} as Record<string, unknown>, body: '' };
  const response = {
    ...{ headersSent: false, destroyed: false, ...state },
    setHeader(name: string, value: unknown) {
      sent.headers[name] = value;
    },
    writeHead(code: number, headers: Record<string, unknown>) {
      sent.code = code;
      Object.assign(sent.headers, headers);
    },
    end(body: string | Buffer) {
      sent.body = String(body);
    },
  } as unknown as ServerResponse;
  return { response, sent };
}
const plain = { code: 200, pretty: false, warnings: [] };

test('an answer has its length and type, and is not cached', () => {
  const { response, sent } = sink();
  answerJson(response, '{"a":"ü"}', plain);
  assert.deepEqual(sent, {
    code: 200,
    headers: {
      'Content-Type': 'application/json',
      'Content-Length': 10,
      'Cache-Control': 'no-cache, private',
    },
    body: '{"a":"ü"}',
  });
  const pretty = sink();
  answerJson(pretty.response, '{"a":1}', { ...plain, code: 201, pretty: true, contentType: 'x/y' });
  assert.deepEqual(pretty.sent.body, '{\n  "a": 1\n}\n');
  assert.deepEqual([pretty.sent.code, pretty.sent.headers['Content-Type']], [201, 'x/y']);
  assert.equal(pretty.sent.headers['Content-Length'], Buffer.byteLength(prettyJson('{"a":1}')));
});

for (const state of [{ headersSent: true }, { destroyed: true }]) {
  test(`nothing is answered twice: ${JSON.stringify(state)}`, () => {
    const { response, sent } = sink(state);
    answerJson(response, '{}', plain);
    assert.equal(sent.code, 0);
  });
}

const longest = 'w'.repeat(4096);
const warnings: { name: string; given: string[]; headers: unknown }[] = [
  { name: 'none', given: [], headers: undefined },
  { name: 'some', given: ['a', 'b'], headers: ['299 - "a"', '299 - "b"'] },
  { name: 'odd characters', given: ['a"b\\c\nü'], headers: ['299 - "a\\"b\\\\c??"'] },
  { name: 'as much as fits', given: [longest], headers: [`299 - "${longest}"`] },
  { name: 'more than fits', given: [`${longest}w`], headers: [`299 - "${'w'.repeat(256)}"`] },
  {
    name: 'too many',
    given: Array.from({ length: 20 }, () => 'w'.repeat(300)),
    headers: Array.from({ length: 16 }, () => `299 - "${'w'.repeat(256)}"`),
  },
];
for (const { name, given, headers } of warnings) {
  test(`warnings: ${name}`, () => {
    const answer = sink();
    answerJson(answer.response, '{}', { ...plain, warnings: given });
    assert.deepEqual(answer.sent.headers.Warning, headers);
    const error = sink();
    addWarnings(error.response, given);
    assert.deepEqual(error.sent.headers.Warning, headers);
    const late = sink({ headersSent: true });
    addWarnings(late.response, given);
    assert.deepEqual(late.sent.headers, {});
  });
}

test('an error is a Status, with what clients need to try again', () => {
  const given = (error: unknown, state?: object) => {
    const { response, sent } = sink(state);
    answerError(response, error, false);
    return { ...sent, status: sent.body === '' ? undefined : JSON.parse(sent.body) };
  };
  const busy = given(
    new KubeError({
      reason: 'TooManyRequests',
      code: 429,
      message: 'busy',
      details: { retryAfterSeconds: 3 },
    }),
  );
  assert.deepEqual([busy.code, busy.headers['Retry-After'], busy.status.reason], [429, 3, 'TooManyRequests']);
  const nobody = given(new KubeError({ reason: 'Unauthorized', code: 401, message: 'who' }));
  assert.deepEqual([nobody.code, nobody.headers['WWW-Authenticate']], [401, 'Bearer realm="kubernetes"']);
  assert.equal('Retry-After' in nobody.headers, false);
  const bug = given(new TypeError('a secret'));
  assert.deepEqual([bug.code, bug.status.reason], [500, 'InternalError']);
  assert.doesNotMatch(bug.body, /secret/);
  assert.equal('WWW-Authenticate' in bug.headers, false);
  assert.equal(given(new KubeError({ reason: 'Unknown', code: 0, message: 'x' })).code, 500);
  assert.deepEqual(
    given(new KubeError({ reason: 'Unauthorized', code: 401, message: 'x' }), { headersSent: true }).headers,
    {},
  );
});

test('requests are counted when they are over, once, and watches apart', async () => {
  const clock = new VirtualClock();
  const metrics = new RequestMetrics(clock);
  const labels = {
    verb: 'LIST',
    group: '',
    version: 'v1',
    resource: 'pods',
    subresource: '',
    scope: 'namespace',
  };
  const text = 'verb="LIST",group="",version="v1",resource="pods",subresource="",scope="namespace"';
  const lines = () => {
    const storedObjects = new Map([['pods', 7]]);
    const all = metrics.render({ storedObjects, revision: 5, bodies: { bodies: 1, bytes: 2 } as never });
    return (name: string) => all.split('\n').filter((line) => line.startsWith(name));
  };
  const read = metrics.start(labels as never, { longRunning: false, mutating: false });
  const write = metrics.start(labels as never, { longRunning: false, mutating: true });
  const watch = metrics.start(labels as never, { longRunning: true, mutating: false });
  const again = metrics.start(labels as never, { longRunning: true, mutating: false });
  const inFlight = (kind: string) => `apiserver_current_inflight_requests{request_kind="${kind}"}`;
  assert.deepEqual(lines()('apiserver_current'), [`${inFlight('mutating')} 1`, `${inFlight('readOnly')} 1`]);
  assert.deepEqual(lines()('apiserver_longrunning'), [`apiserver_longrunning_requests{${text}} 2`]);
  await clock.advance(25);
  read(200);
  read(500);
  await clock.advance(61_000);
  write(200);
  watch(200);
  assert.deepEqual(lines()('apiserver_current'), [`${inFlight('mutating')} 0`, `${inFlight('readOnly')} 0`]);
  assert.deepEqual(lines()('apiserver_longrunning'), [`apiserver_longrunning_requests{${text}} 1`]);
  assert.deepEqual(lines()('apiserver_request_total'), [`apiserver_request_total{${text},code="200"} 3`]);
  const buckets = lines()('apiserver_request_duration_seconds_bucket').map((line) => line.slice(-30));
  const counts = buckets.map((line) => /le="(.*)"} (\d+)/.exec(line)?.slice(1).join(': '));
  assert.deepEqual(counts.slice(0, 3), ['0.005: 0', '0.025: 1', '0.05: 1']);
  assert.deepEqual(counts.slice(-2), ['60: 1', '+Inf: 2']);
  assert.deepEqual(lines()('apiserver_request_duration_seconds_sum'), [
    `apiserver_request_duration_seconds_sum{${text}} 61.05`,
  ]);
  assert.deepEqual(lines()('apiserver_storage_objects'), ['apiserver_storage_objects{resource="pods"} 7']);
  assert.deepEqual(lines()('berth_apiserver_storage_revision'), ['berth_apiserver_storage_revision 5']);
  again(200);
});

test('a list is sent in chunks of about the wanted length', () => {
  const items = Array.from({ length: 40 }, (_, index) => ({
    bytes: Buffer.from(`{"n":${index}}`),
  })) as Version[];
  const kind = { kind: 'Pod', group: '', version: 'v1', isCustom: false };
  const form = { kind, media: { format: 'json' }, includeObject: '', nowMs: 0 };
  const read = (count: number, length: number) => {
    const list = { items: items.slice(0, count), metadata: { resourceVersion: '1' } };
    const next = listChunks(list as never, form as never);
    const chunks: string[] = [];
    let pauses = 0;
    for (let isLast = false; !isLast; ) {
      const steps = next(length);
      let step = steps.next();
      for (; !step.done; step = steps.next()) pauses++;
      chunks.push(step.value.bytes.toString());
      isLast = step.value.isLast;
    }
    return { chunks, pauses, list: JSON.parse(chunks.join('')) };
  };
  const none = read(0, 100);
  assert.deepEqual(none.list, {
    kind: 'PodList',
    apiVersion: 'v1',
    metadata: { resourceVersion: '1' },
    items: [],
  });
  assert.equal(none.chunks.length, 1);
  const some = read(40, 70);
  assert.deepEqual(
    some.list.items,
    Array.from({ length: 40 }, (_, n) => ({ n })),
  );
  assert.equal(some.chunks.length, 5);
  assert.equal(some.pauses, 2, 'other requests are answered in between');
  assert.equal(read(40, 10_000).chunks.length, 1);
});
