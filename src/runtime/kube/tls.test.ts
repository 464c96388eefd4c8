// TLS with a real server: who it must be, who we are, which protocol, and what is said when it does not fit.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { nodes } from '../../api/kinds.ts';
import { secretValue } from '../log/secret-value.ts';
import type { AuthConfig, Material, TlsConfig } from './kube-config.ts';
import { type Authority, createAuthority, type Pair } from './testing/certificates.ts';
import { clientFor } from './testing/client-for.ts';

const inline = (value: string): Material => ({ kind: 'inline', field: 'data', value: secretValue(value) });

let authority: Authority;
let stranger: Authority;
let good: Pair;
before(async () => {
  authority = createAuthority('ours');
  stranger = createAuthority('theirs');
  good = authority.issue({ commonName: 'server', names: ['localhost', 'kube.test', '127.0.0.1'] });
});

interface TlsServer extends AsyncDisposable {
  url: string;
  /** `h1 alice`: protocol and the client's common name, per request. */
  seen: string[];
  connections: number;
}

/** Speaks HTTP/2 and HTTP/1.1, as an API server does, and asks for a client certificate. */
async function startTlsServer({ certificate, key }: Pair): Promise<TlsServer> {
  const tls = {
    cert: certificate,
    key,
    ca: authority.certificate,
    requestCert: true,
    rejectUnauthorized: false,
  };
  const server = createSecureServer({ ...tls, allowHTTP1: true });
  const sockets = new Set<TLSSocket>();
  const result = {
    url: '',
    seen: [] as string[],
    connections: 0,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
  server.on('secureConnection', (socket: TLSSocket) => {
    result.connections++;
    sockets.add(socket);
  });
  const answer = (
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
  ): void => {
    const socket = ('stream' in request ? request.stream.session?.socket : request.socket) as TLSSocket;
    const name = socket.authorized ? String(socket.getPeerCertificate().subject.CN) : 'nobody';
    result.seen.push(`${request.httpVersion === '2.0' ? 'h2' : 'h1'} ${name}`);
    response.setHeader('content-type', 'application/json');
    if (request.url?.includes('watch=')) {
      (response as ServerResponse).write(
        '{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1"}}}\n',
      );
      return;
    }
    response.end('{"metadata":{"name":"a"}}');
  };
  server.on('request', answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  result.url = `https://localhost:${(server.address() as AddressInfo).port}`;
  return result;
}

test('the server is verified by the kubeconfig’s CA, over HTTP/1.1 connections that are kept alive', async () => {
  await using server = await startTlsServer(good);
  await using kube = clientFor({ server: server.url, tls: { ca: inline(authority.certificate) } });
  for (let i = 0; i < 10; i++) await kube.get(nodes, { name: 'a' });
  assert.deepEqual(new Set(server.seen), new Set(['h1 nobody']));
  // A second one is opened when a request starts in the very turn in which the one before it ends.
  assert.ok(server.connections <= 2, `${server.connections} connections for ten requests`);
});

test('each watch has a connection of its own', async () => {
  await using server = await startTlsServer(good);
  await using kube = clientFor({ server: server.url, tls: { ca: inline(authority.certificate) } });
  const watches = Array.from({ length: 5 }, () => kube.watch(nodes)[Symbol.asyncIterator]());
  for (const watch of watches) assert.equal((await watch.next()).done, false);
  assert.deepEqual(server.seen, Array(5).fill('h1 nobody'));
  assert.equal(server.connections, 5);
  for (const watch of watches) await watch.return?.();
});

test('a client certificate authenticates, from data and from files', async () => {
  const alice = authority.issue({ commonName: 'alice', client: true });
  const directory = await mkdtemp(join(tmpdir(), 'berth-tls-'));
  try {
    const paths = {
      ca: join(directory, 'ca'),
      certificate: join(directory, 'crt'),
      key: join(directory, 'key'),
    };
    await writeFile(paths.ca, authority.certificate);
    await writeFile(paths.certificate, alice.certificate);
    await writeFile(paths.key, alice.key);
    const file = (path: string): Material => ({ kind: 'file', field: 'file', path });
    const configs: { tls: TlsConfig; auth: AuthConfig }[] = [
      {
        tls: { ca: inline(authority.certificate) },
        auth: { clientCertificate: { certificate: inline(alice.certificate), key: inline(alice.key) } },
      },
      {
        tls: { ca: file(paths.ca) },
        auth: { clientCertificate: { certificate: file(paths.certificate), key: file(paths.key) } },
      },
    ];
    for (const config of configs) {
      await using server = await startTlsServer(good);
      await using kube = clientFor({ server: server.url, ...config });
      await kube.get(nodes, { name: 'a' });
      assert.deepEqual(server.seen, ['h1 alice']);
    }
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('a new certificate from a plugin is used for new connections', async () => {
  const pairs = [
    authority.issue({ commonName: 'alice', client: true }),
    authority.issue({ commonName: 'bob', client: true }),
  ];
  const directory = await mkdtemp(join(tmpdir(), 'berth-exec-'));
  try {
    // Each run gives the next certificate, already expired: so that each request asks again.
    const script = join(directory, 'plugin.mjs');
    const count = join(directory, 'count');
    await writeFile(
      script,
      `import { appendFileSync, readFileSync } from 'node:fs';
       const pairs = ${JSON.stringify(pairs)};
       appendFileSync(${JSON.stringify(count)}, 'x');
       const { certificate, key } = pairs[readFileSync(${JSON.stringify(count)}).length - 1];
       const status = { clientCertificateData: certificate, clientKeyData: key, expirationTimestamp: '2020-01-01T00:00:00Z' };
       console.log(JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status }));`,
    );
    await using server = await startTlsServer(good);
    await using kube = clientFor({
      server: server.url,
      tls: { ca: inline(authority.certificate) },
      auth: {
        exec: {
          apiVersion: 'client.authentication.k8s.io/v1',
          command: process.execPath,
          args: [script],
          env: {},
        },
      },
    });
    await kube.get(nodes, { name: 'a' });
    await kube.get(nodes, { name: 'a' });
    assert.deepEqual(server.seen, ['h1 alice', 'h1 bob']);
  } finally {
    await rm(directory, { recursive: true });
  }
});

const refusals: { name: string; pair: () => Pair; tls?: () => TlsConfig; says: RegExp }[] = [
  {
    name: 'a server of another CA',
    pair: () => stranger.issue({ commonName: 'server', names: ['localhost'] }),
    says: /certificate of localhost:\d+ is signed by another CA than the one in the-kubeconfig/,
  },
  {
    name: 'a certificate for another name',
    pair: () => authority.issue({ commonName: 'server', names: ['elsewhere.test'] }),
    says: /is for another name; set tls-server-name in the-kubeconfig/,
  },
  {
    name: 'a certificate that has expired',
    pair: () => authority.issue({ commonName: 'server', names: ['localhost'], expired: true }),
    says: /has expired; renew it/,
  },
  {
    name: 'a tls-server-name that does not fit',
    pair: () => good,
    tls: () => ({ ca: inline(authority.certificate), serverName: 'elsewhere.test' }),
    says: /is for another name/,
  },
];

for (const { name, pair, tls, says } of refusals) {
  test(`${name} is refused, and said why`, async () => {
    await using server = await startTlsServer(await pair());
    await using kube = clientFor({
      server: server.url,
      tls: tls?.() ?? { ca: inline(authority.certificate) },
    });
    await assert.rejects(kube.get(nodes, { name: 'a' }), { reason: 'Unreachable', message: says });
    assert.deepEqual(server.seen, []);
    const watch = kube.watch(nodes)[Symbol.asyncIterator]();
    await assert.rejects(watch.next(), { reason: 'Unreachable', message: says });
  });
}

test('tls-server-name is what the certificate must be for', async () => {
  const pair = authority.issue({ commonName: 'server', names: ['elsewhere.test'] });
  await using server = await startTlsServer(pair);
  const tls = { ca: inline(authority.certificate), serverName: 'elsewhere.test' };
  await using kube = clientFor({ server: server.url, tls });
  await kube.get(nodes, { name: 'a' });
});

test('insecure-skip-tls-verify accepts any certificate', async () => {
  await using server = await startTlsServer(stranger.issue({ commonName: 'x', names: ['y'] }));
  await using kube = clientFor({ server: server.url, tls: { insecureSkipVerify: true } });
  await kube.get(nodes, { name: 'a' });
});

test('a CA file that holds no certificate is an error of the request, not of the process', async () => {
  await using server = await startTlsServer(good);
  await using kube = clientFor({ server: server.url, tls: { ca: inline('not a certificate') } });
  await assert.rejects(kube.get(nodes, { name: 'a' }), { name: 'KubeError', reason: 'Unreachable' });
  const mine = { certificate: inline('no certificate'), key: inline('no key') };
  await using other = clientFor({ server: server.url, auth: { clientCertificate: mine } });
  await assert.rejects(other.get(nodes, { name: 'a' }), {
    reason: 'Unreachable',
    message: /check the certificates in the-kubeconfig/,
  });
  const watch = other.watch(nodes)[Symbol.asyncIterator]();
  await assert.rejects(watch.next(), { reason: 'Unreachable' });
});
