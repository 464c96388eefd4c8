import assert from 'node:assert/strict';
import { test } from 'node:test';
import { choosePodNetwork } from './pod-network.ts';

test('[REAL-1] pods get a network that no other interface has', () => {
  const at = (name: string, address: string) => ({ name, address });
  const first = { subnet: '10.245.8.0/24', gateway: '10.245.8.1' };
  assert.deepEqual(choosePodNetwork('berth-59d6fc08', [at('eth0', '192.168.0.7')]), first);
  assert.deepEqual(choosePodNetwork('berth-59d6fc08', [at('berth-59d6fc08', '10.245.8.1')]), first);
  assert.deepEqual(choosePodNetwork('berth-59d6fc08', [at('berth-11111108', '10.245.8.1')]), {
    subnet: '10.245.9.0/24',
    gateway: '10.245.9.1',
  });
  const all = Array.from({ length: 256 }, (_, number) => at('x', `10.245.${number}.1`));
  assert.throws(() => choosePodNetwork('berth-59d6fc08', all), { name: 'KubeletError' });
});
