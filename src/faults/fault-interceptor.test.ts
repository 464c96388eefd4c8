// Faults at a proxy, over real sockets, with a driver and clients on both sides.

import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { connectCsi } from '../csi/client/connect-csi.ts';
import { csiClient } from '../csi/client/csi-client.ts';
import { CsiError } from '../csi/csi-error.ts';
import { Controller, Identity } from '../csi/generated/csi/v1/csi_pb.ts';
import { serveCsi } from '../csi/server/serve-csi.ts';
import { implement } from '../csi/server/service-implementation.ts';
import { serveProxy } from '../proxy/serve-proxy.ts';
import { silentLog } from '../runtime/log/log.ts';
import type { Clock } from '../runtime/ports.ts';
import { seededRandom } from '../runtime/random.ts';
import { realClock } from '../runtime/time/clock.ts';
import { VirtualClock } from '../runtime/time/virtual-clock.ts';
import { temporaryDirectory } from '../wire/testing/test-socket.ts';
import { ActiveFaults } from './active-faults.ts';
import { checkForProxy, faultInterceptor } from './fault-interceptor.ts';
import { FAULTS_PATH } from './faults-path.ts';
import { controlSocketOf, serveFaults } from './serve-faults.ts';

const ports = { clock: realClock, log: silentLog };

async function proxied(t: TestContext, clock: Clock = realClock) {
  const directory = await temporaryDirectory(t);
  const made: string[] = [];
  const driver = await serveCsi({
    address: `${directory}/d`,
    services: [
      implement(Controller, {
        createVolume: ({ name }) => {
          made.push(name);
          return { volume: { volumeId: name } };
        },
        controllerPublishVolume: () => ({}),
      }),
      implement(Identity, { getPluginInfo: () => ({ name: 'a.b', vendorVersion: '1' }) }),
    ],
    ...ports,
  });
  const faults = new ActiveFaults({ random: seededRandom(1), check: checkForProxy });
  const faulty = faultInterceptor(faults, { clock, address: `${directory}/d` });
  const proxy = await serveProxy({
    listen: `${directory}/p`,
    driver: `${directory}/d`,
    interceptors: () => (faults.isIdle ? [] : [faulty]),
    ...ports,
  });
  const connection = connectCsi({ address: `${directory}/p`, ...ports });
  const client = csiClient(Controller, connection, { timeoutMs: 20_000 });
  t.after(async () => {
    connection.close();
    await proxy.stop(0);
    await driver.stop(0);
  });
  const create = (name: string, timeoutMs = 20_000) => client.createVolume({ name }, { timeoutMs });
  return { directory, made, faults, create, client, connection, proxy };
}

const failsWith = (code: string, words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof CsiError);
  assert.equal(error.code, code);
  assert.match(error.description, words);
  return true;
};

