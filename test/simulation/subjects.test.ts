// One driver in place of the drawn ones: that of a module, and that of a recording.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  Controller,
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  Identity,
  Node,
  NodeServiceCapability_RPC_Type as NodeRpc,
  PluginCapability_Service_Type as PluginService,
} from '../../src/csi/index.ts';
import { openRecorder } from '../../src/recording/recorder.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import type { Mutation } from '../../src/simulation/mutation.ts';
import { MUTATIONS } from '../../src/simulation/mutations.ts';
import { digestOf } from '../../src/simulation/render.ts';
import { simulate } from '../../src/simulation/simulate.ts';
import { makeStartImage } from '../../src/simulation/start-image.ts';
import { openSubject } from '../../src/simulation/subjects/open-subject.ts';
import { type GrpcCode, grpcCodes } from '../../src/wire/grpc/grpc-code.ts';
import { methodPath } from '../../src/wire/grpc/method-path.ts';
import { create } from '../../src/wire/protobuf/create.ts';
import type { DescMethodUnary, Message } from '../../src/wire/protobuf/descriptor.ts';
import { runBerth } from '../run-berth.ts';

const EXAMPLE = fileURLToPath(new URL('../../examples/simulated-driver/', import.meta.url));
const SDK = fileURLToPath(new URL('../../src/driver/index.ts', import.meta.url));
const MOST_SEEDS = 200;

