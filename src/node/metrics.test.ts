import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInformers } from '../runtime/informer/create-informers.ts';
import type { KubeClient } from '../runtime/kube/kube.ts';
import { silentLog } from '../runtime/log/log.ts';
import { createMetrics } from '../runtime/metrics/metrics.ts';
import { seededRandom } from '../runtime/random.ts';
import { VirtualClock } from '../runtime/time/virtual-clock.ts';
import { createNodeAgent } from './node-agent.ts';

test('the queues of a node are measured', async () => {
  // It does not run, so no port is called.
  const common = {
    kube: {} as KubeClient,
    clock: new VirtualClock(),
    random: seededRandom(1),
    log: silentLog,
  };
  const metrics = createMetrics();
  createNodeAgent({
    ...common,
    informers: createInformers(common),
    connect: () => assert.fail('not called'),
    mounter: {} as never,
    files: {} as never,
    recorder: {} as never,
    metrics,
    options: { nodeName: 'n1', rootDir: '/nowhere', host: {} as never },
  });
  const text = await metrics.text();
  const queues = [...text.matchAll(/^workqueue_depth\{name="([^"]+)"\}/gm)].map(([, name]) => name);
  assert.deepEqual(queues.sort(), [
    'csi-allocatable',
    'csi-node-info',
    'plugin-registration',
    'pod-lifecycle',
    'volume-populator',
    'volume-reconciler',
    'volumes-in-use',
  ]);
});
