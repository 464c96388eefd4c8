// The HTTPS entry point of a whole server: paths, representations, limits, streams, and invalid input.

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import type { ApiServer } from '../api-server.ts';
import { testServer } from '../testing/test-server.ts';

interface Answer {
  code: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  json(): Record<string, never> & { [key: string]: unknown };
}

interface Door {
  server: ApiServer;
  url: string;
  tls: { ca: string; cert: string; key: string };
  call(
    method: string,
    path: string,
    options?: { body?: unknown; headers?: Record<string, string>; anonymous?: boolean },
  ): Promise<Answer>;
}

async function openDoor(t: Pick<TestContext, 'after'>, options: object = {}): Promise<Door> {
  const server = await testServer(t, { listen: true, ...options });
  const url = server.url as string;
  const { keyPem, certificatePem } = server.pki.issueClientCertificate({
    commonName: server.adminUser.name,
    organizations: ['system:masters'],
  });
  const tls = { ca: server.pki.caPem, cert: certificatePem, key: keyPem };
  const agents = {
    admin: new Agent({ ...tls, keepAlive: true }),
    nobody: new Agent({ ca: tls.ca, keepAlive: true }),
  };
  t.after(() => {
    agents.admin.destroy();
    agents.nobody.destroy();
  });
  return {
    server,
    url,
    tls,
    async call(method, path, { body, headers = {}, anonymous = false } = {}) {
      const raw = typeof body === 'string' || Buffer.isBuffer(body);
      const answer = await ask(`${url}${path}`, {
        method,
        agent: anonymous ? agents.nobody : agents.admin,
        ...(body === undefined ? {} : { body: raw ? (body as string) : JSON.stringify(body) }),
        headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      });
      const text = await textOf(answer);
      return { code: answer.statusCode ?? 0, headers: answer.headers, text, json: () => JSON.parse(text) };
    },
  };
}

/** The response's head. With Node's own client: tests also what our client would not send or accept. */
function ask(
  url: string,
  {
    agent,
    method = 'GET',
    headers = {},
    body,
  }: { agent: Agent; method?: string; headers?: Record<string, string>; body?: string | Buffer },
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    request(url, { agent, method, headers: { ...length, ...headers } }, resolve)
      .on('error', reject)
      .end(body);
  });
}

async function textOf(answer: IncomingMessage): Promise<string> {
  return Buffer.concat(await answer.toArray()).toString();
}

const MAPS = '/api/v1/namespaces/default/configmaps';

