import assert from 'node:assert/strict';
import { createPublicKey, X509Certificate } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { connect, createServer } from 'node:tls';
import { realClock } from '../../runtime/time/clock.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { createPki } from './pki.ts';

const DAY_MS = 86_400_000;
let dir: string;
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'pki-'));
});
after(() => rm(dir, { recursive: true, force: true }));

test('TLS clients that trust the CA accept the server by address and name, and the server sees who the client is', async () => {
  const pki = await createPki({ clock: realClock });
  const { keyPem, certificatePem } = await pki.serving();
  const client = pki.issueClientCertificate({ commonName: 'jane', organizations: ['devs', 'ops'] });
  const server = createServer(
    { key: keyPem, cert: certificatePem, ca: pki.caPem, requestCert: true, rejectUnauthorized: true },
    (socket) => socket.end(JSON.stringify(socket.getPeerCertificate().subject)),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    for (const servername of ['localhost', '127.0.0.1', '::1']) {
      const text = await new Promise<string>((resolve, reject) => {
        const isName = servername === 'localhost';
        const socket = connect({
          host: '127.0.0.1',
          port,
          ca: pki.caPem,
          key: client.keyPem,
          cert: client.certificatePem,
          ...(isName
            ? { servername }
            : {
                checkServerIdentity: (_, cert) =>
                  cert.subjectaltname?.includes(servername === '::1' ? '0:0:0:0:0:0:0:1' : servername)
                    ? undefined
                    : new Error(`${cert.subjectaltname}`),
              }),
        });
        let received = '';
        socket.on('data', (chunk) => {
          received += chunk;
        });
        socket.on('end', () => resolve(received));
        socket.on('error', reject);
      });
      assert.deepEqual(JSON.parse(text), { CN: 'jane', O: ['devs', 'ops'] });
    }
  } finally {
    server.close();
  }
});

test('keys are readable by their owner only, and reused by the next start', async () => {
  const path = join(dir, 'reused');
  const first = await createPki({ dir: path, clock: realClock });
  assert.equal((await stat(path)).mode & 0o777, 0o700);
  const files = await readdir(path);
  assert.deepEqual(files.sort(), ['ca.pem', 'service-accounts.pem', 'serving.pem']);
  for (const file of files) assert.equal((await stat(join(path, file))).mode & 0o777, 0o600, file);
  const token = first.serviceAccountKey.sign({ a: 1 });

  const second = await createPki({ dir: path, clock: realClock });
  assert.equal(second.caPem, first.caPem);
  assert.deepEqual(await second.serving(), await first.serving());
  assert.deepEqual(second.serviceAccountKey.verify(token), { a: 1 });
});

test('certificates are renewed before they expire; a renewed CA keeps its key, so the certificates that it issued stay valid', async () => {
  const path = join(dir, 'renewed');
  const clock = new VirtualClock();
  const first = await createPki({ dir: path, clock });
  const client = first.issueClientCertificate({ commonName: 'jane', days: 4000 });
  const served = await first.serving();

  await clock.advance(340 * DAY_MS);
  const renewed = await first.serving();
  assert.notEqual(renewed.certificatePem, served.certificatePem);
  assert.equal(
    Date.parse(new X509Certificate(renewed.certificatePem).validTo) > clock.now() + 300 * DAY_MS,
    true,
  );

  await clock.advance(3000 * DAY_MS);
  const second = await createPki({ dir: path, clock });
  assert.notEqual(second.caPem, first.caPem);
  assert.equal(new X509Certificate(client.certificatePem).verify(createPublicKey(second.caPem)), true);
  assert.equal(
    new X509Certificate((await second.serving()).certificatePem).checkHost('localhost'),
    'localhost',
  );
});

test('a server that is to be reached under another name gets a certificate for it, from the same CA', async () => {
  const path = join(dir, 'hosts');
  const first = await createPki({ dir: path, clock: realClock });
  const second = await createPki({ dir: path, clock: realClock, hosts: ['192.0.2.7', 'berth.example'] });
  assert.equal(second.caPem, first.caPem);
  const certificate = new X509Certificate((await second.serving()).certificatePem);
  assert.equal(certificate.checkIP('192.0.2.7'), '192.0.2.7');
  assert.equal(certificate.checkHost('berth.example'), 'berth.example');
  assert.equal(certificate.checkIP('127.0.0.1'), '127.0.0.1');
  const third = await createPki({ dir: path, clock: realClock, hosts: ['berth.example'] });
  assert.deepEqual(await third.serving(), await second.serving());
});

test('a broken file is rejected with an error that names it, and is not changed', async () => {
  const path = join(dir, 'broken');
  await createPki({ dir: path, clock: realClock });
  await writeFile(join(path, 'ca.pem'), 'rubbish');
  await assert.rejects(createPki({ dir: path, clock: realClock }), /ca\.pem.*left as it is/);
  assert.equal(await readFile(join(path, 'ca.pem'), 'utf8'), 'rubbish');
});

test('a token that another key signed, or that was changed, does not verify', async () => {
  const [mine, other] = await Promise.all([createPki({ clock: realClock }), createPki({ clock: realClock })]);
  const token = mine.serviceAccountKey.sign({ sub: 'a' });
  assert.deepEqual(mine.serviceAccountKey.verify(token), { sub: 'a' });
  assert.equal(other.serviceAccountKey.verify(token), undefined);
  const [head, , signature] = token.split('.');
  const forged = `${head}.${Buffer.from('{"sub":"b"}').toString('base64url')}.${signature}`;
  assert.equal(mine.serviceAccountKey.verify(forged), undefined);
  const none = Buffer.from('{"alg":"none"}').toString('base64url');
  assert.equal(mine.serviceAccountKey.verify(`${none}.${token.split('.')[1]}.`), undefined);
});
