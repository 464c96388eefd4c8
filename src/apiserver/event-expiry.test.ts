import assert from 'node:assert/strict';
import { test } from 'node:test';
import { events } from '../api/kinds.ts';
import { VirtualClock } from '../runtime/time/virtual-clock.ts';
import { testServer } from './testing/test-server.ts';

const event = (name: string) => ({
  metadata: { name, namespace: 'default' },
  involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' },
  reason: 'Test',
  message: 'm',
});

test('events expire an hour after they were last seen, and the oldest when there are too many', async (t) => {
  const clock = new VirtualClock();
  const server = await testServer(t, { clock });
  const kube = server.client(server.adminUser);
  const names = () => [...server.reader.list(events)].map(({ metadata }) => metadata.name);
  for (let i = 0; i < 2_510; i++) {
    if (i === 10) await clock.advance(2_000);
    await kube.create(events, event(`e${i}`) as never);
  }
  await clock.advance(61_000);
  assert.equal(names().length, 2_500);
  assert.ok(!names().includes('e9') && names().includes('e10'));
  await clock.advance(3_700_000);
  assert.deepEqual(names(), []);
});
