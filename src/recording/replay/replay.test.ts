// A recording made through the proxy is played to another driver and in place of the driver, over real sockets.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { connectCsi } from '../../csi/client/connect-csi.ts';
import { csiClient } from '../../csi/client/csi-client.ts';
import { CsiError } from '../../csi/csi-error.ts';
import {
  Controller,
  Identity,
  Node,
  ControllerServiceCapability_RPC_Type as Rpc,
} from '../../csi/generated/csi/v1/csi_pb.ts';
import { serveCsi } from '../../csi/server/serve-csi.ts';
import { type Handlers, implement } from '../../csi/server/service-implementation.ts';
import { serveProxy } from '../../proxy/serve-proxy.ts';
import { silentLog } from '../../runtime/log/log.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { temporaryDirectory } from '../../wire/testing/test-socket.ts';
import { type Recording, readRecording } from '../read-recording.ts';
import { openRecorder } from '../recorder.ts';
import { recordingInterceptor } from '../recording-interceptor.ts';
import { replayAsClient } from './replay-as-client.ts';
import { replayAsDriver } from './replay-as-driver.ts';
import { reportText } from './replay-report.ts';

const ports = { log: silentLog, clock: realClock };
const call = { timeoutMs: 20_000 };

/** A driver in memory that hands out IDs of its own: each instance others. */
function memoryDriver(prefix: string, change: Handlers<typeof Controller> = {}) {
  const volumes = new Map<string, { id: string; name: string; bytes: bigint }>();
  let made = 0;
  const find = (id: string) => {
    const found = [...volumes.values()].find((volume) => volume.id === id);
    if (!found) throw new CsiError({ code: 'NOT_FOUND', message: `volume ${id} does not exist` });
    return found;
  };
  const described = ({ id, name, bytes }: { id: string; name: string; bytes: bigint }) => ({
    volumeId: id,
    capacityBytes: bytes,
    volumeContext: { device: `/dev/${id}`, name },
  });
  const services = [
    implement(Identity, {
      getPluginInfo: () => ({ name: 'memory.example.com', vendorVersion: prefix }),
      probe: () => ({ ready: true }),
    }),
    implement(Controller, {
      controllerGetCapabilities: () => ({
        capabilities: [{ type: { case: 'rpc', value: { type: Rpc.CREATE_DELETE_VOLUME } } }],
      }),
      createVolume: ({ name, capacityRange }) => {
        const known = volumes.get(name) ?? {
          id: `${prefix}-${++made}`,
          name,
          bytes: capacityRange?.requiredBytes ?? 1n,
        };
        volumes.set(name, known);
        return { volume: described(known) };
      },
      deleteVolume: ({ volumeId }) => {
        for (const [name, { id }] of volumes) if (id === volumeId) volumes.delete(name);
        return {};
      },
      controllerExpandVolume: ({ volumeId, capacityRange }) => {
        const volume = find(volumeId);
        volume.bytes = capacityRange?.requiredBytes ?? 1n;
        return { capacityBytes: volume.bytes };
      },
      controllerPublishVolume: ({ volumeId, nodeId }) => {
        find(volumeId);
        return { publishContext: { path: `/dev/${volumeId}`, on: nodeId } };
      },
      listVolumes: () => ({
        entries: [
          { volume: { volumeId: `${prefix}-old` } },
          ...[...volumes.values()].reverse().map((volume) => ({ volume: described(volume) })),
        ],
      }),
      ...change,
    }),
    implement(Node, {
      nodeGetInfo: () => ({ nodeId: `${prefix}-node`, maxVolumesPerNode: 8n }),
      nodePublishVolume: ({ volumeId, publishContext, volumeContext }) => {
        // What the driver itself handed out is what it gets back.
        assert.equal(publishContext.path, `/dev/${volumeId}`);
        assert.equal(volumeContext.device, `/dev/${volumeId}`);
        return {};
      },
    }),
  ];
  return { services, volumes, find };
}

/** Records what `work` does with a driver. */
async function record(
  t: TestContext,
  services: Parameters<typeof serveCsi>[0]['services'],
  work: (connection: ReturnType<typeof connectCsi>) => Promise<void>,
): Promise<Recording> {
  const directory = await temporaryDirectory(t);
  const path = join(directory, 'calls.jsonl');
  const recorder = await openRecorder({ path, by: 'test', ...ports });
  const server = await serveCsi({ address: `${directory}/d`, services, ...ports });
  const interceptors = [recordingInterceptor(recorder)];
  const proxy = await serveProxy({
    listen: `${directory}/p`,
    driver: `${directory}/d`,
    interceptors,
    ...ports,
  });
  const connection = connectCsi({ address: `${directory}/p`, ...ports });
  await work(connection);
  connection.close();
  await proxy.stop(1000);
  await server.stop(1000);
  await recorder.close();
  return readRecording(path);
}

