// Recording through the proxy over real sockets, and reading back what was written, also what was cut short or is no recording.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFile, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { lacking } from '../../test/capabilities.ts';
import { connectCsi } from '../csi/client/connect-csi.ts';
import { csiClient } from '../csi/client/csi-client.ts';
import { CsiError } from '../csi/csi-error.ts';
import { Controller, Identity, SnapshotMetadata } from '../csi/generated/csi/v1/csi_pb.ts';
import { serveCsi } from '../csi/server/serve-csi.ts';
import { implement, type ServiceImplementation } from '../csi/server/service-implementation.ts';
import type { ProxyInterceptor } from '../proxy/proxy-interceptor.ts';
import { serveProxy } from '../proxy/serve-proxy.ts';
import { memoryLog, silentLog } from '../runtime/log/log.ts';
import { realClock } from '../runtime/time/clock.ts';
import { temporaryDirectory } from '../wire/testing/test-socket.ts';
import { readRecording } from './read-recording.ts';
import { openRecorder } from './recorder.ts';
import { recordingInterceptor } from './recording-interceptor.ts';

const ports = { log: silentLog, clock: realClock };
const secret = 'correct-horse-battery';

/** A driver behind a proxy that records; `done` ends the recording and returns its text. */
async function recordedWorld(
  t: TestContext,
  services: readonly ServiceImplementation[],
  inner: readonly ProxyInterceptor[] = [],
) {
  const directory = await temporaryDirectory(t);
  const file = join(directory, 'calls.jsonl');
  const recorder = await openRecorder({ path: file, by: 'test', ...ports });
  const server = await serveCsi({ address: `${directory}/d`, services, ...ports });
  const proxy = await serveProxy({
    listen: `${directory}/p`,
    driver: `${directory}/d`,
    interceptors: [recordingInterceptor(recorder), ...inner],
    ...ports,
  });
  const connection = connectCsi({ address: `${directory}/p`, ...ports });
  t.after(async () => {
    connection.close();
    await proxy.stop(0);
    await server.stop(0);
  });
  const done = async (): Promise<string> => {
    await recorder.close();
    return readFile(file, 'utf8');
  };
  return { file, connection, controller: csiClient(Controller, connection, { timeoutMs: 20_000 }), done };
}

const controller = implement(Controller, {
  createVolume: ({ name, parameters, secrets }) => {
    if (name === 'bad') {
      throw new CsiError({
        code: 'INVALID_ARGUMENT',
        message: `login with ${Buffer.from(secrets.password ?? '')} refused`,
        details: Buffer.from(`\n${secrets.password}`),
      });
    }
    return {
      volume: {
        volumeId: `id-${name}`,
        capacityBytes: 5n,
        volumeContext: { ...parameters, login: `x:${secrets.password}` },
      },
    };
  },
  listVolumes: ({ maxEntries }) => ({
    entries: Array.from({ length: maxEntries }, (_, at) => ({
      volume: { volumeId: `volume-${at}`.padEnd(100, 'x') },
    })),
  }),
});

