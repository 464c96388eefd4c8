// Real containers: `berth up --kubelet` with the kubelet of BERTH_PEERS and this machine's containerd, used through kubectl.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, suite, type TestContext, test } from 'node:test';
import { peerPath } from '../capabilities.ts';
import { run, startUp, temporaryDirectory, type UpProcess } from '../e2e/up-process.ts';
import {
  AGNHOST,
  BUSYBOX,
  kubeletArguments,
  missingForContainers,
  SHARED_VOLUME,
  stillThere,
  WEB_PORT,
} from './real-up.ts';

const skip = missingForContainers();

suite('[REAL-1] a pod with a volume on a real kubelet', { skip }, () => {
  const undo: (() => unknown)[] = [];
  const world: Pick<TestContext, 'after'> = { after: (step) => undo.push(step as () => unknown) };
  let directory: string;
  let up: UpProcess;
  const kubectl = (args: string[], input?: string) =>
    run(peerPath('kubectl') ?? '', args, {
      env: { KUBECONFIG: up.kubeconfig },
      ...(input !== undefined && { input }),
    });
  const succeeds = async (args: string[], input?: string): Promise<string> => {
    const ended = await kubectl(args, input);
    assert.equal(ended.code, 0, ended.stderr);
    return ended.stdout;
  };

  before(async () => {
    directory = await temporaryDirectory(world);
    up = await startUp(world, join(directory, 'data'), [
      ...['--without', 'dashboard', '--nodes', '1'],
      ...kubeletArguments(directory, { agnhost: peerPath('agnhost') !== undefined }),
    ]);
    const manifest = join(directory, 'web.yaml');
    await writeFile(manifest, SHARED_VOLUME.replace('spec:\n  term', 'spec:\n  nodeName: kubelet-1\n  term'));
    await succeeds(['apply', '-f', manifest]);
    await succeeds(['wait', '--for=condition=Ready', 'pod/web', '--timeout=60s']);
  });
  after(async () => {
    const code = await up?.stop();
    const left = stillThere(join(directory, 'data'));
    for (const step of undo.reverse()) await step();
    assert.deepEqual(left, []);
    assert.equal(code, 0);
  });

  test('a container reads what another wrote', async () => {
    assert.equal(await succeeds(['exec', 'web', '-c', 'server', '--', 'cat', '/data/file']), 'written\n');
  });

  test('logs, and logs -f', async () => {
    assert.match(await succeeds(['logs', 'web', '-c', 'writer']), /^tick\n/);
    const child = spawn(peerPath('kubectl') ?? '', ['logs', '-f', '--tail=1', 'web', '-c', 'writer'], {
      env: { ...process.env, KUBECONFIG: up.kubeconfig },
    });
    const lines = createInterface({ input: child.stdout });
    const seen: string[] = [];
    for await (const line of lines) if (seen.push(line) === 3) break;
    child.kill();
    await once(child, 'exit');
    assert.deepEqual(seen, ['tick', 'tick', 'tick']);
  });

  test('exec passes standard input, output, errors and the exit code', async () => {
    const command = ['sh', '-c', 'cat; echo wrong >&2; exit 3'];
    const ended = await kubectl(['exec', '-i', 'web', '-c', 'writer', '--', ...command], 'said\n');
    assert.equal(ended.stdout, 'said\n');
    assert.match(ended.stderr, /^wrong\n/);
    assert.equal(ended.code, 3);
  });

  test('cp, both ways', async () => {
    const [there, back] = [join(directory, 'there'), join(directory, 'back')];
    await writeFile(there, 'copied\n'.repeat(10_000));
    await succeeds(['cp', '-c', 'writer', there, 'web:/data/copy']);
    await succeeds(['cp', '-c', 'server', 'web:/data/copy', back]);
    assert.equal(await readFile(back, 'utf8'), 'copied\n'.repeat(10_000));
  });

  test('port-forward', async () => {
    const child = spawn(
      peerPath('kubectl') ?? '',
      ['port-forward', 'web', `:${WEB_PORT}`, '--address', '127.0.0.1'],
      {
        env: { ...process.env, KUBECONFIG: up.kubeconfig },
      },
    );
    const [line] = await once(createInterface({ input: child.stdout }), 'line');
    const port = Number(/127\.0\.0\.1:(\d+) ->/.exec(String(line))?.[1]);
    let text = '';
    const socket = connect(port, '127.0.0.1');
    for await (const chunk of socket) {
      text += chunk;
      if (text.endsWith('\n')) break;
    }
    child.kill();
    await once(child, 'exit');
    assert.equal(text, 'answered\n');
  });

  test('debug adds a container', async () => {
    const image = ['--image', BUSYBOX, '--image-pull-policy', 'IfNotPresent'];
    await succeeds(['debug', 'web', ...image, '-c', 'debugger', '--', 'sh', '-c', 'echo debugging']);
    await succeeds([
      ...['wait', 'pod/web', '--timeout=60s'],
      '--for=jsonpath={.status.ephemeralContainerStatuses[0].state.terminated.reason}=Completed',
    ]);
    assert.equal(await succeeds(['logs', 'web', '-c', 'debugger']), 'debugging\n');
  });

  test('run, with attached input and output', async () => {
    const overrides = '{"spec":{"nodeName":"kubelet-1"}}';
    const args = ['run', '-i', '--rm', '--quiet', 'once', '--image', BUSYBOX, '--restart=Never'];
    const said = await succeeds(
      [...args, '--overrides', overrides, '--', 'sh', '-c', 'read word; echo heard $word'],
      'hello\n',
    );
    assert.match(said, /heard hello/);
  });

  test('a client in a pod reaches the API server', { skip: missingForContainers('agnhost') }, async () => {
    const overrides = '{"spec":{"nodeName":"kubelet-1"}}';
    await succeeds([
      ...['run', 'client', '--image', AGNHOST, '--restart=Never', '--overrides', overrides],
      ...['--', 'inclusterclient'],
    ]);
    await succeeds(['wait', '--for=condition=Ready', 'pod/client', '--timeout=60s']);
    const child = spawn(peerPath('kubectl') ?? '', ['logs', '-f', 'client'], {
      env: { ...process.env, KUBECONFIG: up.kubeconfig },
    });
    const seen: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      seen.push(line);
      if (/status=|err=|error|calling \/healthz/.test(line) && seen.length >= 2) break;
    }
    child.kill();
    await once(child, 'exit');
    assert.doesNotMatch(seen.join('\n'), /error|Unauthorized|x509/i);
    await succeeds(['delete', 'pod', 'client', '--now', '--wait=false']);
  });

  test('a simulated node beside it has its own pods, without containers', async () => {
    const overrides = '{"spec":{"nodeName":"node-1"}}';
    await succeeds(['run', 'pretended', '--image', BUSYBOX, '--overrides', overrides]);
    await succeeds(['wait', '--for=condition=Ready', 'pod/pretended', '--timeout=60s']);
    const logs = await kubectl(['logs', 'pretended']);
    assert.equal(logs.code, 1);
    assert.match(logs.stderr, /node "node-1" has no kubelet that serves/);
  });
});