async function served(t: TestContext, services: Parameters<typeof serveCsi>[0]['services']) {
  const address = join(await temporaryDirectory(t), 's');
  const server = await serveCsi({ address, services, ...ports });
  const connection = connectCsi({ address, ...ports });
  t.after(async () => {
    connection.close();
    await server.stop(0);
  });
  return connection;
}

/** What a provisioner, an attacher and a kubelet do with two volumes. */
async function twoLives(
  connection: ReturnType<typeof connectCsi>,
  names = ['pvc-1', 'pvc-2'],
): Promise<void> {
  const identity = csiClient(Identity, connection, call);
  const controller = csiClient(Controller, connection, call);
  const node = csiClient(Node, connection, call);
  await identity.getPluginInfo({});
  await identity.probe({});
  await controller.controllerGetCapabilities({});
  const { nodeId } = await node.nodeGetInfo({});
  const lives = names.map(async (name, at) => {
    const { volume } = await controller.createVolume({
      name,
      capacityRange: { requiredBytes: BigInt(at + 1) << 30n },
    });
    const volumeId = volume?.volumeId ?? '';
    const { publishContext } = await controller.controllerPublishVolume({ volumeId, nodeId });
    const pod = { 'csi.storage.k8s.io/pod.name': name };
    await node.nodePublishVolume({
      volumeId,
      targetPath: `/var/lib/kubelet/pods/${name}/mount`,
      publishContext,
      volumeContext: { ...volume?.volumeContext, ...pod },
    });
    await controller.controllerExpandVolume({ volumeId, capacityRange: { requiredBytes: 9n << 30n } });
    return volumeId;
  });
  const ids = await Promise.all(lives);
  await controller.listVolumes({});
  await assert.rejects(
    controller.controllerExpandVolume({ volumeId: 'older', capacityRange: { requiredBytes: 1n } }),
  );
  for (const volumeId of ids) await controller.deleteVolume({ volumeId });
}

async function asClient(
  t: TestContext,
  recording: Recording,
  driver: ReturnType<typeof memoryDriver>,
  options = {},
) {
  return replayAsClient(recording, {
    connection: await served(t, driver.services),
    clock: realClock,
    signal: new AbortController().signal,
    keepsTiming: false,
    timeoutMs: 20_000,
    directory: await temporaryDirectory(t),
    namePrefix: 'again-',
    includeExisting: false,
    secrets: undefined,
    ...options,
  });
}