describe('a recording', () => {
  it('[REC-1] has every call with its times, order and result, and no secret anywhere', async (t) => {
    const world = await recordedWorld(t, [
      controller,
      implement(Identity, { getPluginInfo: () => ({ name: 'd' }) }),
    ]);
    await csiClient(Identity, world.connection, { timeoutMs: 20_000 }).getPluginInfo({});
    const token = `{"aud":{"token":"${secret}-of-pod"}}`;
    await world.controller.createVolume({
      name: 'good',
      parameters: {
        tier: 'gold',
        copied: `see ${secret}`,
        'csi.storage.k8s.io/serviceAccount.tokens': token,
      },
      capacityRange: { requiredBytes: 1n << 40n },
      secrets: { password: secret, pin: '1' },
    });
    await assert.rejects(world.controller.createVolume({ name: 'bad', secrets: { password: secret } }));
    await assert.rejects(world.controller.deleteVolume({ volumeId: 'v' }), { code: 'UNIMPLEMENTED' });
    const text = await world.done();
    assert.doesNotMatch(text, new RegExp(secret));
    assert.doesNotMatch(text, new RegExp(Buffer.from(secret).toString('base64').slice(4, 20)));
    const [header, ...lines] = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.equal(header.format, 'berth.csi-recording');
    assert.equal(header.version, 1);
    assert.ok(Math.abs(Date.parse(header.startedAt) - realClock.now()) < 3_600_000);
    assert.deepEqual(
      lines.map(({ kind, id }) => `${kind} ${id}`),
      ['call 1', 'answer 1', 'call 2', 'answer 2', 'call 3', 'answer 3', 'call 4', 'answer 4'],
    );
    assert.ok(lines.every(({ atMs }, at) => at === 0 || atMs >= lines[at - 1].atMs));
    const [, , create, created, , refused, , unknown] = lines;
    assert.deepEqual(create.method, '/csi.v1.Controller/CreateVolume');
    assert.deepEqual(create.caller, { connection: 1, agent: 'berth' });
    assert.deepEqual(create.request, {
      name: 'good',
      capacityRange: { requiredBytes: '1099511627776' },
      parameters: {
        tier: 'gold',
        copied: 'see [redacted]',
        'csi.storage.k8s.io/serviceAccount.tokens': '***stripped***',
      },
    });
    assert.ok(create.stripped.includes('secrets'));
    assert.equal(created.response.volume.volumeId, 'id-good');
    assert.equal(created.response.volume.volumeContext.login, 'x:[redacted]');
    assert.equal(refused.code, 'INVALID_ARGUMENT');
    assert.equal(refused.message, 'login with [redacted] refused');
    assert.equal(refused.details, undefined, 'details that quote a secret');
    assert.equal(unknown.code, 'UNIMPLEMENTED');
    assert.equal((await stat(world.file)).mode & 0o777, 0o600);

    const recording = await readRecording(world.file);
    assert.equal(recording.isCutShort, false);
    assert.deepEqual(
      recording.calls.map(({ method, answer }) => [method?.name, answer?.code]),
      [
        ['GetPluginInfo', 'OK'],
        ['CreateVolume', 'OK'],
        ['CreateVolume', 'INVALID_ARGUMENT'],
        ['DeleteVolume', 'UNIMPLEMENTED'],
      ],
    );
    assert.ok(recording.calls[1]?.hadSecrets);
  });

  it('[REC-1] leaves out a message that is too large, and passes it on whole', async (t) => {
    const world = await recordedWorld(t, [controller]);
    const { entries } = await world.controller.listVolumes({ maxEntries: 20_000 });
    assert.equal(entries.length, 20_000);
    const large = 'x'.repeat(2 << 20);
    await world.controller.createVolume({
      name: 'large',
      parameters: { large },
      secrets: { password: secret },
    });
    const text = await world.done();
    assert.ok(text.length < 10_000, `${text.length} characters`);
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.ok(lines[2].omittedBytes > 2_000_000);
    assert.equal(lines[2].response, undefined);
    assert.ok(lines[3].omittedBytes > 2_000_000);
    assert.equal(lines[4].response, undefined, 'nobody knows what in it is a secret');
    assert.doesNotMatch(text, new RegExp(secret));
    assert.equal((await readRecording(world.file)).calls[1]?.request, undefined);
  });

  it('[REC-1] has what other interceptors do to a call, what was given up, and what was under way', async (t) => {
    const reached = Promise.withResolvers<void>();
    const waiting = implement(Controller, {
      createVolume: () => {
        reached.resolve();
        return new Promise(() => {});
      },
    });
    const refusing: ProxyInterceptor = async (call, next) => {
      if (call.method?.name === 'DeleteVolume') throw new CsiError({ code: 'ABORTED', message: 'injected' });
      return next();
    };
    const world = await recordedWorld(t, [waiting], [refusing]);
    await assert.rejects(world.controller.deleteVolume({ volumeId: 'v' }), { code: 'ABORTED' });
    await assert.rejects(world.controller.createVolume({ name: 'late' }, { timeoutMs: 300 }));
    const pending = world.controller.createVolume({ name: 'pending' });
    pending.catch(() => {});
    await reached.promise;
    const untilRecorded = async (): Promise<string> => {
      for (;;) {
        const text = await readFile(world.file, 'utf8');
        if (/"pending"/.test(text) && /"lost":true/.test(text)) return text;
        await realClock.sleep(10);
      }
    };
    await untilRecorded();
    const { calls } = await readRecording(world.file);
    assert.deepEqual(
      calls.map(
        ({ answer }) => answer && [answer.rawCode !== 0, answer.text.includes('injected'), answer.isLost],
      ),
      [[true, true, false], [true, false, true], undefined],
    );
  });

  it('names a stream without its messages', async (t) => {
    const metadata = implement(SnapshotMetadata, {
      async *getMetadataAllocated() {
        yield { volumeCapacityBytes: 1n };
      },
    });
    const world = await recordedWorld(t, [metadata]);
    const client = csiClient(SnapshotMetadata, world.connection, { timeoutMs: 20_000 });
    for await (const _ of client.getMetadataAllocated({ snapshotId: 's', secrets: { a: secret } }));
    const text = await world.done();
    assert.match(text, /"streamed":true/);
    assert.doesNotMatch(text, new RegExp(secret));
  });

  it('is never overwritten', async (t) => {
    const directory = await temporaryDirectory(t);
    const path = join(directory, 'there');
    await writeFile(path, 'precious');
    await assert.rejects(openRecorder({ path, by: 'test', ...ports }), /never overwritten/);
    assert.equal(await readFile(path, 'utf8'), 'precious');
    await assert.rejects(
      openRecorder({ path: join(directory, 'no', 'file'), by: 'test', ...ports }),
      /cannot record/,
    );
  });
});

