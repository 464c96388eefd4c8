// Which configuration is chosen, what is read from it, and how refusals name file and field.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { inspect } from 'node:util';
import { stringify } from 'yaml';
import { type KubeConfig, KubeConfigError } from './kube-config.ts';
import { type LoadKubeConfigOptions, loadKubeConfig } from './load-kube-config.ts';
import { createAuthority, type Pair } from './testing/certificates.ts';

let ca = '';
let alice: Pair;
before(async () => {
  const authority = createAuthority('ours');
  ca = authority.certificate;
  alice = authority.issue({ commonName: 'alice', client: true });
});

const base64 = (text: string) => Buffer.from(text).toString('base64');

function kubeconfig(
  given: { cluster?: object; user?: object; context?: object; more?: object } = {},
): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u', ...given.context } }],
    clusters: [{ name: 'c', cluster: { server: 'https://kube.test:6443', ...given.cluster } }],
    users: [{ name: 'u', user: { token: 'secret-token', ...given.user } }],
    ...given.more,
  });
}

function load(
  files: Record<string, string>,
  options: Partial<LoadKubeConfigOptions> = {},
): Promise<KubeConfig> {
  return loadKubeConfig({
    env: {},
    home: '/home/me',
    ...options,
    async readFile(path) {
      const content = files[path];
      if (content === undefined) throw Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' });
      return content;
    },
  });
}

const one = (content: string) => load({ '/k/config': content }, { path: '/k/config' });

test('server, namespace, token and where they come from', async () => {
  const config = await one(kubeconfig({ context: { namespace: 'ns' } }));
  assert.equal(config.server, 'https://kube.test:6443');
  assert.equal(config.namespace, 'ns');
  assert.equal(config.source, '/k/config (context here)');
  assert.ok(config.auth.token?.kind === 'inline');
  assert.equal(config.auth.token.value.reveal(), 'secret-token');
  assert.ok(!inspect(config, { depth: 9 }).includes('secret-token'));
  assert.ok(!JSON.stringify(config).includes('secret-token'));
});

test('certificates from data, and from files relative to the kubeconfig', async () => {
  const data = await one(
    kubeconfig({
      cluster: { 'certificate-authority-data': base64(ca), 'tls-server-name': 'x.test' },
      user: { 'client-certificate-data': base64(alice.certificate), 'client-key-data': base64(alice.key) },
    }),
  );
  assert.ok(data.tls.ca?.kind === 'inline' && data.tls.ca.value.reveal() === ca);
  assert.equal(data.tls.serverName, 'x.test');
  assert.equal(data.auth.clientCertificate?.key.kind, 'inline');
  const files = await one(
    kubeconfig({
      cluster: { 'certificate-authority': 'pki/ca.crt' },
      user: { 'client-certificate': '/abs/me.crt', 'client-key': '../me.key', tokenFile: 'token' },
    }),
  );
  const path = (material: KubeConfig['tls']['ca']) => (material?.kind === 'file' ? material.path : undefined);
  assert.equal(path(files.tls.ca), '/k/pki/ca.crt');
  assert.equal(path(files.auth.clientCertificate?.certificate), '/abs/me.crt');
  assert.equal(path(files.auth.clientCertificate?.key), '/me.key');
  assert.equal(path(files.auth.token), '/k/token');
});

test('a plugin, with its environment and the cluster when it asks for it', async () => {
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1beta1',
    command: './bin/login',
    args: ['a'],
    env: [{ name: 'A', value: 'b' }],
    provideClusterInfo: true,
    interactiveMode: 'IfAvailable',
    installHint: 'install it',
  };
  const config = await one(kubeconfig({ user: { token: undefined, exec } }));
  assert.deepEqual(config.auth.exec, {
    apiVersion: 'client.authentication.k8s.io/v1beta1',
    command: '/k/bin/login',
    args: ['a'],
    env: { A: 'b' },
    installHint: 'install it',
    cluster: { server: 'https://kube.test:6443' },
  });
});

test('impersonation', async () => {
  const config = await one(
    kubeconfig({ user: { as: 'bob', 'as-groups': ['g'], 'as-user-extra': { k: ['v'] } } }),
  );
  assert.deepEqual(config.auth.impersonate, { user: 'bob', groups: ['g'], extra: { k: ['v'] } });
});

