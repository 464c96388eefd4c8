// Actions of the page, over real HTTP to the page and over HTTPS to a real API server: with the viewer's rights, and only where
// they are allowed.

import assert from 'node:assert/strict';
import { mkdtemp } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  clusterRoleBindings,
  clusterRoles,
  persistentVolumeClaims,
  serviceAccounts,
  type VolumeAttachment,
  volumeAttachments,
} from '../api/kinds.ts';
import type { Resource } from '../api/object.ts';
import { ANN_RETRY } from '../api/well-known.ts';
import { serviceAccountUser } from '../apiserver/auth/users.ts';
import { draft, testServer } from '../apiserver/testing/test-server.ts';
import { installRoles } from '../cluster/start-objects.ts';
import { createInformers } from '../runtime/informer/create-informers.ts';
import { loadKubeConfig } from '../runtime/kube/load-kube-config.ts';
import { memoryLog } from '../runtime/log/log.ts';
import { realRandom } from '../runtime/random.ts';
import { realClock } from '../runtime/time/clock.ts';
import { actAsViewer } from './act-as.ts';
import { performAction } from './actions.ts';
import type { Observation } from './observed.ts';
import type { ActionRequest } from './page-messages.ts';
import { newToken, serveDashboard } from './serve-dashboard.ts';

const SOON = { timeout: 60_000 };

