import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { leases, nodes, pods } from '../api/kinds.ts';
import { createApiServer } from '../apiserver/index.ts';
import { quietLog } from '../apiserver/testing/test-server.ts';
import { createInformers } from '../runtime/informer/create-informers.ts';
import { silentLog } from '../runtime/log/log.ts';
import { realRandom } from '../runtime/random.ts';
import { realClock } from '../runtime/time/clock.ts';
import { ExitCode } from './command.ts';
import { commands } from './commands.ts';
import { runCommand } from './run-command.ts';

test('berth scheduler takes its lease, places pods that name it over HTTPS, and gives the lease back', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'scheduler-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const ports = { clock: realClock, random: realRandom, log: quietLog };
  const kubeconfigPath = join(directory, 'kubeconfig');
  const server = await createApiServer({ ...ports, port: 0, kubeconfigPath });
  t.after(() => server.stop());
  const kube = server.client(server.adminUser);
  await kube.create(nodes, { metadata: { name: 'n' } });
  const stop = new AbortController();
  let printed = '';
  const output = { write: (text: string) => (printed += text) };
  const ending = runCommand({
    argv: [
      'scheduler',
      '--kubeconfig',
      kubeconfigPath,
      '--scheduler-name=mine',
      '--leader-elect-resource-name=mine',
    ],
    commands,
    signal: stop.signal,
    stdout: output,
    stderr: output,
    env: {},
    createLog: async () => silentLog,
  });
  const informers = createInformers({ ...ports, kube });
  informers.start(stop.signal);
  const spec = { containers: [{ name: 'c', image: 'i' }] };
  await kube.create(pods, {
    metadata: { name: 'p', namespace: 'default' },
    spec: { ...spec, schedulerName: 'mine' },
  });
  await kube.create(pods, { metadata: { name: 'q', namespace: 'default' }, spec });
  await informers.of(pods).waitFor('default/p', (pod) => pod?.spec.nodeName === 'n');
  assert.equal((await kube.get(pods, { name: 'q', namespace: 'default' })).spec.nodeName, undefined);
  stop.abort();
  assert.equal(await ending, ExitCode.ok, printed);
  const lease = await kube.get(leases, { name: 'mine', namespace: 'kube-system' });
  assert.equal(lease.spec?.holderIdentity ?? '', '');
});
