// When credentials are read or asked for again, and how a plugin's failures read.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { secretValue } from '../log/secret-value.ts';
import { VirtualClock } from '../time/virtual-clock.ts';
import { CredentialSource } from './credentials.ts';
import { runExecPlugin } from './exec-credential.ts';
import type { AuthConfig, ExecConfig } from './kube-config.ts';

const exec: ExecConfig = {
  apiVersion: 'client.authentication.k8s.io/v1',
  command: 'login',
  args: ['x'],
  env: {},
};
const source = 'the-kubeconfig';

function credential(status: object, apiVersion: string = exec.apiVersion): string {
  return JSON.stringify({ apiVersion, kind: 'ExecCredential', status });
}

function setUp(
  auth: AuthConfig,
  ports: { readFile?: () => Promise<string>; runCommand?: () => Promise<string> } = {},
) {
  const clock = new VirtualClock();
  const config = { server: 'https://x', source, tls: {}, auth };
  return { clock, credentials: new CredentialSource({ config, clock, ...ports }) };
}

test('a token file is read again after a minute, or when the server rejected the token', async () => {
  let reads = 0;
  const { clock, credentials } = setUp(
    { token: { kind: 'file', field: 'tokenFile', path: '/t' } },
    { readFile: async () => `token-${++reads}\n` },
  );
  const header = async () => (await credentials.current()).headers.authorization;
  assert.equal(await header(), 'Bearer token-1');
  await clock.advance(59_000);
  assert.equal(await header(), 'Bearer token-1');
  await clock.advance(2_000);
  assert.equal(await header(), 'Bearer token-2');
  assert.equal(credentials.refused(), true);
  assert.equal(await header(), 'Bearer token-3');
});

test('a static token is not retried', () => {
  const { credentials } = setUp({ token: { kind: 'inline', field: 'token', value: secretValue('t') } });
  assert.equal(credentials.refused(), false);
});

test('a plugin runs once for many requests, and again when its credential expired or was rejected', async () => {
  let runs = 0;
  const { clock, credentials } = setUp(
    { exec },
    {
      runCommand: async () =>
        credential({
          token: `token-${++runs}`,
          expirationTimestamp: new Date(clock.now() + 600_000).toISOString(),
        }),
    },
  );
  const header = async () => (await credentials.current()).headers.authorization;
  assert.deepEqual(new Set(await Promise.all([header(), header(), header()])), new Set(['Bearer token-1']));
  await clock.advance(599_000);
  assert.equal(await header(), 'Bearer token-1');
  await clock.advance(2_000);
  assert.equal(await header(), 'Bearer token-2');
  assert.equal(credentials.refused(), true);
  assert.equal(await header(), 'Bearer token-3');
});

test('the same certificates are the same object, new ones a new one', async () => {
  let content = 'a';
  const { clock, credentials } = setUp(
    {
      clientCertificate: {
        certificate: { kind: 'file', field: 'c', path: '/c' },
        key: { kind: 'file', field: 'k', path: '/k' },
      },
    },
    { readFile: async () => content },
  );
  const { tls } = await credentials.current();
  await clock.advance(61_000);
  assert.equal((await credentials.current()).tls, tls);
  content = 'b';
  await clock.advance(61_000);
  assert.notEqual((await credentials.current()).tls, tls);
});

test('impersonation is sent as headers', async () => {
  const { credentials } = setUp({
    impersonate: { user: 'bob', uid: '7', groups: ['a', 'b'], extra: { 'Some/Key': ['v'] } },
  });
  assert.deepEqual((await credentials.current()).headers, {
    'impersonate-user': 'bob',
    'impersonate-uid': '7',
    'impersonate-group': ['a', 'b'],
    'impersonate-extra-some%2Fkey': ['v'],
  });
});

const outputs: { name: string; output: string; says: RegExp }[] = [
  { name: 'no JSON', output: 'secret-token', says: /did not print an ExecCredential$/ },
  { name: 'another kind', output: '{"kind":"Secret"}', says: /did not print an ExecCredential$/ },
  {
    name: 'another version',
    output: credential({ token: 'secret-token' }, 'client.authentication.k8s.io/v1beta1'),
    says: /answered in .*v1beta1, but the kubeconfig asks for/,
  },
  { name: 'nothing in it', output: credential({}), says: /neither a token nor a client certificate/ },
  {
    name: 'a certificate without key',
    output: credential({ clientCertificateData: 'secret-token' }),
    says: /only one of/,
  },
  {
    name: 'a time that is none',
    output: credential({ token: 'secret-token', expirationTimestamp: 'soon' }),
    says: /expirationTimestamp that is not a timestamp/,
  },
];

for (const { name, output, says } of outputs) {
  test(`a plugin that prints ${name} is named, and what it printed is not`, async () => {
    await assert.rejects(runExecPlugin(exec, { source, runCommand: async () => output }), (error: Error) => {
      assert.match(error.message, says);
      assert.match(error.message, /credential plugin login, named by the-kubeconfig/);
      assert.doesNotMatch(error.message, /secret-token/);
      return true;
    });
  });
}

test('a real plugin gets its arguments, environment and KUBERNETES_EXEC_INFO, and its failure is told', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'berth-plugin-'));
  try {
    const script = join(directory, 'plugin.mjs');
    await writeFile(
      script,
      `const { spec, apiVersion } = JSON.parse(process.env.KUBERNETES_EXEC_INFO);
       if (process.argv[2] === 'fail') { console.error('please log in'); process.exit(3); }
       const token = [process.argv[2], process.env.EXTRA, spec.interactive, spec.cluster.server].join(' ');
       console.log(JSON.stringify({ apiVersion, kind: 'ExecCredential', status: { token } }));`,
    );
    const real = { ...exec, command: process.execPath, env: { EXTRA: 'extra' }, cluster: { server: 's' } };
    const given = await runExecPlugin({ ...real, args: [script, 'arg'] }, { source });
    assert.deepEqual(given, { token: 'arg extra false s' });
    await assert.rejects(runExecPlugin({ ...real, args: [script, 'fail'] }, { source }), {
      message: /failed with exit code 3: please log in/,
    });
    await assert.rejects(
      runExecPlugin({ ...exec, command: join(directory, 'none'), installHint: 'get it there' }, { source }),
      { message: /none, named by the-kubeconfig, was not found\. get it there/ },
    );
  } finally {
    await rm(directory, { recursive: true });
  }
});
