// `berth fault` on a running `berth up`: hostpath in its thread, a driver in a process of its own, and every component between
// them and the API server.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { lacking } from '../capabilities.ts';
import { runBerth } from '../run-berth.ts';
import { hostpath } from './tried.ts';
import { claimAndPod, startUp, temporaryDirectory } from './up-process.ts';

const skip = lacking('mounts');

interface Listed {
  faults: { id: string; fault: string; struck: number; isSpent: boolean; kind: string }[];
}

test('[FLT-1] faults on a running cluster are set, strike, are listed, explained and lifted', {
  skip,
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const pidFile = join(directory, 'pid');
  const up = await startUp(t, join(directory, 'd'), [
    '--without=resizer',
    '--without=dashboard',
    '--nodes=2',
    `--exec=echo $$ > ${pidFile}; ${hostpath(join(directory, 's'))}`,
  ]);
  const ask = (...args: string[]) => runBerth([...args, '--kubeconfig', up.kubeconfig]);
  const asked = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await ask(...args);
    assert.equal(code, 0, `berth ${args.join(' ')}: ${stderr}`);
    return stdout;
  };
  const listed = async (): Promise<Listed> => JSON.parse(await asked('fault', 'list', '-o', 'json'));
  const apply = async (manifest: string): Promise<void> => {
    await writeFile(join(directory, 'manifest'), manifest);
    await asked('apply', '-f', join(directory, 'manifest'));
  };

  assert.equal(await asked('fault', 'list'), 'there are no faults\n');

  // Refused, each with what would be right; nothing is set.
  for (const [args, why] of [
    [['add', 'CreateVolum duplicate'], /did you mean CreateVolume\?/],
    [['add', 'CreateVolume duplicate', 'NodeStageVolume fail NO'], /"NO" is not a gRPC code/],
    [
      ['add', 'CreateVolume duplicate driver=othr.csi.test'],
      /no driver othr.csi.test here; did you mean other.csi.test\?/,
    ],
    [['add', 'NodeStageVolume duplicate node=node-3'], /no node node-3 here/],
    [['add', 'crash provisoner after CreateVolume'], /did you mean provisioner\?/],
    [['add', 'crash attacher after CreateVolume'], /attacher never calls CreateVolume; provisioner does/],
    [['add', 'crash attacher after NodeStageVolume'], /attacher never calls NodeStageVolume; node does/],
    [
      ['add', 'ControllerExpandVolume duplicate'],
      /resizer, which does not run here \(--without\): put `berth proxy`/,
    ],
    [['add'], /which fault\?/],
    [['remove'], /IDs of the faults to remove, or --all/],
    [['remove', 'f9'], /there is no fault "f9"/],
    [['lift'], /there is only add, list, remove/],
  ] as const) {
    const { code, stderr } = await ask('fault', ...args);
    assert.notEqual(code, 0, args.join(' '));
    assert.match(stderr, why);
  }
  // Nobody but an administrator.
  const part = join(directory, 'd', 'kubeconfigs', 'resizer.kubeconfig');
  for (const args of [['add', 'CreateVolume duplicate'], ['list'], ['remove', '--all']]) {
    const { code, stderr } = await runBerth(['fault', ...args, '--kubeconfig', part]);
    assert.equal(code, 1);
    assert.match(stderr, /only an administrator of the cluster may do that/);
  }
  assert.deepEqual(await listed(), { faults: [] });

  await t.test(
    'the driver of another process is crashed, and so are the components that call it',
    async () => {
      const first = await readFile(pidFile, 'utf8');
      await asked(
        'fault',
        'add',
        'CreateVolume lose-answer once driver=other.csi.test',
        'crash provisioner after CreateVolume once driver=other.csi.test',
        'crash attacher before ControllerPublishVolume once',
        'crash node-2 after NodeStageVolume once',
        'crash driver after NodePublishVolume once node=node-1',
      );
      // It is on node-1 alone.
      await apply(claimAndPod('brought', { class: 'other.csi.test', node: 'node-1' }));
      await apply(claimAndPod('builtin', { class: 'hostpath', node: 'node-2' }));
      await asked('wait', 'pod/brought', 'pod/builtin', '--for=condition=Ready', '--timeout=60s');
      const { faults } = await listed();
      assert.deepEqual(
        faults.map(({ kind, struck, isSpent }) => [kind, struck, isSpent]),
        [
          ['csi-lost-after', 1, true],
          ['csi-crash-after', 1, true],
          ['csi-crash-before', 1, true],
          ['csi-crash-after', 1, true],
          ['csi-crash-after', 1, true],
        ],
      );
      assert.notEqual(await readFile(pidFile, 'utf8'), first, 'the driver is another process');
      assert.match(
        await asked('trace', 'pod', 'brought'),
        /CreateVolume .*set on purpose \(f1: CreateVolume lose-answer/,
      );
      const { stderr } = up.output();
      for (const name of ['provisioner', 'attacher', 'node-2']) {
        assert.match(
          stderr,
          new RegExp(`A component was crashed on purpose; starting it again name=${name}`),
        );
      }
      await asked('fault', 'remove', '--all');
    },
  );

  await t.test('hostpath is crashed in its thread', async () => {
    await asked('fault', 'add', 'crash driver after NodeUnpublishVolume once node=node-2');
    await asked('delete', 'pod/builtin');
    await asked('wait', 'pod/builtin', '--for=delete', '--timeout=60s');
    assert.equal((await listed()).faults[0]?.struck, 1);
    assert.match(up.output().stderr, /The driver thread ended; restarting it.*it was killed/);
    await asked('fault', 'remove', 'f6');
  });

  await t.test('berth why tells of the faults, until they are removed', async () => {
    assert.match(await asked('why'), /nothing is wrong/);
    await asked('fault', 'add', 'NodeStageVolume fail INTERNAL');
    await apply(claimAndPod('stuck', { class: 'hostpath', node: 'node-2' }));
    await asked('wait', 'pvc/stuck', '--for=jsonpath={.status.phase}=Bound', '--timeout=60s');
    const all = await asked('why');
    assert.match(
      all,
      /calls to hostpath.csi.berth: faults are set on purpose: f7: NodeStageVolume fail INTERNAL/,
    );
    assert.match(all, /→ lift them: berth fault remove --all/);
    assert.match(
      await asked('why', 'pod', 'stuck'),
      /→ faults are set on purpose \(f7: NodeStageVolume fail INTERNAL\)/,
    );
    assert.match(await asked('fault', 'remove', 'f7'), /f7 removed: NodeStageVolume fail INTERNAL/);
    await asked('wait', 'pod/stuck', '--for=condition=Ready', '--timeout=60s');
    assert.doesNotMatch(await asked('why'), /on purpose/);
  });

  await t.test('a fault that is left does not keep the cluster from stopping', async () => {
    // Mounts of a driver from outside outlive the cluster, as those of a kubelet do.
    await asked('delete', 'pod/brought', 'pvc/brought', 'pod/stuck', 'pvc/stuck', 'pvc/builtin');
    await asked('wait', 'pvc/brought', 'pvc/stuck', '--for=delete', '--timeout=60s');
    await asked('fault', 'add', 'Node* delay past-deadline', 'DeleteVolume fail INTERNAL');
    assert.equal(await up.stop('SIGINT'), 0, up.output().stderr);
  });
});

test('[FLT-1] a proxy takes faults from the start and while it runs, and stops with its control socket', async (t) => {
  const directory = await temporaryDirectory(t);
  const [listen, driver] = [join(directory, 'p'), join(directory, 'd')];
  const refused = await runBerth([
    'proxy',
    '--listen',
    listen,
    '--driver',
    driver,
    '--fault',
    'Mount delay 1s',
  ]);
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /--fault: there is no CSI call "Mount"/);
  const noProxy = await runBerth(['fault', '--proxy', listen, 'list']);
  assert.equal(noProxy.code, 1);
  assert.match(
    noProxy.stderr,
    /cannot reach the proxy's control socket .*p\.control: no proxy answers there/,
  );
  await writeFile(join(directory, 'p.control'), 'in the way');
  const blocked = await runBerth(['proxy', '--listen', listen, '--driver', driver]);
  assert.equal(blocked.code, 1);
  assert.match(blocked.stderr, /cannot listen on .*p\.control: there is something that is not a socket/);
});