it('[REC-1] ends when the disk is full, and calls go on', { skip: lacking('mounts') }, async (t) => {
  const directory = await temporaryDirectory(t);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', directory]);
  try {
    await fillDisk(join(directory, 'calls.jsonl'));
  } finally {
    execFileSync('umount', [directory]);
  }
});

async function fillDisk(path: string): Promise<void> {
  const log = memoryLog();
  const recorder = await openRecorder({ path, by: 'test', log, clock: realClock });
  const { getPluginInfo } = Identity.method;
  const call = { path: 'x'.repeat(5_000), method: getPluginInfo, request: undefined, requestBytes: 0 };
  for (let at = 0; recorder.failure === undefined; at++) {
    recorder.begin(call)({ code: 0, text: '', isLost: false });
    await realClock.sleep(1);
    assert.ok(at < 10_000, 'the disk is larger than it should be');
  }
  assert.match(log.text(), /calls are forwarded as before/);
  recorder.begin(call)({ code: 0, text: '', isLost: false });
  await recorder.close();
  const { isCutShort, calls } = await readRecording(path);
  assert.ok(isCutShort || calls.length > 0);
}

describe('reading a recording', () => {
  const header = {
    format: 'berth.csi-recording',
    version: 1,
    startedAt: '2026-01-01T00:00:00.000Z',
    by: 'x',
  };
  const call = {
    kind: 'call',
    id: 1,
    atMs: 1,
    method: '/csi.v1.Controller/CreateVolume',
    request: { name: 'a' },
  };
  const answer = { kind: 'answer', id: 1, atMs: 2, code: 'OK', response: { volume: { volumeId: 'v' } } };
  const lines = (...all: unknown[]): string => all.map((line) => `${JSON.stringify(line)}\n`).join('');

  for (const [name, text, expected] of [
    ['nothing', '', /is empty, not a recording/],
    ['something else', 'apiVersion: v1\nkind: Pod\n', /is not a recording of CSI calls/],
    ['other JSON lines', lines({ level: 'info' }), /has no "format":"berth.csi-recording"/],
    ['a later version', lines({ ...header, version: 2 }, call), /version 2, and this berth reads version 1/],
    ['damage in the middle', `${lines(header)}{"kind":"ca\n${lines(answer)}`, /line 2 is not a JSON object/],
    ['an answer without a call', lines(header, answer), /line 2: there is no call 1/],
    ['two answers', lines(header, call, answer, answer), /line 4: call 1 has two answers/],
    ['two calls of one id', lines(header, call, call), /line 3: there are two calls 1/],
    ['a code that is none', lines(header, call, { ...answer, code: 'FINE' }), /"FINE" is not a code/],
    [
      'a field of another type',
      lines(header, { ...call, request: { name: 5 } }),
      /CreateVolumeRequest.name is a number/,
    ],
  ] as const) {
    it(`[REC-1] refuses ${name}`, async (t) => {
      const path = join(await temporaryDirectory(t), 'file');
      await writeFile(path, text);
      await assert.rejects(readRecording(path), (error: Error) => {
        assert.match(error.message, expected);
        assert.ok(error.message.includes(path));
        return true;
      });
    });
  }

  it('[REC-1] takes one that a crash cut short, up to its last whole line', async (t) => {
    const path = join(await temporaryDirectory(t), 'file');
    await writeFile(path, lines(header, call, answer));
    await appendFile(path, JSON.stringify({ ...call, id: 2 }).slice(0, -9));
    const recording = await readRecording(path);
    assert.equal(recording.isCutShort, true);
    assert.deepEqual(
      recording.calls.map(({ id }) => id),
      [1],
    );
  });

  it('skips fields, methods and kinds of lines that it does not know', async (t) => {
    const path = join(await temporaryDirectory(t), 'file');
    const newer = { ...call, request: { name: 'a', tomorrow: { x: 1 } } };
    const other = { kind: 'call', id: 2, atMs: 3, method: '/csi.v1.Controller/Tomorrow' };
    await writeFile(path, lines(header, newer, answer, { kind: 'remark' }, other));
    const { calls } = await readRecording(path);
    assert.equal(calls[0]?.request && 'name' in calls[0].request && calls[0].request.name, 'a');
    assert.equal(calls[1]?.method, undefined);
  });
});