test('files of KUBECONFIG are merged, the first to name something wins, missing ones are skipped', async () => {
  const config = await load(
    {
      '/a': stringify({
        'current-context': 'b',
        clusters: [{ name: 'c', cluster: { server: 'https://first.test' } }],
      }),
      '/b': kubeconfig({ more: { contexts: [{ name: 'b', context: { cluster: 'c', user: 'u' } }] } }),
    },
    { env: { KUBECONFIG: '/a:/missing:/b' } },
  );
  assert.equal(config.server, 'https://first.test');
  assert.equal(config.source, '/b (context b)');
  assert.ok(config.auth.token !== undefined);
});

test('a context by name', async () => {
  const contexts = [
    { name: 'here', context: { cluster: 'c', user: 'u' } },
    { name: 'there', context: { cluster: 'c' } },
  ];
  const files = { '/k': kubeconfig({ more: { contexts } }) };
  const config = await load(files, { path: '/k', context: 'there' });
  assert.equal(config.source, '/k (context there)');
  assert.deepEqual(config.auth, {});
});

const pod = {
  '/sa/token': 'pod-token',
  '/sa/ca.crt': 'ca',
  '/sa/namespace': 'kube-system\n',
};
const inPod = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };

const choices: {
  name: string;
  files: Record<string, string>;
  options: Partial<LoadKubeConfigOptions>;
  source: RegExp;
}[] = [
  {
    name: 'the flag before everything',
    files: { ...pod, '/flag': kubeconfig() },
    options: { path: '/flag', env: { ...inPod, KUBECONFIG: '/env' } },
    source: /^\/flag/,
  },
  {
    name: 'the account of the pod before KUBECONFIG',
    files: { ...pod, '/env': kubeconfig() },
    options: { env: { ...inPod, KUBECONFIG: '/env' } },
    source: /service account in \/sa/,
  },
  {
    name: 'KUBECONFIG in a pod without account',
    files: { '/env': kubeconfig() },
    options: { env: { ...inPod, KUBECONFIG: '/env' } },
    source: /^\/env/,
  },
  {
    name: 'KUBECONFIG before the home directory',
    files: { '/env': kubeconfig(), '/home/me/.kube/config': kubeconfig() },
    options: { env: { KUBECONFIG: '/env' } },
    source: /^\/env/,
  },
  {
    name: 'the home directory last',
    files: { '/home/me/.kube/config': kubeconfig() },
    options: {},
    source: /^\/home\/me\/.kube\/config/,
  },
];

for (const { name, files, options, source } of choices) {
  test(`chosen is ${name}`, async () => {
    const config = await load(files, { serviceAccountDirectory: '/sa', ...options });
    assert.match(config.source, source);
  });
}

test('the account of a pod, over IPv6 too', async () => {
  const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' };
  const config = await load(pod, { env, serviceAccountDirectory: '/sa' });
  assert.equal(config.server, 'https://[fd00::1]:6443');
  assert.equal(config.namespace, 'kube-system');
  assert.deepEqual(config.auth.token, { kind: 'file', field: 'token', path: '/sa/token' });
  assert.deepEqual(config.tls.ca, { kind: 'file', field: 'CA', path: '/sa/ca.crt' });
});

const exec = (more: object) => ({
  token: undefined,
  exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'login', ...more },
});

