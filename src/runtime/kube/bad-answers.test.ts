// What users read when a server misbehaves: one clear KubeError that names the host, or the file that led there.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { nodes } from '../../api/kinds.ts';
import { secretValue } from '../log/secret-value.ts';
import { KubeError, type KubeErrorReason } from './kube-error.ts';
import { clientFor } from './testing/client-for.ts';
import { failure, json, startRecordingServer } from './testing/recording-server.ts';

const HTML = '<!DOCTYPE html><html><body>Login</body></html>';

function raw(code: number, type: string, body: string): (response: ServerResponse) => void {
  return (response) => {
    response.writeHead(code, { 'content-type': type });
    response.end(body);
  };
}

const answers: {
  name: string;
  answer: (response: ServerResponse) => void;
  reason: KubeErrorReason;
  code: number;
  says: RegExp;
  silent?: boolean;
}[] = [
  {
    name: 'HTML with 200',
    answer: raw(200, 'text/html', HTML),
    reason: 'BadAnswer',
    code: 200,
    says: /an HTML page; is a proxy/,
  },
  {
    name: 'HTML with 502',
    answer: raw(502, 'text/html', HTML),
    reason: 'ServiceUnavailable',
    code: 502,
    says: /answered 502 with an HTML page/,
  },
  {
    name: 'half of a JSON object',
    answer: raw(200, 'application/json', '{"a":'),
    reason: 'BadAnswer',
    code: 200,
    says: /cut off or broken/,
  },
  {
    name: 'an empty body',
    answer: raw(200, 'application/json', ''),
    reason: 'BadAnswer',
    code: 200,
    says: /an empty body/,
  },
  {
    name: 'plain text',
    answer: raw(200, 'text/plain', 'hello'),
    reason: 'BadAnswer',
    code: 200,
    says: /text\/plain instead of JSON/,
  },
  {
    name: 'an unknown status code',
    answer: raw(418, 'text/plain', 'teapot'),
    reason: 'Unknown',
    code: 418,
    says: /answered 418/,
  },
  {
    name: 'a connection that breaks in the body',
    answer: (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
      response.write('{', () => response.destroy());
    },
    reason: 'Unreachable',
    code: 0,
    says: /broke off/,
  },
  {
    name: 'a server that accepts and never answers',
    answer: () => {},
    reason: 'Unreachable',
    code: 0,
    says: /did not answer in time/,
    silent: true,
  },
  {
    name: 'a server that falls silent in the body',
    answer: (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{');
    },
    reason: 'Unreachable',
    code: 0,
    says: /stopped sending/,
    silent: true,
  },
];

for (const { name, answer, reason, code, says, silent } of answers) {
  test(`${name}: ${reason}, naming the request and the host`, async () => {
    await using server = await startRecordingServer((_, response) => answer(response));
    await using kube = clientFor(
      { server: server.url },
      silent ? { timeouts: { headersTimeoutMs: 100, bodyTimeoutMs: 100 } } : {},
    );
    await assert.rejects(kube.get(nodes, { name: 'a' }), (error: unknown) => {
      assert.ok(error instanceof KubeError);
      assert.equal(error.reason, reason);
      assert.equal(error.code, code);
      assert.match(error.message, says);
      assert.match(error.message, /GET \/api\/v1\/nodes\/a/);
      assert.ok(error.message.includes(server.host), error.message);
      return true;
    });
  });
}

test('a list that is no list is a BadAnswer', async () => {
  await using server = await startRecordingServer((_, response) => json(response, 200, { kind: 'Pod' }));
  await using kube = clientFor({ server: server.url });
  await assert.rejects(kube.list(nodes), { reason: 'BadAnswer' });
});

test('nothing listens there: the error names host and configuration', async () => {
  const port = await freePort();
  await using kube = clientFor({ server: `http://127.0.0.1:${port}` });
  await assert.rejects(kube.get(nodes, { name: 'a' }), {
    reason: 'Unreachable',
    message: new RegExp(`nothing listens at 127.0.0.1:${port}, given by the-kubeconfig`),
  });
});

test('a name that does not resolve', async () => {
  await using kube = clientFor({ server: 'http://no-such-host.invalid' });
  await assert.rejects(kube.get(nodes, { name: 'a' }), { message: /no-such-host.invalid.*does not resolve/ });
});

test('https to a server that speaks http, and the reverse', async () => {
  await using plain = await startRecordingServer((_, response) => json(response, 200, {}));
  await using kube = clientFor({ server: plain.url.replace('http:', 'https:') });
  await assert.rejects(kube.get(nodes, { name: 'a' }), { reason: 'Unreachable', message: /TLS/ });
});

test('an expired token is read again once, and the request repeated', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'berth-token-'));
  const path = join(directory, 'token');
  await writeFile(path, 'old-token\n');
  try {
    await using server = await startRecordingServer(({ headers }, response) => {
      if (headers.authorization === 'Bearer new-token') json(response, 200, { metadata: {} });
      else json(response, 401, failure(401, 'Unauthorized'));
    });
    await using kube = clientFor({
      server: server.url,
      auth: { token: { kind: 'file', field: 'tokenFile', path } },
    });
    const error = await kube.get(nodes, { name: 'a' }).catch((thrown: Error) => thrown);
    assert.ok(error instanceof KubeError && error.reason === 'Unauthorized');
    assert.match(error.message, /does not accept the credentials of the-kubeconfig/);
    assert.doesNotMatch(error.message, /old-token/);
    assert.equal(server.asked.length, 2);
    await writeFile(path, 'new-token\n');
    await kube.get(nodes, { name: 'a' });
    await rm(path);
    await kube.get(nodes, { name: 'a' });
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('a token file that cannot be read is named, with the field that names it', async () => {
  await using kube = clientFor({
    server: 'http://127.0.0.1:1',
    auth: { token: { kind: 'file', field: 'users[me].user.tokenFile', path: '/nowhere/token' } },
  });
  await assert.rejects(kube.get(nodes, { name: 'a' }), {
    reason: 'Unauthorized',
    message: /cannot read \/nowhere\/token, named by users\[me\]\.user\.tokenFile/,
  });
});

test('no error shows a token, whatever happens', async () => {
  const token = 'very-secret-token';
  const auth = { token: { kind: 'inline', field: 'token', value: secretValue(token) } } as const;
  for (const { answer, silent } of answers) {
    await using server = await startRecordingServer((_, response) => answer(response));
    await using kube = clientFor(
      { server: server.url, auth },
      silent ? { timeouts: { headersTimeoutMs: 100, bodyTimeoutMs: 100 } } : {},
    );
    const error = await kube.get(nodes, { name: 'a' }).catch((thrown: Error) => thrown);
    const { inspect } = await import('node:util');
    assert.ok(!inspect(error, { depth: 10, showHidden: true }).includes(token));
  }
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
