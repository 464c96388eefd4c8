import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import { customResourceDefinitions, snapshotMetadataServices } from '../../api/kinds.ts';
import { testServer } from '../../apiserver/testing/test-server.ts';
import { parseDriverName } from '../../csi/names/driver-name.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { memoryLog } from '../../runtime/log/log.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { temporaryDirectory } from '../../wire/testing/test-socket.ts';
import type { SidecarPorts } from '../common/sidecar.ts';
import { keepServiceObject } from './service-object.ts';

const NAME = parseDriverName('d.example');
const options = { address: 'localhost:1', audience: NAME };

/** The object is looked at whenever the test calls `look`. */
async function world(t: TestContext) {
  const server = await testServer(t);
  const admin = server.client(server.adminUser);
  const crd = new URL(
    '../../../deploy/crds/cbt.storage.k8s.io_snapshotmetadataservices.yaml',
    import.meta.url,
  );
  await admin.create(customResourceDefinitions, parse(await readFile(crd, 'utf8')));
  const caFile = join(await temporaryDirectory(t), 'ca.crt');
  await writeFile(caFile, 'first');
  const log = memoryLog();
  const stop = new AbortController();
  let wake = () => {};
  let waiting = Promise.withResolvers<void>();
  const clock = {
    ...realClock,
    sleep(_ms: number, signal?: AbortSignal) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      wake = resolve;
      signal?.addEventListener('abort', () => reject(signal.reason));
      waiting.resolve();
      return promise;
    },
  };
  const look = async (): Promise<void> => {
    waiting = Promise.withResolvers<void>();
    wake();
    await waiting.promise;
  };
  let writes = 0;
  const kube = {
    get: (...args: Parameters<KubeClient['get']>) => admin.get(...args),
    patch: (...args: Parameters<KubeClient['patch']>) => {
      writes++;
      return admin.patch(...args);
    },
    create: (...args: Parameters<KubeClient['create']>) => {
      writes++;
      return admin.create(...args);
    },
  };
  const ports = { kube, driver: { name: NAME }, clock, log } as unknown as SidecarPorts;
  const ended = keepServiceObject(ports, { ...options, caFile }, stop.signal);
  await waiting.promise;
  const read = async () => {
    const { spec } = await admin.get(snapshotMetadataServices, { name: NAME });
    return { ...spec, caCert: Buffer.from(spec.caCert, 'base64').toString() };
  };
  return { admin, caFile, log, look, read, writes: () => writes, stop, ended };
}

test('[CBT-1] the service object is created, and written again only when it differs', async (t) => {
  const { admin, caFile, look, read, writes, stop, ended, log } = await world(t);
  assert.deepEqual(await read(), { ...options, caCert: 'first' });
  await look();
  assert.equal(writes(), 1, 'nothing changed');
  await writeFile(caFile, 'renewed');
  await look();
  assert.deepEqual(await read(), { ...options, caCert: 'renewed' });
  await admin.delete(snapshotMetadataServices, { name: NAME });
  await look();
  assert.deepEqual(await read(), { ...options, caCert: 'renewed' });
  assert.equal(log.text().split('Published the service').length - 1, 3);
  stop.abort();
  await ended;
  assert.doesNotMatch(log.text(), /Could not publish/);
});

test('[CBT-1] a service object that cannot be written is logged and tried again', async (t) => {
  const { caFile, look, read, log } = await world(t);
  await rm(caFile);
  await look();
  assert.match(log.text(), /Could not publish the service; trying again/);
  await writeFile(caFile, 'second');
  await look();
  assert.equal((await read()).caCert, 'second');
});
