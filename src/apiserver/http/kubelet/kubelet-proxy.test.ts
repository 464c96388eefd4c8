// Logs, exec and the like through a real API server, to a TLS server that stands in for a kubelet and says what it was asked.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, request as httpsRequest } from 'node:https';
import { type AddressInfo, Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { suite, type TestContext, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { clusterRoles, nodes, type Pod, pods, type RoleBinding, roleBindings } from '../../../api/kinds.ts';
import { realClock } from '../../../runtime/time/clock.ts';
import type { ApiServer } from '../../api-server.ts';
import { createPki } from '../../auth/pki.ts';
import { nodeUser } from '../../auth/users.ts';
import { draft, testServer } from '../../testing/test-server.ts';
import { createKubeletClient } from './kubelet-client.ts';
import { forward } from './kubelet-proxy.ts';

interface Asked {
  method: string | undefined;
  url: string | undefined;
  user: string;
}

interface World {
  server: ApiServer;
  asked: Asked[];
  call(method: string, path: string, headers?: Record<string, string>, user?: string): Promise<Answer>;
}

interface Answer {
  code: number;
  text: string;
  /** After a switch of protocols. */
  socket?: TLSSocket;
  headers: IncomingMessage['headers'];
}

const UPGRADE = {
  Connection: 'Upgrade',
  Upgrade: 'SPDY/3.1',
  'X-Stream-Protocol-Version': 'v4.channel.k8s.io',
};

async function world(t: TestContext): Promise<World> {
  const server = await testServer(t, { listen: true });
  const asked: Asked[] = [];
  const { keyPem, certificatePem } = await (await createPki({ clock: realClock })).serving();
  const noted = (message: IncomingMessage): void => {
    const { subject } = (message.socket as TLSSocket).getPeerCertificate();
    asked.push({ method: message.method, url: message.url, user: String(subject.CN) });
  };
  const kubelet = createServer(
    { key: keyPem, cert: certificatePem, ca: server.pki.caPem, requestCert: true, rejectUnauthorized: true },
    (message, response) => {
      noted(message);
      if (message.url?.includes('/containerLogs/default/silent/')) {
        response.writeHead(400).end('container "c" in pod "silent" is waiting to start\n');
        return;
      }
      if (message.url?.includes('/containerLogs/default/two/')) {
        response.writeHead(503).end('shutting down');
        return;
      }
      response.writeHead(200, { 'Content-Type': 'text/plain' });
      response.write('first line\n');
      if (!message.url?.includes('follow=true')) response.end();
    },
  );
  kubelet.on('upgrade', (message: IncomingMessage, socket: TLSSocket) => {
    noted(message);
    socket.on('error', () => {});
    const version = message.headers['x-stream-protocol-version'];
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${message.headers.upgrade}\r\n` +
        `X-Stream-Protocol-Version: ${version}\r\n\r\nhello`,
    );
    if (message.url?.includes('command=short')) socket.end('last words');
    socket.on('data', (data) => socket.write(`echo ${data}`));
  });
  kubelet.listen(0, '127.0.0.1');
  await once(kubelet, 'listening');
  t.after(() => {
    kubelet.closeAllConnections();
    kubelet.close();
  });
  const client = server.client(server.adminUser);
  const { port } = kubelet.address() as AddressInfo;
  await client.create(
    nodes,
    draft({
      metadata: { name: 'real' },
      status: {
        addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
        daemonEndpoints: { kubeletEndpoint: { Port: port } },
      },
    }),
  );
  await client.create(nodes, draft({ metadata: { name: 'simulated' } }));
  const pod = (name: string, nodeName: string, containers = ['c']): Promise<Pod> =>
    client.create(
      pods,
      draft<Pod>({
        metadata: { namespace: 'default', name },
        spec: { nodeName, containers: containers.map((each) => ({ name: each, image: 'i' })) },
      }),
    );
  await pod('web', 'real');
  await pod('silent', 'real');
  await pod('two', 'real', ['a', 'b']);
  await pod('pretended', 'simulated');
  await pod('pending', '');
  return {
    server,
    asked,
    call: (method, path, headers = {}, user = 'kubernetes-admin') =>
      new Promise((resolve, reject) => {
        const admin = server.pki.issueClientCertificate({
          commonName: user,
          organizations: user === 'kubernetes-admin' ? ['system:masters'] : [],
        });
        const asking = httpsRequest(new URL(path, server.url), {
          method,
          headers,
          agent: false,
          ca: server.pki.caPem,
          key: admin.keyPem,
          cert: admin.certificatePem,
        });
        asking.on('upgrade', (answer, socket, head) => {
          const joined = socket as TLSSocket;
          t.after(() => joined.destroy());
          resolve({ code: 101, text: String(head), socket: joined, headers: answer.headers });
        });
        asking.on('response', (answer) => {
          let text = '';
          answer.on('data', (data) => {
            text += data;
            if (path.includes('follow=true')) {
              resolve({ code: answer.statusCode ?? 0, text, headers: answer.headers });
              asking.destroy();
            }
          });
          answer.on('end', () => resolve({ code: answer.statusCode ?? 0, text, headers: answer.headers }));
        });
        asking.on('error', reject);
        asking.end();
      }),
  };
}

const POD = '/api/v1/namespaces/default/pods';

suite('[REAL-1] through the API server to the kubelet', () => {
  test("logs, whole and followed; the kubelet sees the API server's own user", async (t) => {
    const { call, asked } = await world(t);
    const whole = await call('GET', `${POD}/web/log?tailLines=3&container=c&pretty=true`);
    assert.deepEqual([whole.code, whole.text], [200, 'first line\n']);
    const followed = await call('GET', `${POD}/web/log?follow=true`);
    assert.equal(followed.text, 'first line\n');
    const user = 'kube-apiserver-kubelet-client';
    assert.deepEqual(asked, [
      { method: 'GET', url: '/containerLogs/default/web/c?tailLines=3', user },
      { method: 'GET', url: '/containerLogs/default/web/c?follow=true', user },
    ]);
  });

  for (const method of ['POST', 'GET']) {
    test(`exec by ${method} switches protocols and carries bytes both ways`, async (t) => {
      const { call, asked } = await world(t);
      const query = 'command=sh&command=-c&command=a%20b&stdin=true&stdout=true&tty=true';
      const { code, socket, headers, text } = await call(method, `${POD}/web/exec?${query}`, UPGRADE);
      assert.equal(code, 101);
      assert.equal(headers['x-stream-protocol-version'], 'v4.channel.k8s.io');
      assert.ok(socket);
      const heard = [text];
      socket.on('data', (data) => {
        heard.push(String(data));
      });
      while (heard.join('') !== 'hello') await once(socket, 'data');
      socket.write('ping');
      while (heard.join('') !== 'helloecho ping') await once(socket, 'data');
      assert.equal(
        asked[0]?.url,
        '/exec/default/web/c?input=1&output=1&tty=1&command=sh&command=-c&command=a+b',
      );
    });
  }

  test("the kubelet's last bytes arrive although it has closed its side already", async (t) => {
    const { server } = await world(t);
    const { status } = server.reader.get(nodes, { name: 'real' }) ?? {};
    const port = status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
    const received: string[] = [];
    const gone = Promise.withResolvers<void>();
    // A client that takes nothing until the kubelet is gone.
    const client = new Duplex({
      read() {},
      write(chunk, _encoding, done) {
        received.push(String(chunk));
        void gone.promise.then(() => done());
      },
    });
    const message = Object.assign(new IncomingMessage(new Socket()), { method: 'POST' });
    message.headers = { upgrade: 'SPDY/3.1' };
    const response = new ServerResponse(message);
    response.assignSocket(client as never);
    const kubelet = createKubeletClient({ pki: server.pki, clock: realClock });
    const over = forward({
      message,
      response,
      upgrade: { socket: client, head: Buffer.alloc(0) },
      to: { node: 'real', host: '127.0.0.1', port },
      path: '/exec/default/web/c?command=short',
      kubelet(asked) {
        const request = kubelet(asked);
        request.on('upgrade', (_answer, socket) => socket.once('close', () => gone.resolve()));
        return request;
      },
      stopping: new AbortController().signal,
    });
    await over;
    assert.match(received.join(''), /\r\n\r\nhello.*last words$/s);
  });

  test('attach and port-forward', async (t) => {
    const { call, asked } = await world(t);
    assert.equal((await call('POST', `${POD}/web/attach?stdout=1`, UPGRADE)).code, 101);
    assert.equal((await call('POST', `${POD}/web/portforward?ports=80`, UPGRADE)).code, 101);
    assert.deepEqual(
      asked.map(({ url }) => url),
      ['/attach/default/web/c?output=1', '/portForward/default/web?port=80'],
    );
  });

  test("a node's own paths", async (t) => {
    const { call, asked, server } = await world(t);
    const { status } = server.reader.get(nodes, { name: 'real' }) ?? {};
    const port = status?.daemonEndpoints?.kubeletEndpoint?.Port;
    assert.equal((await call('GET', '/api/v1/nodes/real/proxy/stats/summary?only=x')).text, 'first line\n');
    assert.equal((await call('GET', `/api/v1/nodes/real:${port}/proxy/metrics`)).code, 200);
    assert.equal((await call('POST', '/api/v1/nodes/real/proxy/run/a%2Fb')).code, 200);
    assert.deepEqual(
      asked.map(({ method, url }) => `${method} ${url}`),
      ['GET /stats/summary?only=x', 'GET /metrics', 'POST /run/a%2Fb'],
    );
    assert.equal((await call('GET', '/api/v1/nodes/real:22/proxy/')).code, 400);
  });

  const refusals: [string, string, string, Record<string, string>, number, RegExp][] = [
    ['a pod that is not there', 'GET', `${POD}/none/log`, {}, 404, /pods \\"none\\" not found/],
    ['no container of two', 'GET', `${POD}/two/log`, {}, 400, /choose one of: \[a b\]/],
    [
      'another container',
      'GET',
      `${POD}/web/log?container=x`,
      {},
      400,
      /container x is not valid for pod web/,
    ],
    ["a kubelet's error", 'GET', `${POD}/silent/log`, {}, 400, /is waiting to start/],
    [
      'a kubelet that cannot answer now',
      'GET',
      `${POD}/two/log?container=a`,
      {},
      503,
      /"message":"shutting down","reason":"InternalError"/,
    ],
    ['a simulated node', 'GET', `${POD}/pretended/log`, {}, 400, /has no kubelet that serves/],
    [
      'a pod without a node',
      'POST',
      `${POD}/pending/exec?command=a&stdout=1`,
      UPGRADE,
      400,
      /does not have a host/,
    ],
    ['no command', 'POST', `${POD}/web/exec?stdout=1`, UPGRADE, 400, /a command/],
    ['no stream', 'POST', `${POD}/web/exec?command=a`, UPGRADE, 400, /stdin, stdout/],
    ['no upgrade', 'POST', `${POD}/web/exec?command=a&stdout=1`, {}, 400, /Upgrade header/],
    ['a method', 'DELETE', `${POD}/web/log`, {}, 405, /not supported/],
    ['an upgrade elsewhere', 'GET', `${POD}/none`, UPGRADE, 404, /not found/],
  ];
  test('requests that are rejected', async (t) => {
    const { call } = await world(t);
    for (const [name, method, path, headers, code, message] of refusals) {
      const answer = await call(method, path, headers);
      assert.equal(answer.code, code, `${name}: ${answer.text}`);
      assert.match(answer.text, message, name);
    }
    assert.equal((await call('GET', `${POD}/pending/log`)).code, 204);
    assert.equal((await call('GET', `${POD}/web`, UPGRADE)).code, 200);
  });

  test('[SEC-4] reading pods is not enough to run something in one', async (t) => {
    const { call, server } = await world(t);
    const admin = server.client(server.adminUser);
    const allow = async (name: string, verbs: string[]) => {
      await admin.create(
        clusterRoles,
        draft({
          metadata: { name },
          rules: [{ apiGroups: [''], resources: ['pods', 'pods/exec', 'pods/log'], verbs }],
        }),
      );
      await admin.create(
        roleBindings,
        draft<RoleBinding>({
          metadata: { namespace: 'default', name },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
          subjects: [{ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' }],
        }),
      );
    };
    await allow('reader', ['get']);
    await allow('runner', ['get', 'create']);
    const exec = `${POD}/web/exec?command=a&stdout=1`;
    assert.equal((await call('GET', exec, UPGRADE, 'reader')).code, 403);
    assert.equal((await call('GET', `${POD}/web/log`, {}, 'reader')).code, 200);
    assert.equal((await call('GET', exec, UPGRADE, 'runner')).code, 101);
    assert.equal((await call('GET', '/api/v1/nodes/real/proxy/metrics', {}, 'runner')).code, 403);
    assert.equal((await call('GET', `${POD}/web/log`, {}, nodeUser('real').name)).code, 403);
  });

  test('streams end when the server stops', async (t) => {
    const { call, server } = await world(t);
    const { socket } = await call('POST', `${POD}/web/attach?stdout=1`, UPGRADE);
    assert.ok(socket);
    const closed = once(socket, 'close');
    socket.resume();
    await server.stop();
    await closed;
  });

  test('an unreachable kubelet', async (t) => {
    const { call, server } = await world(t);
    const admin = server.client(server.adminUser);
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    taken.close();
    await once(taken, 'close');
    const status = { daemonEndpoints: { kubeletEndpoint: { Port: port } } };
    await admin.patch(nodes, { name: 'real' }, { status }, { type: 'merge', subresource: 'status' });
    const answer = await call('GET', `${POD}/web/log`);
    assert.equal(answer.code, 500);
    assert.match(answer.text, /the kubelet of node \\"real\\" at 127\.0\.0\.1:\d+ cannot be reached/);
  });
});
