// Publishing drivers on a node while others write the same objects, on a real API server.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import { csiNodeInfos, csiNodes, customResourceDefinitions, nodes } from '../../api/kinds.ts';
import type { Resource } from '../../api/object.ts';
import { testServer } from '../../apiserver/testing/test-server.ts';
import { parseDriverName, parseNodeId } from '../../csi/names/driver-name.ts';
import { createInformers } from '../../runtime/informer/create-informers.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { KubeError, type KubeErrorReason } from '../../runtime/kube/kube-error.ts';
import { memoryLog } from '../../runtime/log/log.ts';
import { seededRandom } from '../../runtime/random.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import type { DriverFacts } from './driver-facts.ts';
import { createNodeInfoWriter } from './node-info-writer.ts';

const { signal } = new AbortController();
const name = { name: 'n' };
const facts = (driver = 'd', maxVolumes = 0): DriverFacts => ({
  name: parseDriverName(driver),
  nodeId: parseNodeId('id'),
  segments: {},
  maxVolumes,
});

const SOCKET = '/registry/d.sock';
const installed = (driver: string, socket = SOCKET) => ({ driver: parseDriverName(driver), socket });

type Refusal = {
  method: 'create' | 'update' | 'patch';
  plural: string;
  reason: KubeErrorReason;
  times: number;
};

async function world(t: TestContext, refusals: Refusal[] = [], withInfos = false) {
  const clock = new VirtualClock();
  const server = await testServer(t);
  const admin = server.client(server.adminUser);
  if (withInfos) await installInfos(admin);
  await admin.create(nodes, { metadata: name });
  const calls: string[] = [];
  const refusing =
    (method: Refusal['method']) =>
    (resource: Resource, ...rest: unknown[]): Promise<unknown> => {
      calls.push(`${method} ${resource.plural}`);
      const refusal = refusals.find((each) => each.method === method && each.plural === resource.plural);
      if (refusal && refusal.times-- > 0)
        return Promise.reject(new KubeError({ code: 0, reason: refusal.reason, message: 'refused' }));
      return (admin[method] as (...args: unknown[]) => Promise<unknown>)(resource, ...rest);
    };
  const kube = Object.assign(Object.create(admin), {
    create: refusing('create'),
    update: refusing('update'),
    patch: refusing('patch'),
  }) as KubeClient;
  const log = memoryLog();
  const random = seededRandom('writer');
  const informers = createInformers({ kube: admin, clock, random, log });
  const writer = createNodeInfoWriter({
    ...{ kube, nodeName: 'n', node: informers.of(nodes), replaceTopologyLabels: false },
    ...{ clock, random, log },
  });
  const drivers = async () =>
    ((await admin.get(csiNodes, name)).spec?.drivers ?? []).map((each) => each.name);
  return { clock, admin, writer, log, calls, drivers };
}

async function installInfos(admin: KubeClient): Promise<void> {
  const crd = new URL('../../../deploy/crds/csi.storage.k8s.io_csinodeinfos.yaml', import.meta.url);
  await admin.create(customResourceDefinitions, parse(await readFile(crd, 'utf8')));
}

for (const refusal of [
  { method: 'patch', plural: 'nodes', reason: 'Conflict', most: 19 },
  { method: 'create', plural: 'csinodes', reason: 'AlreadyExists', most: 19 },
  // Its creation was the first attempt.
  { method: 'update', plural: 'csinodes', reason: 'Conflict', most: 18 },
] as const) {
  test(`[REG-3] ${refusal.reason} at ${refusal.method} ${refusal.plural} is tried again, but not for ever`, async (t) => {
    const some = await world(t, [{ ...refusal, times: refusal.most }]);
    await some.writer.install(facts(), SOCKET, signal);
    assert.deepEqual(await some.drivers(), ['d']);
    const attempts = some.calls.filter((call) => call === `${refusal.method} ${refusal.plural}`);
    assert.equal(attempts.length, refusal.most + 1);
    const many = await world(t, [{ ...refusal, times: refusal.most + 1 }]);
    await assert.rejects(many.writer.install(facts(), SOCKET, signal), /refused/);
  });

  test(`[REG-3] another error at ${refusal.method} ${refusal.plural} is not tried again`, async (t) => {
    const { writer, calls } = await world(t, [{ ...refusal, reason: 'Forbidden', times: 1 }]);
    await assert.rejects(writer.install(facts(), SOCKET, signal), /refused/);
    assert.equal(calls.filter((call) => call === `${refusal.method} ${refusal.plural}`).length, 1);
  });
}