async function setUp(t: TestContext, { allowsActions = true } = {}) {
  const kubeconfigPath = join(await mkdtemp(join(tmpdir(), 'actions-')), 'config');
  const server = await testServer(t, { listen: true, kubeconfigPath });
  await installRoles(server, ['dashboard']);
  const admin = server.client(server.adminUser);
  const create = (resource: unknown, object: object) => admin.create(resource as Resource, draft(object));
  await create(serviceAccounts, { metadata: { name: 'operator', namespace: 'default' } });
  await create(serviceAccounts, { metadata: { name: 'nobody', namespace: 'default' } });
  await create(clusterRoles, {
    metadata: { name: 'operator' },
    rules: [
      { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments'], verbs: ['delete', 'patch'] },
      { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['patch'] },
    ],
  });
  await create(clusterRoleBindings, {
    metadata: { name: 'operator' },
    subjects: [{ kind: 'ServiceAccount', name: 'operator', namespace: 'default' }],
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'operator' },
  });
  const tokenOf = async (name: string): Promise<string> => {
    const { status } = await admin.createSubresource<{ status: { token: string } }>(
      serviceAccounts as unknown as Resource,
      { namespace: 'default', name },
      'token',
      { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
    );
    return status.token;
  };
  const stop = new AbortController();
  const log = memoryLog();
  const ports = { clock: realClock, random: realRandom, log };
  const dashboard = await serveDashboard({
    version: '1',
    server: server.url ?? '',
    example: '',
    port: 0,
    isFlexible: false,
    token: newToken(realRandom),
    ...ports,
    signal: stop.signal,
    ...(allowsActions && {
      actAs: actAsViewer(await loadKubeConfig({ env: {}, path: kubeconfigPath }), ports),
    }),
    ports() {
      const kube = server.client(serviceAccountUser('kube-system', 'berth-dashboard'));
      const informers = createInformers({ ...ports, kube });
      informers.start(stop.signal);
      return { kube, informers, clock: realClock };
    },
  });
  t.after(async () => {
    stop.abort(new Error('over'));
    await dashboard.stopped;
  });
  const { origin, host } = new URL(dashboard.url);
  const cookie = (await send(dashboard.url, { method: 'GET' })).cookie;
  const act = (body: object | string, headers: Record<string, string>) =>
    send(`${origin}/api/action`, {
      method: 'POST',
      headers: { host, origin, cookie, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  return { admin, create, tokenOf, act, log, origin, cookie };
}

function send(
  url: string,
  { method, headers = {}, body }: { method: string; headers?: Record<string, string>; body?: string },
): Promise<{ status: number; text: string; cookie: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      const cookie = response.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text, cookie }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const attachment = (name: string) => ({
  metadata: { name },
  spec: { attacher: 'd.test', nodeName: 'n1', source: { persistentVolumeName: 'pv' } },
});
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const names = async ({ admin }: Awaited<ReturnType<typeof setUp>>) =>
  (await admin.list(volumeAttachments)).items.map(({ metadata }: VolumeAttachment) => metadata.name);

test('an attachment is deleted with the rights of the viewer, and of nobody else', SOON, async (t) => {
  const world = await setUp(t);
  await world.create(volumeAttachments, attachment('va'));
  const asked = { action: 'delete-attachment', name: 'va' };

  const stranger = await world.act(asked, bearer(await world.tokenOf('nobody')));
  assert.equal(stranger.status, 403);
  assert.match(stranger.text, /default:nobody.*cannot delete/);
  const forged = await world.act(asked, bearer('forged'));
  assert.equal(forged.status, 401);
  const tokenless = await world.act(asked, {});
  assert.equal(tokenless.status, 401);
  assert.deepEqual(await names(world), ['va']);

  const token = await world.tokenOf('operator');
  const done = await world.act(asked, bearer(token));
  assert.equal(done.status, 200, done.text);
  assert.deepEqual(await names(world), []);
  assert.doesNotMatch(world.log.text(), new RegExp(token), 'no token is logged');
});

test('a retry marks the claim', SOON, async (t) => {
  const world = await setUp(t);
  await world.create(persistentVolumeClaims, {
    metadata: { name: 'data', namespace: 'default' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  });
  const asked = { action: 'retry-claim', namespace: 'default', name: 'data' };
  const done = await world.act(asked, bearer(await world.tokenOf('operator')));
  assert.equal(done.status, 200, done.text);
  const claim = await world.admin.get(persistentVolumeClaims, { namespace: 'default', name: 'data' });
  assert.match(claim.metadata.annotations?.[ANN_RETRY] ?? '', /^\d{4}-/);
});

test('what is no action, and what comes from another site, is refused', SOON, async (t) => {
  const world = await setUp(t);
  await world.create(volumeAttachments, attachment('va'));
  const token = bearer(await world.tokenOf('operator'));
  const asked = { action: 'delete-attachment', name: 'va' };
  const refused: [status: number, body: object | string, headers: Record<string, string>][] = [
    [403, asked, { origin: 'https://evil.example' }],
    [401, asked, { cookie: '' }],
    [403, asked, { host: 'evil.example', origin: 'http://evil.example' }],
    [400, { action: 'delete-claim', name: 'va' }, {}],
    [400, 'not JSON', {}],
    [400, { ...asked, name: 'x'.repeat(5_000) }, {}],
    [404, { ...asked, name: 'gone' }, {}],
  ];
  for (const [status, body, headers] of refused) {
    const answer = await world.act(body, { ...token, ...headers });
    assert.equal(answer.status, status, JSON.stringify([body, headers, answer.text]));
  }
  assert.deepEqual(await names(world), ['va']);
});

test('without being allowed there is no such route', SOON, async (t) => {
  const world = await setUp(t, { allowsActions: false });
  await world.create(volumeAttachments, attachment('va'));
  const asked = { action: 'delete-attachment', name: 'va' };
  const posted = await world.act(asked, bearer(await world.tokenOf('operator')));
  assert.equal(posted.status, 405);
  const got = await send(`${world.origin}/api/action`, { method: 'GET', headers: { cookie: world.cookie } });
  assert.equal(got.status, 404);
  assert.deepEqual(await names(world), ['va']);
});

const NEVER = new AbortController().signal;
const unasked = {
  delete: () => assert.fail('the API server is not asked'),
  patch: () => assert.fail('the API server is not asked'),
};
const observed = (some: object) =>
  ({
    pods: [
      {
        metadata: { name: 'web', namespace: 'ns' },
        spec: { nodeName: 'n1', volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }] },
      },
    ],
    claims: [{ metadata: { name: 'data', namespace: 'ns' } }],
    volumes: [{ metadata: { name: 'pv' }, spec: { claimRef: { namespace: 'ns', name: 'data' } } }],
    nodes: [{ metadata: { name: 'n1' }, status: { conditions: [{ type: 'Ready', status: 'True' }] } }],
    attachments: [{ ...attachment('va'), status: { attached: true } }],
    classes: [],
    events: [],
    snapshots: [{ metadata: { name: 's', namespace: 'ns' } }],
    unread: [],
    ...some,
  }) as unknown as Observation;

const unfit: [name: string, some: object, asked: ActionRequest, says: RegExp][] = [
  [
    'an attachment in use',
    {},
    { action: 'delete-attachment', name: 'va' },
    /pod ns\/web uses the volume on node n1/,
  ],
  [
    'an attachment that is going',
    { pods: [], attachments: [{ ...attachment('va'), metadata: { name: 'va', deletionTimestamp: 'now' } }] },
    { action: 'delete-attachment', name: 'va' },
    /is being deleted already/,
  ],
  [
    'a snapshot that nobody has tried',
    {},
    { action: 'retry-snapshot', namespace: 'ns', name: 's' },
    /has no content yet/,
  ],
];
for (const [name, some, asked, says] of unfit) {
  test(`nothing is done to ${name}`, async () => {
    const answer = await performAction(
      { kube: unasked, observation: observed(some), nowMs: 0, signal: NEVER },
      asked,
    );
    assert.equal(answer.status, 409);
    assert.match(answer.says, says);
  });
}

const lost: [name: string, some: object][] = [
  ['nobody uses', { pods: [] }],
  ['is not attached', { attachments: [attachment('va')] }],
  ['is on a node that does not answer', { nodes: [{ metadata: { name: 'n1' } }] }],
  ['is on a node that was deleted', { nodes: [] }],
];
for (const [name, some] of lost) {
  test(`an attachment that ${name} is deleted`, async () => {
    let deleted = '';
    const kube = {
      ...unasked,
      delete: async (_resource: unknown, at: { name: string }) => {
        deleted = at.name;
      },
    };
    const asked: ActionRequest = { action: 'delete-attachment', name: 'va' };
    const { status } = await performAction(
      { kube, observation: observed(some), nowMs: 0, signal: NEVER },
      asked,
    );
    assert.deepEqual([status, deleted], [200, 'va']);
  });
}