const refusals: { name: string; content: () => string; says: RegExp }[] = [
  {
    name: 'broken YAML, without quoting it',
    content: () => 'users:\n- token: "secret-token\n  x: [',
    says: /^\/k\/config: not valid YAML at line \d+ \([A-Z_]+\)$/,
  },
  { name: 'a list at the top', content: () => '- a', says: /\/k\/config: not a kubeconfig/ },
  { name: 'another kind', content: () => 'kind: Pod', says: /kind is "Pod", expected Config/ },
  {
    name: 'no current context',
    content: () => kubeconfig({ more: { 'current-context': '' } }),
    says: /current-context is not set/,
  },
  {
    name: 'a context that is not there',
    content: () => kubeconfig({ more: { 'current-context': 'gone' } }),
    says: /no context "gone" \(there is: here\)/,
  },
  {
    name: 'a cluster that is not there',
    content: () => kubeconfig({ context: { cluster: 'x' } }),
    says: /contexts\[here\]: there is no cluster "x" \(there is: c\)/,
  },
  {
    name: 'a user that is not there',
    content: () => kubeconfig({ context: { user: 'x' } }),
    says: /no user "x"/,
  },
  {
    name: 'clusters that are no list',
    content: () => kubeconfig({ more: { clusters: 'x' } }),
    says: /clusters is not a list/,
  },
  {
    name: 'a context without a name',
    content: () => kubeconfig({ more: { contexts: [{}] } }),
    says: /contexts\[0\]\.name is not set/,
  },
  {
    name: 'no server',
    content: () => kubeconfig({ cluster: { server: '' } }),
    says: /clusters\[c\]\.cluster\.server is not set/,
  },
  {
    name: 'a server that is no URL',
    content: () => kubeconfig({ cluster: { server: 'ftp://x' } }),
    says: /server is not an http or https URL/,
  },
  {
    name: 'a password in the URL',
    content: () => kubeconfig({ cluster: { server: 'https://u:secret-token@x' } }),
    says: /server must not hold a user or password/,
  },
  {
    name: 'a proxy',
    content: () => kubeconfig({ cluster: { 'proxy-url': 'http://p' } }),
    says: /proxy-url: proxies are not supported/,
  },
  {
    name: 'a CA that is no base64',
    content: () => kubeconfig({ cluster: { 'certificate-authority-data': '%%' } }),
    says: /certificate-authority-data is not base64/,
  },
  {
    name: 'a CA that is no certificate',
    content: () => kubeconfig({ cluster: { 'certificate-authority-data': base64('x') } }),
    says: /certificate-authority-data holds no PEM certificate/,
  },
  {
    name: 'a CA and no verification',
    content: () =>
      kubeconfig({ cluster: { 'certificate-authority': 'x', 'insecure-skip-tls-verify': true } }),
    says: /exclude each other/,
  },
  {
    name: 'a flag that is text',
    content: () => kubeconfig({ cluster: { 'insecure-skip-tls-verify': 'yes' } }),
    says: /neither true nor false/,
  },
  {
    name: 'a certificate without key',
    content: () => kubeconfig({ user: { 'client-certificate': 'x' } }),
    says: /client-certificate without client-key/,
  },
  {
    name: 'a key without certificate',
    content: () => kubeconfig({ user: { 'client-key': 'x' } }),
    says: /client-key without client-certificate/,
  },
  {
    name: 'a key that is none',
    content: () =>
      kubeconfig({
        user: {
          'client-certificate-data': base64(alice.certificate),
          'client-key-data': base64('secret-token'),
        },
      }),
    says: /client-key-data holds no PEM private key/,
  },
  {
    name: 'a token that is a number',
    content: () => kubeconfig({ user: { token: 123 } }),
    says: /users\[u\]\.user\.token is not a string/,
  },
  {
    name: 'basic authentication',
    content: () => kubeconfig({ user: { username: 'a', password: 'secret-token' } }),
    says: /basic authentication was removed/,
  },
  {
    name: 'a built-in provider',
    content: () => kubeconfig({ user: { 'auth-provider': { name: 'gcp' } } }),
    says: /auth-provider: .* use the provider's exec plugin/,
  },
  {
    name: 'a plugin of an old version',
    content: () => kubeconfig({ user: exec({ apiVersion: 'client.authentication.k8s.io/v1alpha1' }) }),
    says: /exec\.apiVersion must be/,
  },
  {
    name: 'a plugin without command',
    content: () => kubeconfig({ user: exec({ command: '' }) }),
    says: /exec\.command is not set/,
  },
  {
    name: 'a plugin that needs a terminal',
    content: () => kubeconfig({ user: exec({ interactiveMode: 'Always' }) }),
    says: /login needs a terminal/,
  },
  {
    name: 'arguments that are no strings',
    content: () => kubeconfig({ user: exec({ args: [1] }) }),
    says: /args is not a list of strings/,
  },
];

for (const { name, content, says } of refusals) {
  test(`refused, naming file and field: ${name}`, async () => {
    await assert.rejects(one(content()), (error: unknown) => {
      assert.ok(error instanceof KubeConfigError);
      assert.match(error.message, says);
      assert.match(error.message, /\/k\/config/);
      assert.doesNotMatch(error.message, /secret-token/);
      return true;
    });
  });
}

test('a file named by the flag must exist; without any configuration the error says what to do', async () => {
  await assert.rejects(load({}, { path: '/k/none' }), { message: /cannot read kubeconfig \/k\/none/ });
  await assert.rejects(load({}), { message: /\/home\/me\/.kube\/config does not exist.*Give --kubeconfig/ });
});
