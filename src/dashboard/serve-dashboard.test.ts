// The door of the page, over real HTTP, on a real API server under the account that the page has in a cluster.

import assert from 'node:assert/strict';
import { get, type IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { crawlPage } from '../../test/crawl-page.ts';
import {
  csiDrivers,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  secrets,
  storageClasses,
} from '../api/kinds.ts';
import type { KubeObject, Resource } from '../api/object.ts';
import { serviceAccountUser } from '../apiserver/auth/users.ts';
import { draft, testServer } from '../apiserver/testing/test-server.ts';
import { installRoles } from '../cluster/start-objects.ts';
import { publishedRbac } from '../manifests/published-rbac.ts';
import { createInformers } from '../runtime/informer/create-informers.ts';
import { memoryLog } from '../runtime/log/log.ts';
import { realRandom } from '../runtime/random.ts';
import { realClock } from '../runtime/time/clock.ts';
import type { Message, SubjectDetails } from './page-messages.ts';
import { newToken, serveDashboard } from './serve-dashboard.ts';
import type { StepSource } from './step-source.ts';

const PASSWORD = 'hunter2-not-for-anybody';
const SOON = { timeout: 30_000 };

async function setUp(
  t: TestContext,
  options: { isAllowed?: boolean; stepSource?: StepSource; port?: number } = {},
) {
  const server = await testServer(t);
  if (options.isAllowed !== false) await installRoles(server, ['dashboard']);
  const admin = server.client(server.adminUser);
  const kube = server.client(serviceAccountUser('kube-system', 'berth-dashboard'));
  const stop = new AbortController();
  const log = memoryLog();
  let asked = 0;
  const trouble: { error?: Error | undefined } = {};
  const troubled = Object.assign(Object.create(kube) as typeof kube, {
    list: async (...given: Parameters<typeof kube.list>) => {
      if (trouble.error) throw trouble.error;
      return kube.list(...given);
    },
  });
  const dashboard = await serveDashboard({
    version: '1.2.3',
    server: 'https://api.test',
    example: 'kubectl apply',
    port: options.port ?? 0,
    isFlexible: options.port !== undefined,
    token: newToken(realRandom),
    clock: realClock,
    log,
    signal: stop.signal,
    ...(options.stepSource && { stepSource: options.stepSource }),
    ports() {
      asked++;
      const informers = createInformers({ kube, clock: realClock, random: realRandom, log });
      informers.start(stop.signal);
      return { kube: troubled, informers, clock: realClock };
    },
  });
  t.after(async () => {
    stop.abort(new Error('over'));
    await dashboard.stopped;
  });
  const origin = new URL(dashboard.url).origin;
  return { admin, dashboard, log, origin, stop, trouble, timesAsked: () => asked };
}

interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  text: string;
}

function ask(url: string, headers: Record<string, string> = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    get(url, { headers }, (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    }).on('error', reject);
  });
}

async function enter(url: string): Promise<{ cookie: string }> {
  const { status, headers } = await ask(url);
  assert.equal(status, 303);
  assert.equal(headers.location, '/');
  return { cookie: headers['set-cookie']?.[0]?.split(';')[0] ?? '' };
}