describe('a recording as a client', () => {
  it('[REC-1] finds no difference in a driver that hands out other IDs, contexts and orders', async (t) => {
    const recording = await record(t, memoryDriver('old').services, twoLives);
    const driver = memoryDriver('new');
    // The same driver has volumes of the recorded names already: they are not touched.
    driver.volumes.set('pvc-1', { id: 'precious', name: 'pvc-1', bytes: 1n });
    const report = await asClient(t, recording, driver);
    assert.deepEqual(report.differences, []);
    assert.deepEqual(report.left, { 'skipped: about what the recording did not make': 1 });
    assert.equal(report.same, recording.calls.length - 1);
    assert.deepEqual(
      [...driver.volumes.values()].map(({ id }) => id),
      ['precious'],
    );
    assert.match(reportText(report), /16 recorded calls: 15 answered as recorded, 0 differ, 1 skipped/);
  });

  it('[REC-1] shows what a driver answers differently, by volume and field', async (t) => {
    const recording = await record(t, memoryDriver('old').services, twoLives);
    const driver = memoryDriver('new', {
      controllerExpandVolume: ({ volumeId }) => {
        if (driver.find(volumeId).name === 'again-pvc-2')
          throw new CsiError({ code: 'OUT_OF_RANGE', message: 'too large' });
        return { capacityBytes: 7n, nodeExpansionRequired: true };
      },
      listVolumes: () => ({ entries: [] }),
    });
    const report = await asClient(t, recording, driver);
    const shown = report.differences.map(({ method, fields }) => [
      method,
      ...fields.map(({ field }) => field),
    ]);
    assert.deepEqual(shown.toSorted(), [
      ['ControllerExpandVolume', 'capacityBytes', 'nodeExpansionRequired'],
      ['ControllerExpandVolume', 'code'],
      ['ListVolumes', 'entries[new-2]', 'entries[new-1]'],
    ]);
    const text = reportText(report);
    assert.match(text, /ControllerExpandVolume old-\d\n {2}code: was OK, is OUT_OF_RANGE \(too large\)/);
    assert.match(text, /capacityBytes: was 9663676416, is 7/);
    assert.match(text, /nodeExpansionRequired: is true, was not there/);
  });

  it('[REC-1] says what a driver with other capabilities lacks, and what is left on it', async (t) => {
    const recording = await record(t, memoryDriver('old').services, async (connection) => {
      await csiClient(Controller, connection, call).createVolume({
        name: 'kept',
        secrets: { key: 'hidden-value' },
      });
      await twoLives(connection);
    });
    const driver = memoryDriver('new', { controllerGetCapabilities: () => ({ capabilities: [] }) });
    const controller = driver.services[1] as { handlers: Record<string, unknown> };
    delete controller.handlers.controllerExpandVolume;
    const report = await asClient(t, recording, driver);
    assert.ok(
      report.differences.some(
        ({ method, fields }) => method === 'ControllerGetCapabilities' && fields.length > 0,
      ),
    );
    const notes = report.notes.join('\n');
    assert.match(notes, /does not implement ControllerExpandVolume, of which the recording has 2/);
    assert.match(notes, /1 calls had secrets.*--secrets/);
    assert.match(notes, /volume new-1 \(kept\) was made and not deleted/);
  });

  it('gives the longest name a new beginning, and does not compare pages of a listing or deadlines', async (t) => {
    const longest = 'n'.repeat(124).padEnd(128, 'tail');
    const strict: Handlers<typeof Controller> = {
      createVolume: async ({ name }) => {
        if (name.length > 128) throw new CsiError({ code: 'INVALID_ARGUMENT', message: 'too long' });
        if (name === 'late') throw new CsiError({ code: 'DEADLINE_EXCEEDED', message: 'deadline exceeded' });
        return { volume: { volumeId: `id-${name.slice(-9)}` } };
      },
      listVolumes: ({ startingToken }) =>
        startingToken === 'all'
          ? { entries: [] }
          : { entries: [{ volume: { volumeId: 'id-nnnnntail' } }], nextToken: 'all' },
    };
    const recording = await record(t, memoryDriver('old', strict).services, async (connection) => {
      const controller = csiClient(Controller, connection, call);
      await controller.createVolume({ name: longest });
      await assert.rejects(controller.createVolume({ name: 'late' }));
      await controller.listVolumes({ startingToken: (await controller.listVolumes({})).nextToken });
    });
    const other: Handlers<typeof Controller> = {
      ...strict,
      listVolumes: () => ({ entries: [], nextToken: 'more' }),
    };
    const report = await asClient(t, recording, memoryDriver('new', other));
    assert.deepEqual(report.differences, []);
    assert.deepEqual(report.left, { 'not compared: the recording has no answer of the driver': 1 });
  });

  it('lets calls overlap as they did, and keeps the recorded gaps if it is told to', async (t) => {
    const overlap = { now: 0, most: 0 };
    const both = Promise.withResolvers<void>();
    const counting: Handlers<typeof Controller> = {
      createVolume: async ({ name }) => {
        overlap.now += 1;
        overlap.most = Math.max(overlap.most, overlap.now);
        if (overlap.now === 2) both.resolve();
        await both.promise;
        overlap.now -= 1;
        return { volume: { volumeId: name.replace(/^again-/, '') } };
      },
    };
    const recording = await record(t, memoryDriver('old', counting).services, async (connection) => {
      const controller = csiClient(Controller, connection, call);
      await Promise.all(['a', 'b'].map((name) => controller.createVolume({ name })));
    });
    overlap.most = 0;
    const waits: number[] = [];
    const clock = { ...realClock, monotonicMs: () => 0, sleep: async (ms: number) => void waits.push(ms) };
    const report = await asClient(t, recording, memoryDriver('new', counting), { keepsTiming: true, clock });
    assert.equal(overlap.most, 2);
    assert.deepEqual(report.differences, []);
    assert.deepEqual(
      waits,
      recording.calls.map(({ atMs }) => atMs),
    );
  });
});