async function directoryFor(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'subject-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

describe('a driver of a module', () => {
  it('[REC-1] keeps all rules under crashes and faults if it is right, and a seed replays exactly', async () => {
    const start = await makeStartImage();
    const subject = await openSubject({ driverModule: join(EXAMPLE, 'simulation.ts') });
    const seen = new Set<string>();
    for (let seed = 1; seed <= 20; seed++) {
      const { violations, entries, plan } = await simulate(seed, { start, subject });
      assert.deepEqual(violations, [], `seed ${seed}`);
      assert.deepEqual(
        plan.drivers.map(({ name }) => name),
        ['disks.example.com'],
      );
      for (const entry of entries) {
        if (entry.kind === 'fault') seen.add(entry.fault);
        if (entry.kind === 'storage') seen.add(entry.change);
      }
    }
    for (const what of [
      'driver-crash-after',
      'driver-crash-before',
      'storage-lost-after',
      'storage-fails',
      'storage-slow',
      'attached',
      'detached',
      'published',
      'deleted',
    ])
      assert.ok(seen.has(what), `${what} never happened`);
    const digest = async () => digestOf((await simulate(7, { start, subject })).entries);
    assert.equal(await digest(), await digest());
  });

  for (const [mistake, rule] of [
    ['forgets-names', 'leak'],
    ['forgets-mounts', 'driver-promise'],
  ] as const) {
    it(`[REC-1] that ${mistake} is found by ${rule}`, async (t) => {
      const start = await makeStartImage();
      const subject = await openSubject({ driverModule: join(EXAMPLE, `simulation-${mistake}.ts`) });
      for (let seed = 1; seed <= MOST_SEEDS; seed++) {
        const { violations } = await simulate(seed, { start, subject });
        if (violations[0]?.rule !== rule) continue;
        t.diagnostic(`seed ${seed}: ${violations[0].text}`);
        return;
      }
      assert.fail(`no seed up to ${MOST_SEEDS} shows it`);
    });
  }

  it('[REC-1] runs from the command line, in several threads, and the report says how to run it again', async () => {
    const module = join(EXAMPLE, 'simulation.ts');
    const good = await runBerth(['sim', '--seeds=1..4', '--jobs=2', `--driver-module=${module}`]);
    assert.equal(good.code, 0, good.stdout + good.stderr);
    assert.match(good.stdout, /4 seeds, .* no violation/);
    const bad = await runBerth([
      'sim',
      '--seeds=1..50',
      `--driver-module=${join(EXAMPLE, 'simulation-forgets-mounts.ts')}`,
    ]);
    assert.equal(bad.code, 1);
    assert.match(bad.stdout, /violates driver-promise: a driver under test that answers OK has done/);
    assert.match(bad.stdout, /again: berth sim --seed \d+ --driver-module \S+forgets-mounts.ts --trace/);
  });

  const good = `storage: () => ({ port: {}, volumes: () => [] })`;
  const node = `node: { nodeGetInfo: () => ({ nodeId: 'n1' }), nodePublishVolume: () => ({}), nodeUnpublishVolume: () => ({}) }`;
  for (const [name, text, expected] of [
    ['that is not there', undefined, /nowhere.ts cannot be loaded: .*Cannot find module/],
    ['that throws', `throw new Error('no licence')`, /bad.ts cannot be loaded: no licence/],
    ['without a driver', `export const driver = 1;`, /has no driver to simulate: .* it exports driver/],
    [
      'whose driver throws',
      `export default { ${good}, driver: () => { throw new Error('not today'); } };`,
      /does not start the controller's process: not today/,
    ],
    [
      'whose storage is none',
      `export default { storage: () => ({}), driver: () => ({}) };`,
      /storage\(\) is to return \{ port, volumes \}/,
    ],
    [
      'whose driver contradicts itself',
      `export default { ${good}, driver: () => ({ name: 'x', version: '1', ${node}, controller: { createVolume: () => ({}) } }) };`,
      /createVolume and deleteVolume must both be implemented/,
    ],
    [
      'whose driver creates nothing',
      `export default { ${good}, driver: () => ({ name: 'x', version: '1', ${node} }) };`,
      /needs createVolume .* it has no createVolume/,
    ],
  ] as const) {
    it(`[REC-1] ${name} is refused`, async (t) => {
      const directory = await directoryFor(t);
      const path = join(directory, text === undefined ? 'nowhere.ts' : 'bad.ts');
      if (text !== undefined) await writeFile(path, text);
      const { code, stdout, stderr } = await runBerth(['sim', '--seeds=1..1', `--driver-module=${path}`]);
      assert.equal(code, 1, stdout);
      assert.match(stderr, expected);
      assert.doesNotMatch(stdout, /seeds 1\.\.1/, 'nothing ran');
    });
  }

  it('[REC-1] that breaks in a run is reported with its process', async (t) => {
    const path = join(await directoryFor(t), 'later.ts');
    await writeFile(
      path,
      `import { simulatedDriver, defineDriver } from ${JSON.stringify(SDK)};
       let started = 0;
       export default simulatedDriver({ ${good}, driver: () => {
         if (++started > 12) throw new Error('too many starts');
         return defineDriver({ name: 'x.example.com', version: '1', ${node.replace("'n1'", "'somewhere'")},
           controller: { createVolume: () => ({ volume: { volumeId: 'v' } }), deleteVolume: () => ({}), validateVolumeCapabilities: () => ({}) } });
       } });`,
    );
    const { code, stdout } = await runBerth([
      'sim',
      '--seeds=1..3',
      `--driver-module=${path}`,
      '--keep-going',
    ]);
    assert.equal(code, 1);
    assert.match(stdout, /driver-promise: NodeGetInfo somewhere is not n\d or n\d.SUFFIX/);
    assert.match(stdout, /component-failed: driver-\S+ does not start: too many starts/);
  });
});

/** A recording of a driver that attaches and stages, with this course of CreateVolume for its one volume. */
async function recordingOf(
  t: TestContext,
  course: readonly (GrpcCode | 'lost')[],
  abilities = { creates: true },
): Promise<string> {
  const path = join(await directoryFor(t), 'calls.jsonl');
  let nowMs = 0;
  const clock = { ...realClock, monotonicMs: () => nowMs };
  const recorder = await openRecorder({ path, by: 'test', clock, log: silentLog });
  const add = (
    method: DescMethodUnary,
    request: object,
    answer: object,
    code: GrpcCode | 'lost' = 'OK',
    latencyMs = 5,
  ): void => {
    const end = recorder.begin({
      path: methodPath(method),
      method,
      request: create(method.input, request as Message),
      requestBytes: 0,
    });
    nowMs += latencyMs;
    const response = code === 'OK' ? { response: create(method.output, answer as Message) } : {};
    const rawCode = code === 'lost' ? grpcCodes.DEADLINE_EXCEEDED : grpcCodes[code];
    end({
      code: rawCode,
      text: code === 'OK' ? '' : 'as in production',
      isLost: code === 'lost',
      ...response,
    });
  };
  const rpc = (types: readonly number[]) => ({
    capabilities: types.map((type) => ({ type: { case: 'rpc', value: { type } } })),
  });
  add(Identity.method.getPluginInfo, {}, { name: 'seen.example.com', vendorVersion: '1' });
  add(
    Identity.method.getPluginCapabilities,
    {},
    { capabilities: [{ type: { case: 'service', value: { type: PluginService.CONTROLLER_SERVICE } } }] },
  );
  add(
    Controller.method.controllerGetCapabilities,
    {},
    rpc([
      ...(abilities.creates ? [ControllerRpc.CREATE_DELETE_VOLUME] : []),
      ControllerRpc.PUBLISH_UNPUBLISH_VOLUME,
    ]),
  );
  add(Node.method.nodeGetCapabilities, {}, rpc([NodeRpc.STAGE_UNSTAGE_VOLUME]));
  const { createVolume } = Controller.method;
  const volume = { volumeId: 'v-1', capacityBytes: 1n << 30n, volumeContext: { pool: 'fast' } };
  for (const code of course) add(createVolume, { name: 'pvc-1' }, { volume }, code, 1700);
  await recorder.close();
  return path;
}

describe('a recorded driver', () => {
  it('[REC-1] has the abilities, errors, latencies and contexts that were recorded, and keeps all rules', async (t) => {
    const start = await makeStartImage();
    const recording = await recordingOf(t, ['RESOURCE_EXHAUSTED', 'lost', 'OK']);
    const subject = await openSubject({ recording });
    const codes = new Set<string>();
    let contexts = 0;
    let slow = 0;
    for (let seed = 1; seed <= 20; seed++) {
      const { violations, entries, plan } = await simulate(seed, { start, subject });
      assert.deepEqual(violations, [], `seed ${seed}`);
      const [driver] = plan.drivers;
      assert.deepEqual(
        [
          driver?.name,
          driver?.attaches,
          driver?.stages,
          driver?.topology,
          driver?.expands,
          driver?.snapshots,
          plan.drivers.length,
        ],
        ['seen.example.com', true, true, false, undefined, undefined, 1],
      );
      const begun = new Map<number, number>();
      for (const entry of entries) {
        if (entry.kind === 'delivered' && entry.call.method === 'CreateVolume')
          begun.set(entry.id, entry.atMs);
        if (entry.kind === 'returned' && entry.call.method === 'CreateVolume') {
          codes.add(entry.code);
          if (entry.atMs - (begun.get(entry.id) ?? entry.atMs) >= 1700) slow += 1;
        }
        if (
          entry.kind === 'api' &&
          entry.plural === 'persistentvolumes' &&
          JSON.stringify(entry.after ?? {}).includes('"pool":"fast"')
        )
          contexts += 1;
      }
    }
    assert.ok(
      codes.has('RESOURCE_EXHAUSTED') && codes.has('DEADLINE_EXCEEDED') && codes.has('OK'),
      [...codes].join(),
    );
    assert.ok(contexts > 0 && slow > 0);
    const digest = async () => digestOf((await simulate(3, { start, subject })).entries);
    assert.equal(await digest(), await digest());
  });

  it('[REC-1] shows a bug that only its answers provoke, without any other fault', async (t) => {
    const start = await makeStartImage();
    const mutation = MUTATIONS['new-name-on-retry'] as Mutation;
    const found = async (course: readonly (GrpcCode | 'lost')[]): Promise<(string | undefined)[]> => {
      const subject = await openSubject({ recording: await recordingOf(t, course) });
      const rules: (string | undefined)[] = [];
      for (let seed = 1; seed <= 8; seed++) {
        const { violations } = await simulate(seed, { start, subject, mutation, faults: new Set() });
        rules.push(violations[0]?.rule);
      }
      return rules;
    };
    assert.ok((await found(['lost', 'OK'])).includes(mutation.rule));
    assert.deepEqual(new Set(await found(['OK'])), new Set([undefined]));
  });

  it('[REC-1] that does not create volumes is refused, and so is one without a name', async (t) => {
    const creates = await recordingOf(t, [], { creates: false });
    const refused = await runBerth(['sim', '--seeds=1..1', `--recording=${creates}`]);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /seen.example.com does not create volumes/);
    const both = await runBerth(['sim', '--recording=a', '--driver-module=b']);
    assert.equal(both.code, 2);
    const none = await runBerth(['sim', `--recording=${join(EXAMPLE, 'driver.ts')}`]);
    assert.match(none.stderr, /is not a recording of CSI calls/);
    const ran = await runBerth(['sim', '--seeds=1..2', `--recording=${await recordingOf(t, ['OK'])}`]);
    assert.equal(ran.code, 0, ran.stderr);
  });
});
