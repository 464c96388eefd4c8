import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PersistentVolumeClaim } from '../../api/kinds.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { silentLog } from '../../runtime/log/log.ts';
import { seededRandom } from '../../runtime/random.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { createClaimWatches } from './claim-watches.ts';

const claim = { metadata: { name: 'data', namespace: 'ns' } } as PersistentVolumeClaim;

/** With an API server that rejects watches, so that a watch starts with a single request. */
function world(lost = 0) {
  const clock = new VirtualClock();
  const asked: string[] = [];
  /** Claims by name, as the API server has them, and what the node was told of. */
  const served = new Map<string, PersistentVolumeClaim>();
  const told: string[] = [];
  const kube = {
    async get(_resource: unknown, { name }: { name: string }) {
      const found = served.get(name);
      if (found === undefined) throw new KubeError({ code: 404, reason: 'NotFound', message: 'no' });
      return found;
    },
    async list(_resource: unknown, { fieldSelector }: { fieldSelector: string }) {
      asked.push(fieldSelector);
      if (asked.length <= lost)
        throw new KubeError({ code: 503, reason: 'ServiceUnavailable', message: 'lost' });
      throw new KubeError({ code: 403, reason: 'Forbidden', message: 'no' });
    },
  } as unknown as KubeClient;
  const claims = createClaimWatches({
    kube,
    clock,
    random: seededRandom(1),
    log: silentLog,
    changed: (claimKey, users) => told.push(`${claimKey}: ${[...users].join(' ')}`),
  });
  return { clock, asked, served, told, claims };
}

describe('claim watches', () => {
  it('opens no watch for a new pod that has read its claim, and keeps nothing of a deleted pod', async () => {
    const { clock, asked, claims } = world();
    for (let life = 0; life < 100; life += 1) {
      claims.follow('ns/data', `pod-${life}`, claim);
      assert.equal(claims.get('ns/data'), claim);
      await clock.advance(100);
      claims.release(`pod-${life}`);
    }
    assert.equal(claims.get('ns/data'), undefined);
    assert.equal(clock.pendingTimers, 0);
    await clock.advance(60_000);
    assert.deepEqual(asked, []);
  });

  it('watches the claim of a pod that keeps running', async () => {
    const { clock, asked, claims } = world();
    claims.follow('ns/data', 'pod', claim);
    await clock.advance(10_000);
    assert.deepEqual(asked, ['metadata.name=data']);
    claims.stopAll();
  });

  it('watches at once a claim that a pod waits for, even if another pod has read it', async () => {
    const { clock, asked, claims } = world();
    claims.follow('ns/data', 'pod', claim);
    claims.follow('ns/data', 'another', undefined);
    await clock.settle();
    assert.deepEqual(asked, ['metadata.name=data']);
    claims.stopAll();
    assert.equal(clock.pendingTimers, 0);
  });

  it('repeats the request when its response is lost', async () => {
    const { clock, asked, claims } = world(2);
    claims.follow('ns/data', 'pod', undefined);
    await clock.advance(10_000);
    assert.equal(asked.length, 3);
    claims.stopAll();
    assert.equal(clock.pendingTimers, 0);
  });

  it('keeps a claim until the last of its pods is gone', () => {
    const { clock, claims } = world();
    claims.follow('ns/data', 'one', claim);
    claims.follow('ns/data', 'two', claim);
    claims.follow('ns/other', 'one', claim);
    claims.release('one');
    assert.equal(claims.get('ns/data'), claim);
    assert.equal(claims.get('ns/other'), undefined);
    assert.equal(clock.pendingTimers, 1);
    claims.release('stranger');
    assert.equal(claims.get('ns/data'), claim);
    claims.release('two');
    assert.equal(claims.get('ns/data'), undefined);
    assert.equal(clock.pendingTimers, 0);
  });

  it('keeps the claim that was read when a further pod cannot read it', () => {
    const { claims } = world();
    claims.follow('ns/data', 'one', claim);
    claims.follow('ns/data', 'two', undefined);
    assert.equal(claims.get('ns/data'), claim);
    claims.stopAll();
  });

  it('asks once whether it may watch, and reads changed claims where it may not', async () => {
    const { clock, asked, served, told, claims } = world();
    const version = (name: string, resourceVersion: string) =>
      ({ metadata: { name, namespace: 'ns', resourceVersion } }) as PersistentVolumeClaim;
    const { signal } = new AbortController();
    claims.follow('ns/same', 'one', version('same', '1'));
    claims.follow('ns/newer', 'one', version('newer', '1'));
    claims.follow('ns/newer', 'two', version('newer', '1'));
    claims.follow('ns/gone', 'two', version('gone', '1'));
    await claims.refresh(signal);
    assert.deepEqual(told, [], 'reads nothing before it knows that it may not watch');
    await clock.advance(10_000);
    claims.follow('ns/late', 'two', undefined);
    await clock.advance(10_000);
    assert.equal(asked.length, 1);
    served.set('same', version('same', '1')).set('newer', version('newer', '2'));
    await claims.refresh(signal);
    assert.deepEqual(told, ['ns/newer: one two', 'ns/gone: two']);
    assert.equal(claims.get('ns/newer')?.metadata.resourceVersion, '2');
    assert.equal(claims.get('ns/gone'), undefined);
  });
});