describe('a recording as a driver', () => {
  it('[REC-1] answers callers that use other names, in another order, and sees no difference', async (t) => {
    const recording = await record(t, memoryDriver('old').services, twoLives);
    const driver = replayAsDriver(recording, asFast());
    const connection = await served(t, driver.services);
    await twoLives(connection, ['pvc-x', 'pvc-y']);
    const { volume } = await csiClient(Controller, connection, call).createVolume({
      name: 'pvc-y',
      capacityRange: { requiredBytes: 2n << 30n },
    });
    assert.equal(volume?.volumeContext.name, 'pvc-y');
    assert.equal(volume?.capacityBytes, 2n << 30n, 'the name that asked for the same size');
    const report = driver.report();
    assert.deepEqual(report.differences, []);
    assert.equal(report.same, recording.calls.length);
    assert.equal(report.left['repeated more often than recorded'], 1);
  });

  it('[REC-1] shows requests that differ, calls that are new, and calls that nobody makes any more', async (t) => {
    const recording = await record(t, memoryDriver('old').services, twoLives);
    const driver = replayAsDriver(recording, asFast());
    const controller = csiClient(Controller, await served(t, driver.services), call);
    const { volume } = await controller.createVolume({
      name: 'pvc-x',
      capacityRange: { requiredBytes: 1n << 30n },
      parameters: { tier: 'gold' },
    });
    assert.match(volume?.volumeId ?? '', /^old-/);
    const unknown = controller.createSnapshot({ name: 's', sourceVolumeId: volume?.volumeId ?? '' });
    await assert.rejects(unknown, (error: CsiError) => {
      assert.equal(error.code, 'UNAVAILABLE');
      assert.match(error.description, /the recording has no CreateSnapshot for s/);
      return true;
    });
    await controller.deleteVolume({ volumeId: volume?.volumeId ?? '' });
    const report = driver.report();
    assert.deepEqual(
      report.differences.map(({ method, fields }) => [method, fields[0]?.field, fields[0]?.now]).toSorted(),
      [
        ['ControllerExpandVolume', 'request', undefined],
        ['ControllerPublishVolume', 'request', undefined],
        ['CreateSnapshot', 'request', 'asked for'],
        ['CreateVolume', 'parameters', { tier: 'gold' }],
        ['NodePublishVolume', 'request', undefined],
      ],
    );
    assert.ok((report.left['not reached: nobody asked about their objects'] ?? 0) >= 4);
  });

  it('[REC-1] repeats errors, latencies and silence as recorded', async (t) => {
    const attempts = { count: 0 };
    const flaky = memoryDriver('old', {
      createVolume: async ({ name }) => {
        attempts.count += 1;
        if (attempts.count === 1)
          throw new CsiError({ code: 'RESOURCE_EXHAUSTED', message: 'full', details: Buffer.from('d') });
        if (attempts.count === 2) return new Promise(() => {});
        return { volume: { volumeId: name } };
      },
    });
    const recording = await record(t, flaky.services, async (connection) => {
      const controller = csiClient(Controller, connection, call);
      await csiClient(Identity, connection, call).getPluginInfo({});
      await assert.rejects(controller.createVolume({ name: 'a' }));
      await assert.rejects(controller.createVolume({ name: 'a' }, { timeoutMs: 200 }));
      await controller.createVolume({ name: 'a' });
    });
    const waits: number[] = [];
    const clock = { ...realClock, sleep: async (ms: number) => void waits.push(ms) };
    const driver = replayAsDriver(recording, { clock, keepsTiming: true });
    const controller = csiClient(Controller, await served(t, driver.services), call);
    await assert.rejects(controller.createVolume({ name: 'z' }), {
      code: 'RESOURCE_EXHAUSTED',
      description: 'full',
    });
    await assert.rejects(controller.createVolume({ name: 'z' }, { timeoutMs: 200 }), {
      code: 'DEADLINE_EXCEEDED',
    });
    await controller.createVolume({ name: 'z' });
    const recorded = recording.calls.slice(1).map(({ atMs, answer }) => (answer?.atMs ?? 0) - atMs);
    assert.deepEqual(waits, recorded);
  });

  it('[REC-1] derives capabilities that were not asked for, and refuses to be a driver without a name', async (t) => {
    const recording = await record(t, memoryDriver('old').services, async (connection) => {
      await csiClient(Controller, connection, call).createVolume({ name: 'a' });
    });
    assert.throws(
      () => replayAsDriver(recording, asFast()),
      /does not say what the driver is called.*--driver-name/,
    );
    const driver = replayAsDriver(recording, { ...asFast(), driverName: 'given.example.com' });
    const connection = await served(t, driver.services);
    const identity = csiClient(Identity, connection, call);
    assert.equal((await identity.getPluginInfo({})).name, 'given.example.com');
    assert.equal((await identity.probe({})).ready, true);
    const { capabilities } = await csiClient(Controller, connection, call).controllerGetCapabilities({});
    assert.deepEqual(
      capabilities.map(({ type }) => type.value?.type),
      [Rpc.CREATE_DELETE_VOLUME],
    );
    const empty = { ...recording, calls: [] };
    assert.throws(() => replayAsDriver(empty, asFast()), /has no answer of a driver/);
  });
});

function asFast() {
  return { clock: realClock, keepsTiming: false };
}
