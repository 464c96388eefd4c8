// Start and end of a process, with a real endpoint; the API server is not asked for anything.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FlagError } from '../flags/parse-flags.ts';
import { memoryLog } from '../log/log.ts';
import { realRandom } from '../random.ts';
import { realClock } from '../time/clock.ts';
import { endpointOf } from './process-flags.ts';
import { type ProcessOptions, type RunningProcess, runProcess } from './run-process.ts';

const config = { server: 'https://127.0.0.1:1', source: 'the test', tls: {}, auth: {} };

function start(work: (process: RunningProcess) => Promise<void>, options: Partial<ProcessOptions> = {}) {
  const stop = new AbortController();
  const log = memoryLog();
  const ended = runProcess(
    { config, ...options },
    {
      clock: realClock,
      random: realRandom,
      log,
      env: {},
      hostname: 'host',
      userAgent: 'test',
      signal: stop.signal,
    },
    work,
  );
  ended.catch(() => {});
  const port = (): number => {
    const line = log.lines.find(({ message }) => message === 'Serving metrics and health');
    return Number(line?.fields.port);
  };
  return { stop, ended, port };
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

test('health is served until the work has ended, and not after', async () => {
  const winding = Promise.withResolvers<void>();
  const working = Promise.withResolvers<void>();
  const process = start(
    async ({ signal }) => {
      working.resolve();
      await aborted(signal);
      await winding.promise;
    },
    { endpoint: { address: '127.0.0.1:0', metricsPath: '/m' } },
  );
  await working.promise;
  process.stop.abort(new Error('told to stop'));
  const url = `http://127.0.0.1:${process.port()}`;
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
  assert.equal((await fetch(`${url}/m`)).status, 200);
  winding.resolve();
  await process.ended;
  await assert.rejects(fetch(`${url}/healthz`));
});

test('an error after the stop signal does not fail the process', async () => {
  const process = start(async ({ signal }) => {
    await aborted(signal);
    throw new Error('a request was cut off');
  });
  process.stop.abort(new Error('told to stop'));
  await process.ended;
});

test('`fail` stops the work, and the process ends with its error', async () => {
  const process = start(async ({ signal, fail }) => {
    const seen = aborted(signal);
    fail(new Error('the driver is another one'));
    await seen;
  });
  await assert.rejects(process.ended, /the driver is another one/);
});

test('without an election the part runs at once; replicas differ by their identity', async () => {
  const identities = new Set<string>();
  for (const _ of [1, 2]) {
    const process = start(async ({ lead, identity, namespace }) => {
      identities.add(identity);
      assert.equal(namespace, 'default');
      await lead({ leaseName: 'unused', create: () => ({ run: async () => {} }) });
    });
    await process.ended;
  }
  assert.equal(identities.size, 2);
  for (const identity of identities) assert.match(identity, /^host_/);
});

test('an endpoint that is given twice is a mistake of the command line', () => {
  const flags = { httpEndpoint: ':1', metricsAddress: ':2', metricsPath: '/metrics' };
  assert.throws(() => endpointOf(flags), FlagError);
});