describe('[FLT-1] at a proxy', () => {
  it('a call fails with the code, and the driver is not called', async (t) => {
    const { faults, create, made } = await proxied(t);
    faults.add('CreateVolume fail RESOURCE_EXHAUSTED once');
    await assert.rejects(
      create('a'),
      failsWith('RESOURCE_EXHAUSTED', /set on purpose \(f1: CreateVolume fail/),
    );
    assert.deepEqual(made, []);
    await create('a');
    assert.deepEqual(made, ['a']);
  });

  it('a request is lost: the driver is not called', async (t) => {
    const { faults, create, made } = await proxied(t);
    faults.add('CreateVolume lose-request once');
    await assert.rejects(create('a'), failsWith('UNAVAILABLE', /the request was lost/));
    assert.deepEqual(made, []);
  });

  it('an answer is lost: the driver has acted', async (t) => {
    const { faults, create, made } = await proxied(t);
    faults.add('CreateVolume lose-answer once');
    await assert.rejects(create('a'), failsWith('UNAVAILABLE', /the answer was lost/));
    assert.deepEqual(made, ['a']);
  });

  for (const [fault, calls] of [
    ['CreateVolume lose-request silently', 0],
    ['CreateVolume lose-answer silently', 1],
    ['CreateVolume delay past-deadline', 1],
    ['CreateVolume delay 1h', 1],
  ] as const) {
    it(`${fault}: the caller hears nothing until its deadline`, async (t) => {
      const { faults, create, made } = await proxied(t);
      faults.add(fault);
      await assert.rejects(create('a', 300), failsWith('DEADLINE_EXCEEDED', /./));
      assert.equal(made.length, calls);
    });
  }

  it('an answer is held for the time that was given', async (t) => {
    const clock = new VirtualClock();
    const { faults, create, made } = await proxied(t, clock);
    faults.add('CreateVolume delay 5m once');
    let isAnswered = false;
    const answer = create('a').finally(() => {
      isAnswered = true;
    });
    // The second call is answered by the same driver on the same connection, so the first answer has come by then, too.
    await create('b');
    assert.deepEqual(made, ['a', 'b']);
    await clock.advance(299_000);
    await create('c');
    assert.equal(isAnswered, false);
    await clock.advance(1_000);
    assert.equal((await answer).volume?.volumeId, 'a');
  });

  it('a call arrives twice', async (t) => {
    const { faults, create, made } = await proxied(t);
    faults.add('CreateVolume duplicate once');
    await create('a');
    await create('b');
    assert.deepEqual(made, ['a', 'a', 'b']);
  });

  it('only the calls that were selected are struck', async (t) => {
    const { faults, create, client } = await proxied(t);
    faults.add('* fail INTERNAL volume=b');
    faults.add('ControllerPublishVolume fail NOT_FOUND node=n2');
    await create('a');
    await assert.rejects(create('b'), failsWith('INTERNAL', /./));
    const attach = (nodeId: string) => client.controllerPublishVolume({ volumeId: 'a', nodeId });
    await attach('n1');
    await assert.rejects(attach('n2'), failsWith('NOT_FOUND', /./));
  });

  it('a crash of the caller closes its connection, and others keep theirs', async (t) => {
    const { directory, faults, create, made, client } = await proxied(t);
    const other = connectCsi({ address: `${directory}/p`, ...ports });
    t.after(() => other.close());
    const identity = csiClient(Identity, other, { timeoutMs: 20_000 });
    await identity.getPluginInfo({});
    const states: string[] = [];
    other.onStateChange((state) => states.push(state));
    faults.add('crash caller after CreateVolume once');
    await assert.rejects(create('a'), failsWith('UNAVAILABLE', /./));
    assert.deepEqual(made, ['a']);
    await client.createVolume({ name: 'b' });
    await identity.getPluginInfo({});
    assert.deepEqual(states, []);
  });

  it('what a proxy cannot do is refused', async (t) => {
    const { faults } = await proxied(t);
    for (const [fault, why] of [
      ['crash provisioner after CreateVolume', /a proxy cannot stop provisioner: .*crash caller/],
      ['crash driver after CreateVolume', /a proxy cannot stop driver/],
      ['CreateVolume duplicate driver=a.b', /leave out driver=/],
      ['NodeStageVolume duplicate node=n1', /does not know the node of NodeStageVolume/],
    ] as const) {
      assert.throws(() => faults.add(fault), why);
    }
    assert.deepEqual(faults.list(), []);
  });
});

it('[FLT-1] the control socket of a proxy is its owner’s alone, and lists, adds and removes', async (t) => {
  const { faults, proxy } = await proxied(t);
  const path = controlSocketOf(proxy.address);
  const end = await serveFaults(faults, path);
  t.after(end);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const ask = async (method: string, query: Record<string, string>, at = FAULTS_PATH) => {
    const answer = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
      const asked = request(
        { socketPath: path, path: `${at}?${new URLSearchParams(query)}`, method },
        resolve,
      );
      asked.on('error', reject);
      asked.end();
    });
    return { status: answer.statusCode, body: await text(answer) };
  };
  assert.match((await ask('POST', { fault: 'CreateVolume duplicate' })).body, /"id":"f1"/);
  const refused = await ask('POST', { fault: 'CreatVolume duplicate' });
  assert.equal(refused.status, 400);
  assert.match(refused.body, /did you mean CreateVolume\?/);
  assert.match((await ask('GET', {})).body, /"fault":"CreateVolume duplicate"/);
  assert.equal((await ask('PUT', {})).status, 400);
  assert.equal((await ask('GET', {}, '/other')).status, 404);
  assert.equal((await ask('DELETE', { id: 'f7' })).status, 400);
  assert.equal((await ask('DELETE', { all: 'true' })).status, 200);
  assert.deepEqual(faults.list(), []);
});
