// Faults between a driver in Go and its callers: the official hostpath driver behind `berth proxy`, in a cluster, and with the
// scenarios that come with Berth.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import type { ChaosReport } from '../../src/chaos/chaos-report.ts';
import {
  Controller,
  connectCsi,
  csiClient,
  VolumeCapability_AccessMode_Mode as Mode,
} from '../../src/csi/index.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { lacking, missingPeers, peerPath } from '../capabilities.ts';
import { BERTH, berth, temporaryDirectory, undoAfter } from '../e2e/up-process.ts';

const skip = missingPeers('hostpathplugin') || lacking('root');
const driverFlags = (directory: string): string[] => [
  '--nodeid=go',
  '--enable-attach=true',
  `--statedir=${directory}/state`,
];

test('[FLT-1] the Go hostpath driver behind a proxy: answers are lost, codes come back, calls arrive twice', {
  skip,
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const [listen, socket] = [join(directory, 'p'), join(directory, 's')];
  const driver = spawn(
    peerPath('hostpathplugin') ?? '',
    [`--endpoint=unix://${socket}`, ...driverFlags(directory)],
    {
      stdio: 'ignore',
    },
  );
  undoAfter(t, () => driver.kill('SIGKILL'));
  const proxy = spawn(
    process.execPath,
    [BERTH, 'proxy', '--listen', listen, '--driver', socket, '--fault', 'CreateVolume lose-answer once'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const ended = once(proxy, 'exit');
  undoAfter(t, () => proxy.kill('SIGKILL'));
  const [line] = (await once(createInterface({ input: proxy.stdout }), 'line')) as [string];
  assert.equal(line, `ready unix://${listen}`);
  const connection = connectCsi({ address: listen, clock: realClock, log: silentLog });
  t.after(() => connection.close());
  const direct = connectCsi({ address: socket, clock: realClock, log: silentLog });
  t.after(() => direct.close());
  await direct.waitForReady();
  const controller = csiClient(Controller, connection, { timeoutMs: 20_000 });
  const ids = async (): Promise<string[]> => {
    const { entries } = await csiClient(Controller, direct, { timeoutMs: 20_000 }).listVolumes({});
    return entries.map(({ volume }) => volume?.volumeId ?? '');
  };
  const create = () =>
    controller.createVolume({
      name: 'one',
      capacityRange: { requiredBytes: 1n << 20n },
      volumeCapabilities: [
        { accessType: { case: 'mount', value: {} }, accessMode: { mode: Mode.SINGLE_NODE_WRITER } },
      ],
    });
  await assert.rejects(create(), {
    code: 'UNAVAILABLE',
    description: /the answer was lost.*on purpose/,
  } as object);
  const made = await ids();
  assert.equal(made.length, 1, 'the driver has made it');
  assert.equal((await create()).volume?.volumeId, made[0], 'and finds it again');

  const fault = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await berth(['fault', '--proxy', listen, ...args]);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  await fault('add', 'DeleteVolume fail ABORTED once', 'DeleteVolume duplicate once');
  const remove = () => controller.deleteVolume({ volumeId: made[0] ?? '' });
  await assert.rejects(remove(), { code: 'ABORTED' });
  await remove();
  assert.deepEqual(await ids(), []);
  assert.match(await fault('list'), /f3 +DeleteVolume duplicate once +1, spent +csi-duplicated/);
  await fault('remove', '--all');
  assert.equal(await fault('list'), 'there are no faults\n');
  proxy.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
});

test('[FLT-1] the Go hostpath driver, started by Berth, in scenarios with faults', { skip }, async (t) => {
  const directory = await temporaryDirectory(t);
  const command = `exec ${peerPath('hostpathplugin')} --endpoint=$CSI_ENDPOINT ${driverFlags(directory).join(' ')}`;
  const scenarios = ['crash-after-create', 'create-times-out', 'attach-limit'];
  const { code, stdout, stderr } = await berth(
    ['chaos', 'run', ...scenarios, '-o', 'json', `--exec=${command}`],
    {
      timeoutMs: 300_000,
    },
  );
  const { results } = JSON.parse(stdout) as ChaosReport;
  const wrong = results.flatMap(({ name, state, why, steps, timeline }) =>
    state === 'passed' ? [] : [name, why, ...steps.flatMap(({ missing }) => missing), ...timeline],
  );
  assert.deepEqual(wrong, [], stderr);
  assert.equal(code, 0);
  assert.equal(results[0]?.driver.name, 'hostpath.csi.k8s.io');
});
