// `berth why` beside a running cluster: whatever is wrong is named, and what is well is said to be.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { lacking } from '../capabilities.ts';
import { berthHere as berth } from './in-process.ts';
import { BERTH, EXAMPLES, startUp, temporaryDirectory } from './up-process.ts';

const claim = (name: string, storageClass: string) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name },
  spec: {
    accessModes: ['ReadWriteOnce'],
    storageClassName: storageClass,
    resources: { requests: { storage: '1Mi' } },
  },
});
const pod = (name: string, claimName: string, nodeName: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: {
    nodeName,
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'c', image: 'i' }],
    volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }],
  },
});

test('[WHY-2] it finds the link that is broken, in a running cluster', {
  skip: lacking('root'),
}, async (t: TestContext) => {
  const up = await startUp(t, join(await temporaryDirectory(t), 'd'));
  const env = { KUBECONFIG: up.kubeconfig };
  const apply = async (...objects: object[]) => {
    for (const object of objects) {
      const { code, stderr } = await berth(['apply', '-f', '-'], { env, input: JSON.stringify(object) });
      assert.equal(code, 0, stderr);
    }
  };
  const why = async (...args: string[]) => {
    const { code, stdout, stderr } = await berth(['why', ...args], { env });
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const waitFor = async (...args: string[]) => {
    const { code, stderr } = await berth(['wait', ...args, '--timeout=30s'], { env });
    assert.equal(code, 0, stderr);
  };

  assert.equal((await berth(['apply', '-f', join(EXAMPLES, 'claim-and-pod.yaml')], { env })).code, 0);
  await waitFor('pod', 'web', '--for=condition=Ready');
  const well = await why('pod/web');
  assert.match(well, /^nothing is wrong with Pod default\/web\n/);
  assert.match(well, /ok +attachment to /);
  assert.match(await why('pvc', 'data'), /^nothing is wrong with PersistentVolumeClaim default\/data\n/);

  await apply(claim('orphan', 'no-such-class'));
  assert.match(await why('pvc', 'orphan'), /^.*StorageClass no-such-class does not exist\n/);

  // A volume for one node that a second one wants.
  const { items } = JSON.parse((await berth(['get', 'nodes', '-o', 'json'], { env })).stdout);
  const [first, second] = items.map((node: { metadata: { name: string } }) => node.metadata.name);
  await apply(claim('single', 'hostpath'), pod('holder', 'single', first));
  await waitFor('pod', 'holder', '--for=condition=Ready');
  await apply(pod('wants', 'single', second));
  const held = await why('pod', 'wants');
  assert.match(held, new RegExp(`still attached to ${first}, and pod default/holder has it there`));
  assert.match(held, /→ delete pod default\/holder/);
  const links = JSON.parse(await why('pod', 'wants', '-o', 'json')).links;
  assert.deepEqual(
    links.map(({ state }: { state: string }) => state),
    ['ok', 'ok', 'ok', 'ok', 'stuck'],
  );

  // Without a name: everything that is not well, one entry a cause.
  const all = await berth(['why', '--exit-code'], { env });
  assert.equal(all.code, 3, all.stderr);
  assert.match(
    all.stdout,
    /^STUCK {2}attachment to .*\n {7}affects Pod default\/wants\n {7}→ delete pod default\/holder/,
  );
  assert.match(
    all.stdout,
    /^STUCK {2}PersistentVolumeClaim default\/orphan: its StorageClass no-such-class/m,
  );
  const { troubles } = JSON.parse((await berth(['why', '-o', 'json'], { env })).stdout);
  assert.deepEqual(
    troubles.map(({ affects }: { affects: string[] }) => affects),
    [['Pod default/wants'], ['PersistentVolumeClaim default/orphan']],
  );
  assert.equal((await berth(['why', 'pod/web', '--exit-code'], { env })).code, 0);
  for (const args of [
    ['node', first],
    ['driver', 'hostpath.csi.berth'],
    ['class', 'hostpath'],
  ]) {
    assert.match(await why(...args), /^nothing is wrong with /);
  }

  const absent = await berth(['why', 'pod', 'nobody'], { env });
  assert.equal(absent.code, 1);
  assert.match(absent.stderr, /pods "nobody" not found/);
  assert.equal((await berth(['why', 'secret', 'x'], { env })).code, 2);
  // It answers again when the answer changes, and says so once nothing is wrong.
  const watching = watch(['why', '-w'], env);
  await watching.until(/StorageClass no-such-class does not exist/);
  for (const name of ['wants', 'holder', 'web']) {
    assert.equal((await berth(['delete', 'pod', name], { env })).code, 0);
  }
  assert.equal((await berth(['delete', 'pvc', 'orphan'], { env })).code, 0);
  await watching.until(/nothing is wrong: 0 pods and 2 claims were looked at/);
  assert.equal(await watching.stop(), 0);
  await up.stop();
});

/** A command that runs until it is stopped. */
function watch(args: readonly string[], env: Record<string, string>) {
  const child = spawn(process.execPath, [BERTH, ...args], { env: { ...process.env, ...env }, stdio: 'pipe' });
  let printed = '';
  const looks = new Set<() => void>();
  child.stdout.on('data', (chunk) => {
    printed += chunk;
    for (const look of looks) look();
  });
  const ended = once(child, 'exit');
  return {
    until: (wanted: RegExp): Promise<void> =>
      new Promise((resolve) => {
        const look = (): void => {
          if (wanted.test(printed)) resolve();
        };
        looks.add(look);
        look();
      }),
    async stop(): Promise<number | null> {
      child.kill('SIGTERM');
      return (await ended)[0];
    },
  };
}
