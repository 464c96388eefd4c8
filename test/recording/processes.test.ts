// Recording and replay as users run them: `berth proxy`, `berth up`, `berth replay` and drivers as processes, ours and the official
// hostpath driver in Go.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import {
  Controller,
  type CsiError,
  connectCsi,
  csiClient,
  Identity,
  VolumeCapability_AccessMode_Mode as Mode,
  Node,
} from '../../src/csi/index.ts';
import { readRecording } from '../../src/recording/read-recording.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { startCluster } from '../../src/test-cluster/index.ts';
import { lacking, missingPeers, peerPath } from '../capabilities.ts';
import { startHostpath } from '../conformance/hostpath-process.ts';
import {
  BERTH,
  berth,
  claimAndPod,
  mountsBelow,
  startUp,
  temporaryDirectory,
  undoAfter,
} from '../e2e/up-process.ts';

const volumeCapability = {
  accessType: { case: 'mount' as const, value: {} },
  accessMode: { mode: Mode.SINGLE_NODE_WRITER },
};
const SECRET = 'correct-horse-battery';

type Undo = Parameters<typeof undoAfter>[0];

/** A command of berth that serves; resolves when it says that it is ready, on either output. */
async function serving(t: Undo, args: readonly string[]) {
  const child = spawn(process.execPath, [BERTH, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  undoAfter(t, async () => {
    child.kill('SIGKILL');
    await ended;
  });
  let stdout = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  const line = (stream: ChildProcess['stdout']): Promise<void> =>
    new Promise((resolve) => {
      createInterface({ input: stream as NodeJS.ReadableStream }).on('line', (text) => {
        if (text.startsWith('ready ')) resolve();
      });
    });
  const over = ended.then(([code]) => assert.fail(`${args[0]} ended with ${code}: ${stdout}`));
  over.catch(() => {});
  await Promise.race([line(child.stdout), line(child.stderr), over]);
  const stop = async (signal: NodeJS.Signals): Promise<{ code: number | null; stdout: string }> => {
    child.kill(signal);
    const [code] = await ended;
    return { code, stdout };
  };
  return { stop };
}

/** What sidecars and a kubelet do with a few volumes, with errors among it. */
async function work(socket: string, directory: string): Promise<void> {
  const connection = connectCsi({ address: socket, clock: realClock, log: silentLog });
  const call = { timeoutMs: 30_000 };
  const controller = csiClient(Controller, connection, call);
  const node = csiClient(Node, connection, call);
  try {
    await connection.waitForReady();
    const identity = csiClient(Identity, connection, call);
    await identity.getPluginInfo({});
    await identity.getPluginCapabilities({});
    await controller.controllerGetCapabilities({});
    const { nodeId } = await node.nodeGetInfo({});
    const life = async (name: string): Promise<string> => {
      const { volume } = await controller.createVolume({
        name,
        capacityRange: { requiredBytes: 16n << 20n },
        volumeCapabilities: [volumeCapability],
        secrets: { password: SECRET },
      });
      const { volumeId = '', volumeContext = {} } = volume ?? {};
      const { publishContext } = await controller.controllerPublishVolume({
        volumeId,
        nodeId,
        volumeCapability,
        volumeContext,
      });
      const stagingTargetPath = join(directory, name, 'staging');
      const targetPath = join(directory, name, 'target');
      await mkdir(stagingTargetPath, { recursive: true });
      const common = { volumeId, volumeContext, publishContext, volumeCapability, stagingTargetPath };
      await node.nodeStageVolume(common);
      await node.nodePublishVolume({ ...common, targetPath });
      await node.nodeUnpublishVolume({ volumeId, targetPath });
      await node.nodeUnstageVolume({ volumeId, stagingTargetPath });
      await controller.controllerUnpublishVolume({ volumeId, nodeId });
      return volumeId;
    };
    const ids = await Promise.all(['pvc-one', 'pvc-two'].map(life));
    await controller.listVolumes({});
    const refused = controller.createVolume({ name: '', secrets: { password: SECRET } });
    await assert.rejects(refused, (error: CsiError) => error.code === 'INVALID_ARGUMENT');
    for (const volumeId of ids) await controller.deleteVolume({ volumeId });
  } finally {
    connection.close();
  }
}

type StartDriver = (root: string, flags?: string[]) => Promise<{ stop(): Promise<void> }>;

/** Records work on one instance of a driver, and plays it to another. */
async function recordAndReplay(
  t: Undo,
  startDriver: StartDriver,
): Promise<{ recording: string; other: string }> {
  const directory = await temporaryDirectory(t);
  const [first, second] = [join(directory, '1'), join(directory, '2')];
  for (const each of [first, second]) await mkdir(each);
  const recording = join(directory, 'calls.jsonl');
  const driver = await startDriver(first);
  const proxy = await serving(t, [
    'proxy',
    `--listen=unix://${first}/p`,
    `--driver=unix://${first}/s`,
    `--record=${recording}`,
  ]);
  await work(`${first}/p`, first);
  assert.equal((await proxy.stop('SIGINT')).code, 0);
  await driver.stop();
  assert.equal((await stat(recording)).mode & 0o777, 0o600);
  const { calls, isCutShort } = await readRecording(recording);
  assert.equal(isCutShort, false);
  assert.equal(calls.filter(({ answer }) => answer === undefined).length, 0);

  const fresh = await startDriver(second);
  undoAfter(t, () => fresh.stop());
  const other = `unix://${second}/s`;
  const replay = await berth(['replay', recording, '--as=client', `--driver=${other}`, '-o', 'json']);
  assert.equal(replay.code, 0, replay.stdout + replay.stderr);
  const report = JSON.parse(replay.stdout);
  assert.deepEqual(report.differences, []);
  assert.equal(report.same, calls.length);
  assert.deepEqual(mountsBelow(directory), []);
  return { recording, other };
}

test('[REC-1] calls to hostpath are recorded by a proxy, and another hostpath answers them alike', {
  skip: lacking('mounts'),
}, async (t) => {
  const { recording } = await recordAndReplay(t, startHostpath);
  const directory = await temporaryDirectory(t);
  // Another limit: one difference, and exit code 1.
  const differing = await startHostpath(directory, ['--max-volumes-per-node=4']);
  undoAfter(t, () => differing.stop());
  const replay = await berth(['replay', recording, '--as=client', `--driver=unix://${directory}/s`]);
  assert.equal(replay.code, 1, replay.stderr);
  assert.match(replay.stdout, /NodeGetInfo\n {2}maxVolumesPerNode: was 8, is 4\n/);
  assert.match(replay.stdout, /answered as recorded, 1 differs/);
  const absent = await berth(['replay', recording, '--as=client', `--driver=unix://${directory}/none`], {
    timeoutMs: 120_000,
  });
  assert.equal(absent.code, 1);
  assert.match(absent.stderr, /no driver listens at .*nothing was played/);
  for (const [args, why] of [
    [[], /as what\? Give --as driver or --as client/],
    [['--as=driver'], /--as driver needs --listen/],
    [['--as=client'], /--as client needs --driver/],
    [
      ['--as=client', '--driver=/x', '--target=/y'],
      /the recording has no call to \/y; it does not name sockets/,
    ],
  ] as const) {
    const wrong = await berth(['replay', recording, ...args]);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, why);
  }
});

test('[REC-1] a proxy that is killed leaves a recording that can be read and played', {
  skip: lacking('mounts'),
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const driver = await startHostpath(directory);
  undoAfter(t, () => driver.stop());
  const recording = join(directory, 'calls.jsonl');
  const proxy = await serving(t, [
    'proxy',
    `--listen=unix://${directory}/p`,
    `--driver=unix://${directory}/s`,
    `--record=${recording}`,
  ]);
  await work(`${directory}/p`, directory);
  await proxy.stop('SIGKILL');
  const { calls } = await readRecording(recording);
  assert.ok(calls.length > 15, `${calls.length} calls`);
  const replay = await berth(['replay', recording, '--as=client', `--driver=unix://${directory}/s`]);
  assert.equal(replay.code, 0, replay.stdout + replay.stderr);
  // The socket of a proxy that was killed is still there, and so is its recording.
  const again = await berth([
    'proxy',
    `--listen=unix://${directory}/p`,
    `--driver=unix://${directory}/s`,
    `--record=${recording}`,
  ]);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /exists, and a recording is never overwritten/);
});