describe('the HTTPS door', () => {
  const cleanups: (() => unknown)[] = [];
  let door: Door;
  before(async () => {
    door = await openDoor({ after: (fn) => void cleanups.push(fn as () => unknown) });
  });
  after(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  });

  it('creates, reads, lists, updates, patches and deletes', async () => {
    const created = await door.call('POST', MAPS, { body: { metadata: { name: 'all' }, data: { x: '1' } } });
    assert.equal(created.code, 201);
    const { metadata } = created.json() as unknown as { metadata: { resourceVersion: string; uid: string } };
    assert.equal((await door.call('GET', `${MAPS}/all`)).text, created.text);
    const listed = (await door.call('GET', MAPS)).json() as unknown as {
      kind: string;
      items: { data: object }[];
    };
    assert.equal(listed.kind, 'ConfigMapList');
    assert.ok(listed.items.some(({ data }) => JSON.stringify(data) === '{"x":"1"}'));
    const stale = { metadata: { name: 'all', resourceVersion: '1' }, data: {} };
    assert.equal((await door.call('PUT', `${MAPS}/all`, { body: stale })).code, 409);
    const fresh = { metadata: { name: 'all', resourceVersion: metadata.resourceVersion }, data: { x: '2' } };
    assert.equal((await door.call('PUT', `${MAPS}/all`, { body: fresh })).code, 200);
    const patched = await door.call('PATCH', `${MAPS}/all`, {
      body: { data: { y: '3' } },
      headers: { 'content-type': 'application/merge-patch+json' },
    });
    assert.deepEqual((patched.json() as { data?: unknown }).data, { x: '2', y: '3' });
    const deleted = await door.call('DELETE', `${MAPS}/all`);
    assert.deepEqual(deleted.json(), {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name: 'all', kind: 'configmaps', uid: metadata.uid },
    });
  });

  const refusals: {
    name: string;
    method?: string;
    path: string;
    body?: unknown;
    headers?: Record<string, string>;
    code: number;
    reason: string;
    message?: RegExp;
  }[] = [
    {
      name: 'an object that is not there',
      path: `${MAPS}/none`,
      code: 404,
      reason: 'NotFound',
      message: /^configmaps "none" not found$/,
    },
    {
      name: 'a kind that is not served',
      path: '/api/v1/podtemplates',
      code: 404,
      reason: 'NotFound',
      message: /could not find the requested resource/,
    },
    { name: 'a group that is not served', path: '/apis/batch/v1/jobs', code: 404, reason: 'NotFound' },
    {
      name: 'a version that is not served',
      path: '/apis/storage.k8s.io/v9/csinodes',
      code: 404,
      reason: 'NotFound',
    },
    { name: 'a subresource that is not served', path: `${MAPS}/x/status`, code: 404, reason: 'NotFound' },
    {
      name: 'a cluster kind in a namespace',
      path: '/api/v1/namespaces/default/nodes',
      code: 404,
      reason: 'NotFound',
    },
    { name: 'a path that is nothing', path: '/nothing/here', code: 404, reason: 'NotFound' },
    {
      name: 'a method without meaning there',
      method: 'POST',
      path: `${MAPS}/x`,
      body: {},
      code: 405,
      reason: 'MethodNotAllowed',
    },
    {
      name: 'deletion of all namespaces at once',
      method: 'DELETE',
      path: '/api/v1/namespaces',
      code: 405,
      reason: 'MethodNotAllowed',
    },
    {
      name: 'creation without a namespace',
      method: 'POST',
      path: '/api/v1/configmaps',
      body: {},
      code: 405,
      reason: 'MethodNotAllowed',
    },
    {
      name: 'a body that is no JSON',
      method: 'POST',
      path: MAPS,
      body: '{',
      code: 400,
      reason: 'BadRequest',
      message: /JSON/,
    },
    {
      name: 'a body that is no object',
      method: 'POST',
      path: MAPS,
      body: '[]',
      code: 400,
      reason: 'BadRequest',
    },
    { name: 'no body', method: 'POST', path: MAPS, code: 400, reason: 'BadRequest', message: /no body/ },
    {
      name: 'text that is no UTF-8',
      method: 'POST',
      path: MAPS,
      body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
      code: 400,
      reason: 'BadRequest',
      message: /UTF-8/,
    },
    {
      name: 'deep nesting',
      method: 'POST',
      path: MAPS,
      body: `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
      code: 400,
      reason: 'BadRequest',
      message: /nested deeper/,
    },
    {
      name: 'a huge body',
      method: 'POST',
      path: MAPS,
      body: JSON.stringify({ data: { x: 'x'.repeat(4_000_000) } }),
      code: 413,
      reason: 'RequestEntityTooLarge',
    },
    {
      name: 'a poisoned key',
      method: 'POST',
      path: MAPS,
      body: '{"metadata":{"name":"p"},"__proto__":{"x":1}}',
      code: 400,
      reason: 'BadRequest',
    },
    {
      name: 'a poisoned key in disguise',
      method: 'POST',
      path: MAPS,
      body: '{"metadata":{"name":"p"},"\\u005f_proto__":{"x":1}}',
      code: 400,
      reason: 'BadRequest',
    },
    {
      name: 'protobuf that names no kind',
      method: 'POST',
      path: MAPS,
      body: 'k8s\u0000',
      headers: { 'content-type': 'application/vnd.kubernetes.protobuf' },
      code: 400,
      reason: 'BadRequest',
    },
    {
      name: 'broken protobuf',
      method: 'POST',
      path: MAPS,
      body: 'k8s\u0000\u00ff',
      headers: { 'content-type': 'application/vnd.kubernetes.protobuf' },
      code: 400,
      reason: 'BadRequest',
    },
    {
      name: 'an answer in protobuf only',
      path: MAPS,
      headers: { accept: 'application/vnd.kubernetes.protobuf' },
      code: 406,
      reason: 'NotAcceptable',
    },
    {
      name: 'a patch of no known type',
      method: 'PATCH',
      path: `${MAPS}/x`,
      body: {},
      code: 415,
      reason: 'UnsupportedMediaType',
    },
    {
      name: 'another kind',
      method: 'POST',
      path: MAPS,
      body: { kind: 'Secret' },
      code: 400,
      reason: 'BadRequest',
      message: /cannot be handled as a ConfigMap/,
    },
    {
      name: 'another API version',
      method: 'POST',
      path: MAPS,
      body: { apiVersion: 'v2' },
      code: 400,
      reason: 'BadRequest',
      message: /does not match the expected API version/,
    },
    {
      name: 'another namespace',
      method: 'POST',
      path: MAPS,
      body: { metadata: { name: 'a', namespace: 'b' } },
      code: 400,
      reason: 'BadRequest',
      message: /namespace/,
    },
    {
      name: 'metadata of the wrong type',
      method: 'POST',
      path: MAPS,
      body: { metadata: { name: 'a', labels: { x: 1 } } },
      code: 400,
      reason: 'BadRequest',
    },
    {
      name: 'an unknown field, strictly',
      method: 'POST',
      path: `${MAPS}?fieldValidation=Strict`,
      body: { metadata: { name: 'a' }, dta: {} },
      code: 400,
      reason: 'BadRequest',
      message: /unknown field "dta"/,
    },
    { name: 'a bad limit', path: `${MAPS}?limit=x`, code: 400, reason: 'BadRequest' },
    {
      name: 'a bad dry run',
      method: 'POST',
      path: `${MAPS}?dryRun=Some`,
      body: {},
      code: 422,
      reason: 'Invalid',
    },
    { name: 'a bad encoding', path: '/api/v1/namespaces/%ff/pods', code: 400, reason: 'BadRequest' },
    {
      name: 'a namespace that is not there',
      method: 'POST',
      path: '/api/v1/namespaces/none/configmaps',
      body: { metadata: { name: 'a' } },
      code: 404,
      reason: 'NotFound',
      message: /namespaces "none" not found/,
    },
  ];
  for (const { name, method = 'GET', path, body, headers = {}, code, reason, message } of refusals) {
    it(`refuses ${name}`, async () => {
      const answer = await door.call(method, path, { body, headers });
      assert.equal(answer.code, code, answer.text);
      const status = answer.json() as {
        kind?: string;
        status?: string;
        reason?: string;
        message?: string;
        code?: number;
      };
      assert.equal(status.kind, 'Status');
      assert.equal(status.status, 'Failure');
      assert.equal(status.reason, reason);
      assert.equal(status.code, code);
      if (message) assert.match(status.message ?? '', message);
      assert.equal((await door.call('GET', '/readyz')).text, 'ok');
    });
  }

  it('sends warnings as Warning headers', async () => {
    const answer = await door.call('POST', `${MAPS}?dryRun=All`, {
      body: { metadata: { name: 'w' }, odd: 1 },
    });
    assert.equal(answer.code, 201);
    assert.equal(answer.headers.warning, '299 - "unknown field \\"odd\\""');
  });

  it('a request without credentials is anonymous, one with bad credentials gets 401', async () => {
    assert.equal((await door.call('GET', '/version', { anonymous: true })).code, 200);
    assert.equal((await door.call('GET', MAPS, { anonymous: true })).code, 403);
    const forged = await door.call('GET', MAPS, {
      anonymous: true,
      headers: { authorization: 'Bearer forged' },
    });
    assert.equal(forged.code, 401);
  });

  it('impersonates when allowed', async () => {
    const answer = await door.call('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
      body: {},
      headers: { 'impersonate-user': 'jane' },
    });
    assert.match(answer.text, /"username":"jane"/);
    assert.equal((await door.call('GET', MAPS, { headers: { 'impersonate-user': 'jane' } })).code, 403);
  });

  it('answers in the requested media type: JSON, YAML, Table, PartialObjectMetadata', async () => {
    const table = await door.call('GET', '/api/v1/namespaces', {
      headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' },
    });
    assert.equal((table.json() as { kind?: string }).kind, 'Table');
    const partial = await door.call('GET', '/api/v1/namespaces', {
      headers: { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' },
    });
    assert.match(partial.text, /^\{"kind":"PartialObjectMetadataList"/);
    const yaml = await door.call('GET', '/api/v1/namespaces/default', {
      headers: { accept: 'application/yaml' },
    });
    assert.match(yaml.text, /^apiVersion: v1\nkind: Namespace\n/);
    const pretty = await door.call('GET', '/api/v1/namespaces/default?pretty=true');
    assert.match(pretty.text, /^\{\n {2}"apiVersion": "v1",\n/);
    const fromProtobuf = await door.call('GET', '/api/v1/namespaces/default', {
      headers: { accept: 'application/vnd.kubernetes.protobuf,application/json' },
    });
    assert.equal(fromProtobuf.headers['content-type'], 'application/json');
  });

  it('accepts YAML', async () => {
    const body = 'metadata:\n  name: yaml\ndata:\n  x: "1"\n';
    const answer = await door.call('POST', MAPS, { body, headers: { 'content-type': 'application/yaml' } });
    assert.equal(answer.code, 201, answer.text);
  });

  it('accepts protobuf, as kubectl sends it', async () => {
    const namespace = 'azhzAAoPCgJ2MRIJTmFtZXNwYWNlEhkKEQoBeBIAGgAiACoAMgA4AEIAEgAaAgoAGgAiAA==';
    const answer = await door.call('POST', '/api/v1/namespaces?fieldValidation=Strict', {
      body: Buffer.from(namespace, 'base64').toString('latin1'),
      headers: { 'content-type': 'application/vnd.kubernetes.protobuf' },
    });
    assert.equal(answer.code, 201, answer.text);
    assert.equal((answer.json() as unknown as { metadata: { name: string } }).metadata.name, 'x');
  });

  it('streams a watch', async () => {
    const first = (await door.call('GET', MAPS)).json() as unknown as {
      metadata: { resourceVersion: string };
    };
    const stream = await ask(
      `${door.url}${MAPS}?watch=1&allowWatchBookmarks=1&timeoutSeconds=1&resourceVersion=${first.metadata.resourceVersion}`,
      { agent: new Agent(door.tls) },
    );
    await door.call('POST', MAPS, { body: { metadata: { name: 'watched' } } });
    await door.call('DELETE', `${MAPS}/watched`);
    const frames = (await textOf(stream))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      frames.map(({ type, object }) => `${type} ${object.metadata.name ?? ''}`),
      ['ADDED watched', 'DELETED watched', 'BOOKMARK '],
    );
  });

  it('counts requests in its metrics', async () => {
    await door.call('GET', `${MAPS}/none`);
    const { text } = await door.call('GET', '/metrics');
    assert.match(
      text,
      /apiserver_request_total\{verb="GET",group="",version="v1",resource="configmaps",subresource="",scope="resource",code="404"\} [1-9]/,
    );
    assert.match(text, /apiserver_request_duration_seconds_bucket\{.*le="\+Inf"\} /);
    assert.match(text, /apiserver_current_inflight_requests\{request_kind="readOnly"\} 1/);
  });
});

it('serves additional paths, authorized by RBAC', async (t) => {
  const door = await openDoor(t, {
    paths: {
      '/own/word': async ({ query, response }: { query: URLSearchParams; response: ServerResponse }) => {
        response.end(query.get('say'));
      },
    },
  });
  assert.equal((await door.call('GET', '/own/word?say=hello')).text, 'hello');
  assert.equal((await door.call('GET', '/own/word?say=hello', { anonymous: true })).code, 403);
  assert.equal((await door.call('POST', '/own/word')).code, 405);
});

it('a watch from a compacted resource version gets 410 Gone in the stream', async (t) => {
  const door = await openDoor(t, { history: { maxChanges: 5 } });
  const old = await door.call('GET', `${MAPS}?watch=1&resourceVersion=1`);
  assert.equal(old.code, 200);
  const frame = JSON.parse(old.text) as { type: string; object: { code: number; reason: string } };
  assert.equal(frame.type, 'ERROR');
  assert.equal(frame.object.code, 410);
  assert.equal(frame.object.reason, 'Expired');
});

it('a thousand watchers get a change, and leave nothing behind', async (t) => {
  const door = await openDoor(t);
  const agent = new Agent(door.tls);
  t.after(() => agent.destroy());
  const watchers: IncomingMessage[] = [];
  // Fifty handshakes at a time: a thousand at once would only measure the machine's load.
  while (watchers.length < 1000) {
    const open = () => ask(`${door.url}${MAPS}?watch=1`, { agent });
    watchers.push(...(await Promise.all(Array.from({ length: 50 }, open))));
  }
  const heard = watchers.map(async (answer) => {
    let text = '';
    for await (const chunk of answer) {
      text += chunk;
      if (text.includes('"name":"news"')) return true;
    }
    return false;
  });
  await door.call('POST', MAPS, { body: { metadata: { name: 'news' } } });
  assert.ok((await Promise.all(heard)).every(Boolean));
  agent.destroy();
  const open = async () =>
    /apiserver_longrunning_requests\{verb="WATCH".*\} (\d+)/.exec(
      (await door.call('GET', '/metrics')).text,
    )?.[1];
  while ((await open()) !== '0') await new Promise((resolve) => setImmediate(resolve));
});

it('a watcher that does not read is disconnected, so memory stays bounded', async (t) => {
  const door = await openDoor(t);
  const socket = connect({ port: Number(new URL(door.url).port), host: '127.0.0.1', ...door.tls });
  t.after(() => socket.destroy());
  await once(socket, 'secureConnect');
  socket.write(`GET ${MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n`);
  await once(socket, 'data');
  socket.pause();
  const client = door.server.client(door.server.adminUser);
  const maps = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };
  const filler = 'x'.repeat(2_000);
  for (let at = 0; at < 14_000; at++) {
    const body = { metadata: { namespace: 'default', name: 'busy' }, data: { at: String(at), filler } };
    await (at === 0 ? client.create(maps, body as never) : client.update(maps, body as never));
  }
  const { text } = await door.call('GET', '/metrics');
  assert.match(text, /apiserver_longrunning_requests\{verb="WATCH".*\} 0/);
});

it('stops while watches are open, and unlocks the data directory', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'door-'));
  t.after(() => rm(dir, { recursive: true }));
  const kubeconfigPath = join(dir, 'kubeconfig');
  const door = await openDoor(t, { dataDir: join(dir, 'data'), kubeconfigPath });
  assert.equal((await stat(kubeconfigPath)).mode & 0o777, 0o600);
  assert.equal(JSON.parse(await readFile(kubeconfigPath, 'utf8')).clusters[0].cluster.server, door.url);
  const watching = door.call('GET', `${MAPS}?watch=1`);
  await door.call('POST', MAPS, { body: { metadata: { name: 'kept' } } });
  await door.server.stop();
  assert.match((await watching).text, /"name":"kept"/);
  const again = await openDoor(t, { dataDir: join(dir, 'data') });
  assert.equal((await again.call('GET', `${MAPS}/kept`)).code, 200);
});

function once(socket: TLSSocket, event: string): Promise<void> {
  return new Promise((resolve) => socket.once(event, () => resolve()));
}