/** Messages as they come. */
async function* follow(
  origin: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): AsyncGenerator<Message> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${origin}/api/live`, { headers, signal }, resolve).on('error', reject);
  });
  assert.equal(response.headers['content-type'], 'text/event-stream; charset=utf-8');
  try {
    for await (const line of createInterface({ input: response })) {
      if (line.startsWith('data: ')) yield JSON.parse(line.slice('data: '.length)) as Message;
    }
  } finally {
    response.destroy();
  }
}

const claimOf = (name: string, storageClassName: string) =>
  draft<KubeObject>({
    metadata: { name, namespace: 'default' },
    spec: { accessModes: ['ReadWriteOnce'], storageClassName, resources: { requests: { storage: '1Gi' } } },
  });
const create = (
  { admin }: { admin: Awaited<ReturnType<typeof setUp>>['admin'] },
  resource: unknown,
  object: KubeObject,
) => admin.create(resource as Resource, object);

test('[SEC-3] the page is for whoever has its link, and for nobody else', SOON, async (t) => {
  const { dashboard, origin, timesAsked } = await setUp(t);
  for (const path of [
    '/',
    '/page/main.ts',
    '/modules/preact.js',
    '/api/live',
    '/api/subject?kind=pod&name=x',
  ]) {
    assert.equal((await ask(`${origin}${path}`)).status, 401, path);
  }
  assert.equal((await ask(`${origin}/?token=${'0'.repeat(64)}`)).status, 401);
  const headers = await enter(dashboard.url);
  assert.equal((await ask(`${origin}/`, { ...headers, host: 'evil.example' })).status, 403);
  const page = await ask(`${origin}/`, headers);
  assert.equal(page.status, 200);
  assert.match(page.text, /<div id="page">/);
  assert.match(
    String(page.headers['content-security-policy']),
    /default-src 'none'.*script-src 'self' 'sha256-/,
  );
  assert.doesNotMatch(page.text, new RegExp(new URL(dashboard.url).searchParams.get('token') ?? 'x'));
  assert.equal(timesAsked(), 0, 'nothing is read before somebody looks');
});

test('every file that the page imports is served, and nothing beside', SOON, async (t) => {
  const { dashboard, origin } = await setUp(t);
  const headers = await enter(dashboard.url);
  const loaded = await crawlPage(dashboard.url);
  assert.ok(loaded.includes('/page/main.ts') && loaded.includes('/page/style.css'));
  for (const path of [
    '/page/../gate.ts',
    '/page/tsconfig.json',
    '/page/main.test.ts',
    '/gate.ts',
    '/modules/yaml.js',
    '/page/none.ts',
  ]) {
    assert.equal((await ask(`${origin}${path}`, headers)).status, 404, path);
  }
});

test('[SEC-3] it shows volumes live, says why they are stuck, and no secret', SOON, async (t) => {
  const stepSource: StepSource = {
    recent: () => [],
    of: ({ kind, name }) => [
      { seq: 1, atMs: 1, by: 'provisioner', text: `of ${kind} ${name}`, kind: 'csi', hasFailed: false },
    ],
    recording: () => ({ calls: [], changes: [], sinceMs: 0 }),
    follow: () => () => {},
  };
  const world = await setUp(t, { stepSource });
  const { dashboard, origin } = world;
  const headers = await enter(dashboard.url);
  await create(world, csiDrivers, draft({ metadata: { name: 'd.test' }, spec: {} }));
  await create(world, storageClasses, draft({ metadata: { name: 'fast' }, provisioner: 'd.test' }));
  await create(
    world,
    secrets,
    draft({ metadata: { name: 's', namespace: 'default' }, stringData: { password: PASSWORD } }),
  );
  await create(world, persistentVolumeClaims, claimOf('lost', 'slow'));
  const seen: string[] = [];
  const leave = new AbortController();
  const messages = follow(origin, headers, leave.signal);
  const next = async (wanted: (message: Message) => boolean): Promise<Message> => {
    for (;;) {
      const { value, done } = await messages.next();
      assert.ok(!done, 'the stream goes on');
      seen.push(JSON.stringify(value));
      if (wanted(value)) return value;
    }
  };
  const first = await next(() => true);
  assert.ok(first.kind === 'all');
  assert.deepEqual(first.about, {
    version: '1.2.3',
    server: 'https://api.test',
    hasHistory: true,
    unread: [],
    example: 'kubectl apply',
    allowsActions: false,
  });
  assert.deepEqual(
    first.tables.volumes.map(({ id, state }) => [id, state]),
    [['claim default/lost', 'stuck']],
  );
  assert.match(first.tables.volumes[0]?.says ?? '', /StorageClass slow does not exist/);

  await create(world, persistentVolumeClaims, claimOf('data', 'fast'));
  await create(
    world,
    pods,
    draft({
      metadata: {
        name: 'web',
        namespace: 'default',
        annotations: { 'kubectl.kubernetes.io/last-applied-configuration': `{"password":"${PASSWORD}"}` },
      },
      spec: {
        containers: [{ name: 'c', image: 'i', env: [{ name: 'PASSWORD', value: PASSWORD }] }],
        volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }],
      },
    }),
  );
  await next(
    (message) =>
      message.kind === 'changes' && message.changes.pods?.put.some(({ name }) => name === 'web') === true,
  );
  const details = await ask(`${origin}/api/subject?kind=pod&namespace=default&name=web`, headers);
  assert.equal(details.status, 200);
  const told = JSON.parse(details.text) as SubjectDetails;
  assert.equal(told.links.at(-1)?.state, 'waits');
  assert.deepEqual(
    told.steps.map(({ text }) => text),
    ['of pod web'],
  );
  const history = await ask(`${origin}/api/history`, headers);
  const samples = JSON.parse(history.text) as { claims: number }[];
  assert.ok(samples.length > 290 && samples.length < 310, 'of a long time, as many as a chart has room for');
  assert.equal(samples.at(-1)?.claims, 2);
  const { spec } = told.object as { spec: { volumes: { name: string }[] } };
  assert.equal(spec.volumes[0]?.name, 'v');
  for (const text of [...seen, details.text]) assert.ok(!text.includes(PASSWORD));

  await world.admin.delete(pods, { namespace: 'default', name: 'web' }, { gracePeriodSeconds: 0 });
  await next(
    (message) => message.kind === 'changes' && message.changes.pods?.gone.includes('default/web') === true,
  );
  const gone = await ask(`${origin}/api/subject?kind=pod&namespace=default&name=web`, headers);
  assert.deepEqual([gone.status, gone.text], [404, '{"error":"there is no pod web"}']);
  assert.equal((await ask(`${origin}/api/subject?kind=secret&name=s`, headers)).status, 400);
  leave.abort();
  assert.equal(world.timesAsked(), 1);
});

test('a volume without a claim is told with its own state, and with no steps', SOON, async (t) => {
  const world = await setUp(t);
  await create(
    world,
    persistentVolumes,
    draft({
      metadata: { name: 'spare' },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        csi: { driver: 'd.test', volumeHandle: 'h' },
      },
    }),
  );
  const headers = await enter(world.dashboard.url);
  const { text } = await ask(`${world.origin}/api/subject?kind=volume&name=spare`, headers);
  const told = JSON.parse(text) as SubjectDetails;
  assert.deepEqual([told.name, told.links[0]?.state, told.steps], ['spare', 'ok', []]);
});

test('an account that may read nothing sees a page that says so', SOON, async (t) => {
  const { dashboard, origin } = await setUp(t, { isAllowed: false });
  const headers = await enter(dashboard.url);
  const leave = new AbortController();
  const { value } = await follow(origin, headers, leave.signal).next();
  leave.abort();
  assert.ok(value?.kind === 'all');
  assert.equal(value.about.unread.length, 16);
  assert.deepEqual(value.tables.volumes, []);
});

test('a server that could not be reached is asked again, by the same caches', SOON, async (t) => {
  const { dashboard, origin, trouble, timesAsked } = await setUp(t);
  const headers = await enter(dashboard.url);
  trouble.error = new Error('nobody answers');
  for (let i = 0; i < 3; i++) {
    const { status, text } = await ask(`${origin}/api/live`, headers);
    assert.deepEqual([status, text], [500, 'This could not be answered: nobody answers\n']);
  }
  trouble.error = undefined;
  const leave = new AbortController();
  const { value } = await follow(origin, headers, leave.signal).next();
  leave.abort();
  assert.equal(value?.kind, 'all');
  assert.equal(timesAsked(), 1);
});

test('the account of the page may read what is shown, and nothing else', async () => {
  const role = (await publishedRbac({ components: ['dashboard'], secrets: 'none' })).find(
    ({ kind }) => kind === 'ClusterRole',
  );
  const rules = (role as unknown as { rules: { verbs: string[]; resources: string[] }[] }).rules;
  for (const { verbs, resources } of rules) {
    assert.deepEqual(verbs, ['get', 'list', 'watch']);
    assert.ok(!resources.includes('secrets') && !resources.includes('*'));
  }
});

test('a port that is taken is said, or another is found where any will do', SOON, async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  t.after(() => other.close());
  const { port } = other.address() as { port: number };
  const { origin } = await setUp(t, { port });
  assert.notEqual(new URL(origin).port, String(port));
  const stop = new AbortController();
  await assert.rejects(
    serveDashboard({
      version: '',
      server: '',
      example: '',
      port,
      isFlexible: false,
      token: 't',
      clock: realClock,
      log: memoryLog(),
      signal: stop.signal,
      ports: () => assert.fail('nobody looks'),
    }),
    new RegExp(`port ${port} for the page is taken`),
  );
});

test('it shuts down with open connections', SOON, async (t) => {
  const { dashboard, origin, stop } = await setUp(t);
  const headers = await enter(dashboard.url);
  const messages = follow(origin, headers, new AbortController().signal);
  await messages.next();
  stop.abort(new Error('over'));
  await dashboard.stopped;
  await assert.rejects(async () => {
    for await (const message of messages) assert.ok(message);
    throw new Error('the stream has ended');
  });
});