test('[REG-3] a driver that leaves takes its entry with it, and no CSINode is made for nothing', async (t) => {
  const { admin, writer, drivers } = await world(t);
  await writer.install(facts('a'), SOCKET, signal);
  await writer.install(facts('b'), SOCKET, signal);
  await writer.uninstall(installed('a'), signal);
  assert.deepEqual(await drivers(), ['b']);
  await writer.uninstall(installed('b'), signal);
  assert.deepEqual(await drivers(), []);
  await admin.delete(csiNodes, name);
  await writer.uninstall(installed('b'), signal);
  await assert.rejects(admin.get(csiNodes, name), KubeError);
});

test('[REG-3] a new limit of volumes is published', async (t) => {
  const { admin, writer, calls } = await world(t);
  await writer.install(facts('d', 3), SOCKET, signal);
  const before = calls.length;
  await writer.setMaxVolumes(parseDriverName('d'), 3, signal);
  await writer.setMaxVolumes(parseDriverName('other'), 3, signal);
  assert.equal(calls.length, before);
  await writer.setMaxVolumes(parseDriverName('d'), 5, signal);
  assert.equal((await admin.get(csiNodes, name)).spec?.drivers[0]?.allocatable?.count, 5);
});

test('[REG-3] what others change is restored at the next look, and CSINodeInfo follows', async (t) => {
  const { clock, admin, writer, drivers } = await world(t, [], true);
  const stop = new AbortController();
  const running = writer.run(stop.signal);
  await writer.install(facts(), SOCKET, signal);
  const published = async () =>
    (await admin.get(csiNodeInfos, name).catch(() => undefined))?.csiDrivers?.map((each) => each.name);
  while ((await published()) === undefined) await clock.advance(1);
  assert.deepEqual(await published(), ['d']);
  await admin.delete(csiNodes, name);
  await admin.delete(csiNodeInfos, name);
  while ((await published()) === undefined || (await drivers().catch(() => [])).length === 0)
    await clock.advance(30_000);
  assert.deepEqual([await published(), await drivers()], [['d'], ['d']]);
  stop.abort();
  await running;
});

test('[REG-3] without the kind CSINodeInfo that is said once, and it is looked for again', async (t) => {
  const { clock, admin, writer, log } = await world(t);
  const stop = new AbortController();
  const running = writer.run(stop.signal);
  await writer.install(facts(), SOCKET, signal);
  const said = () => log.text().split('CSINodeInfo is not installed in this cluster').length - 1;
  while (said() === 0) await clock.advance(1);
  for (let looks = 0; looks < 5; looks++) await clock.advance(30_000);
  assert.equal(said(), 1);
  await installInfos(admin);
  while ((await admin.get(csiNodeInfos, name).catch(() => undefined)) === undefined)
    await clock.advance(30_000);
  stop.abort();
  await running;
});

test('[REG-7] a driver that another socket installs stays when the old socket is uninstalled after that', async (t) => {
  const { writer, drivers } = await world(t);
  await writer.install(facts(), SOCKET, signal);
  const installing = writer.install(facts(), '/registry/new.sock', signal);
  await Promise.all([installing, writer.uninstall(installed('d'), signal)]);
  assert.deepEqual(await drivers(), ['d']);
  await writer.uninstall(installed('d', '/registry/new.sock'), signal);
  assert.deepEqual(await drivers(), []);
});

test('[REG-7] a driver goes with its socket when another socket could not install it', async (t) => {
  const refusals: Refusal[] = [];
  const { writer, drivers } = await world(t, refusals);
  await writer.install(facts(), SOCKET, signal);
  refusals.push({ method: 'update', plural: 'csinodes', reason: 'Forbidden', times: 1 });
  const installing = assert.rejects(writer.install(facts('d', 7), '/registry/new.sock', signal), /refused/);
  await Promise.all([installing, writer.uninstall(installed('d'), signal)]);
  assert.deepEqual(await drivers(), []);
});
