import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { memoryLog } from '../log/log.ts';
import { createMetrics } from '../metrics/metrics.ts';
import { realClock } from '../time/clock.ts';
import { createDebugProfiles } from './debug-profiles.ts';
import { type HttpEndpointOptions, parseAddress, serveHttpEndpoint } from './http-endpoint.ts';

async function serve(options: Partial<HttpEndpointOptions> = {}) {
  const abort = new AbortController();
  const log = memoryLog();
  const endpoint = await serveHttpEndpoint({ address: '127.0.0.1:0', log, signal: abort.signal, ...options });
  const get = async (path: string, init?: RequestInit) => {
    const response = await fetch(`http://127.0.0.1:${endpoint.port}${path}`, init);
    return { status: response.status, text: await response.text() };
  };
  return { abort, endpoint, get };
}

describe('serveHttpEndpoint', () => {
  it('serves metrics, health and nothing else', async () => {
    const metrics = createMetrics();
    metrics.counter({ name: 'things_total', help: 'Things.' }).inc(3);
    let healthy = true;
    const { abort, endpoint, get } = await serve({
      metrics,
      metricsPath: '/m',
      checks: {
        fine: () => {},
        'leader-election': async () => {
          if (!healthy) throw new Error('lease ran out');
        },
      },
    });
    const { text } = await get('/m?x=1');
    assert.match(text, /^things_total 3$/m);
    assert.match(text, /^process_start_time_seconds \d+/m);
    assert.deepEqual(await get('/healthz'), { status: 200, text: 'ok' });
    assert.deepEqual(await get('/healthz/leader-election'), { status: 200, text: 'ok' });
    healthy = false;
    assert.equal((await get('/healthz/fine')).status, 200);
    assert.match((await get('/healthz/leader-election')).text, /lease ran out/);
    assert.equal((await get('/healthz')).status, 500);
    for (const path of ['/metrics', '/', '/healthz/other', '/healthz/toString', '/healthz/fine/x']) {
      assert.equal((await get(path)).status, 404, path);
    }
    assert.equal((await get('/healthz', { method: 'POST' })).status, 405);
    abort.abort();
    await endpoint.stopped;
    await assert.rejects(get('/healthz'));
  });

  it('finishes responses in flight when stopped', async () => {
    const slow = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const { abort, endpoint, get } = await serve({
      checks: {
        slow: () => {
          asked.resolve();
          return slow.promise;
        },
      },
    });
    const answer = get('/healthz');
    await asked.promise;
    abort.abort();
    slow.resolve();
    assert.deepEqual(await answer, { status: 200, text: 'ok' });
    await endpoint.stopped;
  });

  it('names the address when it is taken', async () => {
    const { abort, endpoint } = await serve();
    const address = `127.0.0.1:${endpoint.port}`;
    await assert.rejects(serve({ address }), {
      message: `cannot serve the HTTP endpoint on ${address}: another process listens there`,
    });
    abort.abort();
    await endpoint.stopped;
  });

  it('listens on all addresses when no host is given', async () => {
    const { abort, endpoint, get } = await serve({ address: ':0' });
    assert.equal((await get('/healthz')).status, 200);
    abort.abort();
    await endpoint.stopped;
  });

  it('takes profiles, one at a time, where that is allowed', async () => {
    const { abort, endpoint, get } = await serve({ profiles: createDebugProfiles(realClock) });
    const first = get('/debug/pprof/profile?seconds=0.2');
    const both = await Promise.all([first, get('/debug/pprof/heap?seconds=0.2')]);
    assert.deepEqual(both.map(({ status }) => status).sort(), [200, 503]);
    assert.ok(Array.isArray(JSON.parse((await get('/debug/pprof/profile?seconds=0.01')).text).nodes));
    assert.ok(JSON.parse((await get('/debug/pprof/heap?seconds=0.01')).text).head);
    assert.equal((await get('/debug/pprof/other')).status, 404);
    abort.abort();
    await endpoint.stopped;
  });

  it('survives what is not HTTP', async () => {
    const { abort, endpoint, get } = await serve();
    const socket = connect(endpoint.port, '127.0.0.1');
    socket.write('\0\0garbage\r\n\r\n');
    socket.resume();
    await once(socket, 'close');
    assert.equal((await get('/healthz')).status, 200);
    abort.abort();
    await endpoint.stopped;
  });
});

describe('parseAddress', () => {
  for (const [address, expected] of [
    ['localhost:8080', { host: 'localhost', port: 8080 }],
    [':8080', { host: '', port: 8080 }],
    ['[::1]:0', { host: '::1', port: 0 }],
    ['10.0.0.1:65535', { host: '10.0.0.1', port: 65535 }],
  ] as const) {
    it(address, () => assert.deepEqual(parseAddress(address), expected));
  }
  for (const address of [
    '',
    '8080',
    'localhost',
    'localhost:',
    '::1:80',
    'a:b',
    'a:70000',
    'a:-1',
    'http://a:1',
  ]) {
    it(`refuses ${JSON.stringify(address)}`, () =>
      assert.throws(() => parseAddress(address), /not host:port/));
  }
});