test('[REC-1] berth up records, and the recording is the driver of another cluster', {
  skip: lacking('mounts'),
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const recording = join(directory, 'calls.jsonl');
  const up = await startUp(t, join(directory, 'up'), [
    '--nodes=1',
    `--record=${recording}`,
    '--without=dashboard',
  ]);
  const kube = [`--kubeconfig=${up.kubeconfig}`];
  const command = async (args: readonly string[], input?: string): Promise<void> => {
    const { code, stderr } = await berth([...args, ...kube], input === undefined ? {} : { input });
    assert.equal(code, 0, stderr);
  };
  const objects = claimAndPod('web');
  await command(['apply', '-f', '-'], objects);
  await command(['wait', 'pod/web', '--for=condition=Ready']);
  await command(['delete', '-f', '-'], objects);
  await command(['wait', 'pv', '--for=delete']);
  assert.equal(await up.stop(), 0);
  const { calls } = await readRecording(recording);
  const names = new Set(calls.map(({ method }) => method?.name));
  for (const name of [
    'GetPluginInfo',
    'CreateVolume',
    'NodePublishVolume',
    'NodeUnpublishVolume',
    'DeleteVolume',
  ])
    assert.ok(names.has(name), name);

  const socket = join(directory, 'r');
  const replay = await serving(t, [
    'replay',
    recording,
    '--as=driver',
    `--listen=unix://${socket}`,
    '--mount',
    '-o',
    'json',
  ]);
  {
    await using cluster = await startCluster({ driver: `unix://${socket}` });
    const volume = await cluster.createClaim('other', { size: '16Mi' });
    const created = calls.find(({ method }) => method?.name === 'CreateVolume')?.answer?.response;
    assert.ok(
      JSON.stringify(created, (_, value) => (typeof value === 'bigint' ? String(value) : value)).includes(
        volume.spec.csi?.volumeHandle ?? '?',
      ),
    );
    await cluster.runPod('worker', { claim: 'other' });
    await cluster.deletePod('worker');
  }
  const { code, stdout } = await replay.stop('SIGTERM');
  const report = JSON.parse(stdout);
  const told = report.differences.map(
    ({ method, fields }: { method: string; fields: { field: string }[] }) => [
      method,
      ...fields.map(({ field }) => field),
    ],
  );
  // The other cluster asks a driver of its own what hostpath need not be asked: nothing that changes a volume differs.
  assert.deepEqual(
    told.filter(([method]: string[]) =>
      /^(Create|Delete|Node(Un)?(Stage|Publish)|Controller(Un)?[Pp]ublish)/.test(method ?? ''),
    ),
    [],
    stdout,
  );
  assert.equal(code, told.length === 0 ? 0 : 1);
});

