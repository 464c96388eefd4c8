// Writes of which only the version is wanted, against a server that says for itself what it speaks.

import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type PersistentVolumeClaim, persistentVolumeClaims } from '../../api/kinds.ts';
import type { Draft } from '../../api/object.ts';
import { decodeObject } from '../../api/protobuf/decode-object.ts';
import { encodeObject } from '../../api/protobuf/encode-object.ts';
import { PROTOBUF } from './brief-writes.ts';
import { isConflict, KubeError } from './kube-error.ts';
import { clientFor } from './testing/client-for.ts';
import { failure } from './testing/recording-server.ts';

const JSON_TYPE = 'application/json';
const TYPE = { apiVersion: 'v1', kind: 'PersistentVolumeClaim' };
type Sent = Record<string, unknown> & { metadata: object };

interface Speech {
  /** How it answers whoever accepts protobuf. */
  answers: 'protobuf' | 'json';
  takes?: 'protobuf' | 'json';
  /** Instead of storing what it was sent. */
  refuses?: { code: number; reason: string };
  garbage?: boolean;
}

/** Stores nothing; gives every write the next version. */
async function start(t: TestContext, speech: Speech) {
  const asked: { type: string | undefined; accept: string | undefined; body: Sent }[] = [];
  const server = createServer(async (request, response) => {
    const type = request.headers['content-type'];
    const bytes = await bodyOf(request);
    if (type === PROTOBUF && speech.takes === 'json') {
      asked.push({ type, accept: request.headers.accept, body: { metadata: {} } });
      response.writeHead(415, { 'content-type': JSON_TYPE });
      response.end(JSON.stringify(failure(415, 'UnsupportedMediaType')));
      return;
    }
    const body = (type === PROTOBUF ? decodeObject(bytes) : JSON.parse(bytes.toString())) as Sent;
    asked.push({ type, accept: request.headers.accept, body });
    const { refuses } = speech;
    const binary = speech.answers === 'protobuf' && request.headers.accept?.includes(PROTOBUF);
    const metadata = {
      ...body.metadata,
      uid: 'u',
      resourceVersion: `${asked.length}`,
      creationTimestamp: '2026-11-15T07:00:00Z',
      labels: { added: 'by-the-server' },
    };
    const details = { message: 'words of the server', details: { name: 'c' } };
    const status = refuses && failure(refuses.code, refuses.reason, details);
    const encoded = status
      ? encodeObject({ apiVersion: 'v1', kind: 'Status' }, status)
      : encodeObject(TYPE, { metadata });
    response.writeHead(refuses?.code ?? 200, { 'content-type': binary ? PROTOBUF : JSON_TYPE });
    if (speech.garbage) response.end('\x00\x01\x02');
    else if (binary) response.end(Buffer.from(encoded ?? '', 'latin1'));
    else response.end(JSON.stringify(status ?? { ...body, metadata }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const kube = clientFor({ server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  t.after(async () => {
    await kube.close();
    server.close();
  });
  return { kube, asked };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const claim: Draft<PersistentVolumeClaim> = {
  ...TYPE,
  metadata: { name: 'c', namespace: 'ns', annotations: { 'grüße/日本': '✓' } },
  spec: { accessModes: ['ReadWriteOnce'] },
};
const asStored = (version: string) => ({
  ...claim,
  metadata: {
    ...claim.metadata,
    uid: 'u',
    resourceVersion: version,
  },
});

test('a server that answers in protobuf is written to in protobuf from then on', async (t) => {
  const { kube, asked } = await start(t, { answers: 'protobuf' });
  assert.deepEqual(await kube.create(persistentVolumeClaims, claim, { brief: true }), asStored('1'));
  const updated = await kube.update(persistentVolumeClaims, { ...asStored('1') }, { brief: true });
  assert.deepEqual(updated, asStored('2'));
  assert.deepEqual(
    asked.map(({ type }) => type),
    [JSON_TYPE, PROTOBUF],
  );
  assert.deepEqual(asked[1]?.body, asStored('1'));
});

test('a caller that needs the whole object gets it, in JSON', async (t) => {
  const { kube, asked } = await start(t, { answers: 'protobuf' });
  const created = await kube.create(persistentVolumeClaims, claim);
  assert.deepEqual(created.metadata.labels, { added: 'by-the-server' });
  assert.equal(asked[0]?.accept, JSON_TYPE);
});

test('a server with JSON only is sent JSON only, and returns whole objects', async (t) => {
  const { kube, asked } = await start(t, { answers: 'json' });
  for (const version of ['1', '2']) {
    const created = await kube.create(persistentVolumeClaims, claim, { brief: true });
    assert.equal(created.metadata.resourceVersion, version);
    assert.deepEqual(created.metadata.labels, { added: 'by-the-server' });
  }
  assert.deepEqual(
    asked.map(({ type }) => type),
    [JSON_TYPE, JSON_TYPE],
  );
});

test('a server that sends protobuf but rejects it is tried once', async (t) => {
  const { kube, asked } = await start(t, { answers: 'protobuf', takes: 'json' });
  for (let i = 0; i < 3; i++) await kube.create(persistentVolumeClaims, claim, { brief: true });
  assert.deepEqual(
    asked.map(({ type }) => type),
    [JSON_TYPE, PROTOBUF, JSON_TYPE, JSON_TYPE],
  );
});

test('an object with an unknown field is sent as JSON', async (t) => {
  const { kube, asked } = await start(t, { answers: 'protobuf' });
  await kube.create(persistentVolumeClaims, claim, { brief: true });
  const spec = { ...claim.spec, fromTheFuture: 1 } as never;
  await kube.update(persistentVolumeClaims, { ...asStored('1'), spec }, { brief: true });
  assert.equal(asked[1]?.type, JSON_TYPE);
  assert.deepEqual(asked[1]?.body.spec, spec);
});

test('a patch response has the metadata; the rest is what the sender knows', async (t) => {
  const { kube, asked } = await start(t, { answers: 'protobuf' });
  const known = { ...asStored('1'), status: { phase: 'Bound' } } as PersistentVolumeClaim;
  const patch = { metadata: { finalizers: ['a'], annotations: { b: 'c' } } };
  const name = { name: 'c', namespace: 'ns' };
  const options = { type: 'merge', known } as const;
  for (let i = 0; i < 2; i++) {
    const patched = await kube.patch(persistentVolumeClaims, name, patch, options);
    assert.deepEqual(patched.metadata, {
      ...patch.metadata,
      uid: 'u',
      resourceVersion: `${i + 1}`,
      creationTimestamp: '2026-11-15T07:00:00Z',
      labels: { added: 'by-the-server' },
    });
    assert.deepEqual(patched.status, known.status);
    assert.deepEqual(patched.spec, known.spec);
  }
  assert.deepEqual(
    asked.map(({ type }) => type),
    ['application/merge-patch+json', 'application/merge-patch+json'],
  );
});

test('a refusal in protobuf is the same error', async (t) => {
  const { kube } = await start(t, { answers: 'protobuf', refuses: { code: 409, reason: 'Conflict' } });
  await assert.rejects(kube.update(persistentVolumeClaims, claim, { brief: true }), (error) => {
    assert.ok(isConflict(error));
    assert.match((error as Error).message, /words of the server/);
    return true;
  });
});

test('garbage that calls itself protobuf is a bad answer', async (t) => {
  const { kube } = await start(t, { answers: 'protobuf', garbage: true });
  await assert.rejects(kube.create(persistentVolumeClaims, claim, { brief: true }), (error) => {
    assert.ok(error instanceof KubeError);
    assert.equal(error.reason, 'BadAnswer');
    return true;
  });
});
