// The cluster registrar against a whole API server, under its published role.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type CSIDriver, csiDrivers } from '../../api/kinds.ts';
import type { KubeObject, Resource } from '../../api/object.ts';
import { serviceAccountUser } from '../../apiserver/auth/users.ts';
import { testServer } from '../../apiserver/testing/test-server.ts';
import { loopbackTransport } from '../../csi/client/loopback-transport.ts';
import { ScriptedDriver, type ScriptedDriverOptions } from '../../csi/testing/scripted-driver.ts';
import { publishedRbac } from '../../manifests/published-rbac.ts';
import { createEventRecorder } from '../../runtime/events/create-event-recorder.ts';
import { createInformers } from '../../runtime/informer/create-informers.ts';
import { memoryLog } from '../../runtime/log/log.ts';
import { createMetrics } from '../../runtime/metrics/metrics.ts';
import { seededRandom } from '../../runtime/random.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { askDriver } from '../common/identify-driver.ts';
import { type ClusterRegistrarOptions, createClusterRegistrar } from './cluster-registrar.ts';

const NAME = 'scripted.csi.test';
const plurals: Record<string, string> = {
  ServiceAccount: 'serviceaccounts',
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
  Role: 'roles',
  RoleBinding: 'rolebindings',
};

async function world(t: TestContext, driverOptions: ScriptedDriverOptions = {}) {
  const server = await testServer(t);
  const admin = server.client(server.adminUser);
  for (const object of await publishedRbac({ components: ['cluster-registrar'], secrets: 'none' })) {
    const kind = object.kind ?? '';
    const [group = '', version = 'v1'] =
      object.apiVersion === 'v1' ? [] : (object.apiVersion ?? '').split('/');
    const namespaced = object.metadata.namespace !== undefined;
    const resource: Resource = { group, version, kind, plural: plurals[kind] ?? '', namespaced };
    await admin.create(resource, object as never);
  }
  const clock = realClock;
  const log = memoryLog();
  const random = seededRandom('registrar');
  const kube = server.client(serviceAccountUser('kube-system', 'csi-cluster-driver-registrar'));
  const driver = new ScriptedDriver({ name: NAME, ...driverOptions });
  const csi = loopbackTransport(driver.services, { clock, log, interceptors: [driver.interceptor] });
  const watching = new AbortController();
  t.after(() => watching.abort());
  const watch = createInformers({ kube: admin, clock, random, log: memoryLog() });
  const objects = watch.of(csiDrivers);
  watch.start(watching.signal);
  await objects.synced();
  const soon = (holds: (object: CSIDriver | undefined) => boolean) =>
    objects.waitFor(NAME, holds, AbortSignal.timeout(20_000));
  const start = async (options: Partial<ClusterRegistrarOptions> = {}) => {
    const stop = new AbortController();
    const informers = createInformers({ kube, clock, random, log });
    const recorder = createEventRecorder({ kube, clock, random, log, component: 'test' });
    const identified = await askDriver(csi, { timeoutMs: 1000, signal: stop.signal });
    const ports = {
      kube,
      informers,
      csi,
      driver: identified,
      recorder,
      clock,
      random,
      log,
      metrics: createMetrics(),
    };
    const sidecar = createClusterRegistrar(ports, { podInfoOnMount: false, removeOnExit: false, ...options });
    informers.start(stop.signal);
    const running = sidecar.run(stop.signal);
    const end = async () => {
      stop.abort(new Error('stopped by the test'));
      await running.catch(() => {});
    };
    t.after(end);
    return end;
  };
  return { admin, log, soon, start };
}

const draft = (spec: object) => ({ metadata: { name: NAME }, spec }) as never as KubeObject & CSIDriver;

test('[SIDE-3] the CSIDriver object is created from what the driver can do, and made again when deleted', async (t) => {
  const { admin, soon, start } = await world(t);
  await start({ podInfoOnMount: true });
  const made = await soon((object) => object !== undefined);
  assert.deepEqual([made?.spec.attachRequired, made?.spec.podInfoOnMount], [true, true]);
  await admin.delete(csiDrivers, { name: NAME });
  await soon((object) => object !== undefined && object.metadata.uid !== made?.metadata.uid);
});

test('[SIDE-3] a driver that does not publish needs no attach', async (t) => {
  const { soon, start } = await world(t, { controller: ['CREATE_DELETE_VOLUME'] });
  await start();
  const made = await soon((object) => object !== undefined);
  assert.deepEqual([made?.spec.attachRequired, made?.spec.podInfoOnMount], [false, false]);
});

test('[SIDE-3] the object stays on exit, or is removed if so configured', async (t) => {
  const { admin, soon, start } = await world(t);
  const leave = await start();
  await soon((object) => object !== undefined);
  await leave();
  await admin.get(csiDrivers, { name: NAME });
  const remove = await start({ removeOnExit: true });
  // It removes only an object that it has seen.
  await new Promise((resolve) => setTimeout(resolve, 0));
  await admin.patch(csiDrivers, { name: NAME }, { metadata: { labels: { seen: 'yes' } } }, { type: 'merge' });
  await soon((object) => object?.metadata.labels?.seen === 'yes');
  await remove();
  await soon((object) => object === undefined);
});

test('[SIDE-3] an object that somebody made differently is reported, left alone, and not removed', async (t) => {
  const { admin, log, start } = await world(t);
  await admin.create(csiDrivers, draft({ attachRequired: false, podInfoOnMount: false }));
  const stop = await start({ removeOnExit: true });
  while (!/attachRequired is false, the driver's capabilities say true/.test(log.text())) {
    await realClock.sleep(2);
  }
  await stop();
  assert.equal((await admin.get(csiDrivers, { name: NAME })).spec.attachRequired, false);
});