const goSkip = missingPeers('hostpathplugin') || lacking('root');
test('[REC-1] calls to the driver in Go are recorded by a proxy, and another instance answers them alike', {
  skip: goSkip,
}, async (t) => {
  const startGo: StartDriver = async (root) => {
    const child = spawn(
      peerPath('hostpathplugin') ?? '',
      [`--endpoint=unix://${root}/s`, '--nodeid=go', '--enable-attach=true', `--statedir=${root}/state`],
      { stdio: 'ignore' },
    );
    const ended = once(child, 'exit');
    const connection = connectCsi({ address: `${root}/s`, clock: realClock, log: silentLog });
    await connection.waitForReady();
    connection.close();
    return {
      async stop() {
        child.kill('SIGKILL');
        await ended;
      },
    };
  };
  const { recording } = await recordAndReplay(t, startGo);
  // In its place, the recording answers the same work.
  const directory = await temporaryDirectory(t);
  const replay = await serving(t, [
    'replay',
    recording,
    '--as=driver',
    `--listen=unix://${directory}/s`,
    '--until-complete',
  ]);
  await work(`${directory}/s`, directory);
  const { code, stdout } = await replay.stop('SIGTERM');
  assert.equal(code, 0, stdout);
  assert.match(stdout, /asked for as recorded, 0 differ/);
});
