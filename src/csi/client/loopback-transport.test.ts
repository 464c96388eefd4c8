import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memoryLog, silentLog } from '../../runtime/log/log.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { CsiError } from '../csi-error.ts';
import {
  Controller,
  ControllerServiceCapability_RPC_Type,
  Identity,
  Node,
  PluginCapability_Service_Type,
  SnapshotMetadata,
} from '../generated/csi/v1/csi_pb.ts';
import { controllerCapabilities, nodeCapabilities, pluginCapabilities } from '../messages/capabilities.ts';
import { implement, type ServiceImplementation } from '../server/service-implementation.ts';
import { csiClient } from './csi-client.ts';
import { loopbackTransport } from './loopback-transport.ts';
import { getDriverName, probeUntilReady } from './probe.ts';

const call = { timeoutMs: 1000 };
const loopback = (clock: VirtualClock, ...services: ServiceImplementation[]) =>
  loopbackTransport(services, { clock, log: silentLog });

describe('loopbackTransport', () => {
  it('shares no memory between the two sides', async () => {
    const clock = new VirtualClock();
    const volume = { volumeId: 'v', volumeContext: { a: '1' } };
    const controller = implement(Controller, {
      createVolume: (request) => {
        request.parameters.changed = 'yes';
        return { volume };
      },
    });
    const request = { parameters: { kept: 'yes' } };
    const answer = await csiClient(Controller, loopback(clock, controller), call).createVolume(request);
    assert.deepEqual(request, { parameters: { kept: 'yes' } });
    assert.ok(answer.volume);
    answer.volume.volumeContext.a = '2';
    assert.equal(volume.volumeContext.a, '1');
    assert.equal(clock.pendingTimers, 0, 'no timer is left behind');
  });

  const failures: { name: string; handler: () => never | Promise<never>; code: string }[] = [
    {
      name: 'a CsiError',
      code: 'NOT_FOUND',
      handler: () => {
        throw new CsiError({ code: 'NOT_FOUND', message: 'gone' });
      },
    },
    {
      name: 'a bug',
      code: 'INTERNAL',
      handler: () => {
        throw new TypeError('bug');
      },
    },
    { name: 'silence', code: 'DEADLINE_EXCEEDED', handler: () => new Promise<never>(() => {}) },
  ];
  for (const { name, handler, code } of failures) {
    it(`answers ${name} with ${code}, naming the call`, async () => {
      const clock = new VirtualClock();
      const client = csiClient(Identity, loopback(clock, implement(Identity, { probe: handler })), call);
      const error = client.probe({}).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      await clock.advance(1000);
      const thrown = await error;
      assert.ok(thrown instanceof CsiError);
      assert.equal(thrown.code, code);
      assert.equal(thrown.method, 'Probe');
      assert.equal(clock.pendingTimers, 0);
    });
  }

  it('answers UNIMPLEMENTED for a service that is not there, CANCELLED when the caller gives up', async () => {
    const clock = new VirtualClock();
    let aborted = false;
    const identity = implement(Identity, {
      probe: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            aborted = true;
            reject(signal.reason);
          });
        }),
    });
    const transport = loopback(clock, identity);
    await assert.rejects(csiClient(Node, transport, call).nodeGetInfo({}), { code: 'UNIMPLEMENTED' });
    const controller = new AbortController();
    const probing = csiClient(Identity, transport, call).probe({}, { signal: controller.signal });
    controller.abort();
    await assert.rejects(probing, { code: 'CANCELLED' });
    assert.ok(aborted);
  });

  it('streams, with errors at the end and a source that stops with its reader', async () => {
    const clock = new VirtualClock();
    let finished = 0;
    const metadata = implement(SnapshotMetadata, {
      async *getMetadataAllocated({ maxResults }) {
        try {
          for (let i = 0; i < maxResults; i++) yield { volumeCapacityBytes: BigInt(i) };
          throw new CsiError({ code: 'ABORTED', message: 'end' });
        } finally {
          finished++;
        }
      },
    });
    const client = csiClient(SnapshotMetadata, loopback(clock, metadata), call);
    const seen: bigint[] = [];
    await assert.rejects(
      async () => {
        for await (const part of client.getMetadataAllocated({ maxResults: 3 }))
          seen.push(part.volumeCapacityBytes);
      },
      { code: 'ABORTED' },
    );
    assert.deepEqual(seen, [0n, 1n, 2n]);
    for await (const _ of client.getMetadataAllocated({ maxResults: 1_000_000 })) break;
    await clock.settle();
    assert.equal(finished, 2);
    assert.equal(clock.pendingTimers, 0);
  });
});

describe('first questions to a driver', () => {
  it('probes until the driver is ready, and stops at an error of its own', async () => {
    const clock = new VirtualClock();
    const answers = [new CsiError({ code: 'UNAVAILABLE', message: 'starting' }), false, true];
    const probe = () => {
      const answer = answers.shift();
      if (answer instanceof CsiError || answer === undefined)
        throw answer ?? new CsiError({ code: 'FAILED_PRECONDITION', message: 'no disk' });
      return { ready: answer };
    };
    const log = memoryLog();
    const transport = loopback(clock, implement(Identity, { probe }));
    const options = { clock, log, timeoutMs: 1000 };
    await clock.runUntil(probeUntilReady(transport, options), 60_000);
    assert.equal(answers.length, 0);
    assert.match(log.text(), /did not answer a probe.*not ready yet/s);
    await assert.rejects(probeUntilReady(transport, options), { code: 'FAILED_PRECONDITION' });
  });

  it('[REG-1] refuses a driver with a dangerous name', async () => {
    const named = (name: string) =>
      loopback(new VirtualClock(), implement(Identity, { getPluginInfo: () => ({ name }) }));
    assert.equal(await getDriverName(named('a.example'), call), 'a.example');
    await assert.rejects(getDriverName(named('../x'), call), /refused: only letters/);
  });

  it('reads capabilities as names and skips those of a newer driver', async () => {
    const rpc = (type: number) => ({ type: { case: 'rpc' as const, value: { type } } });
    const transport = loopback(
      new VirtualClock(),
      implement(Controller, {
        controllerGetCapabilities: () => ({
          capabilities: [rpc(0), rpc(ControllerServiceCapability_RPC_Type.EXPAND_VOLUME), rpc(999), {}],
        }),
      }),
      implement(Node, {
        nodeGetCapabilities: () => ({ capabilities: [{ type: { case: 'rpc', value: { type: 1 } } }] }),
      }),
      implement(Identity, {
        getPluginCapabilities: () => ({
          capabilities: [
            { type: { case: 'service', value: { type: PluginCapability_Service_Type.CONTROLLER_SERVICE } } },
            { type: { case: 'volumeExpansion', value: { type: 1 } } },
          ],
        }),
      }),
    );
    assert.deepEqual([...(await controllerCapabilities(transport, call))], ['EXPAND_VOLUME']);
    assert.deepEqual([...(await nodeCapabilities(transport, call))], ['STAGE_UNSTAGE_VOLUME']);
    const plugin = await pluginCapabilities(transport, call);
    assert.deepEqual(
      [[...plugin.services], [...plugin.volumeExpansion]],
      [['CONTROLLER_SERVICE'], ['ONLINE']],
    );
  });
});
