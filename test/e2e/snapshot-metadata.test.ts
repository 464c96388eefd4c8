// Changed blocks in `berth up`: hostpath's images, the service over TLS, and the command that lists them; and the official
// service and lister in the place of ours, each against the others.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { lacking, missingPeers, peerPath } from '../capabilities.ts';
import {
  berth,
  type Ended,
  run,
  startUp,
  temporaryDirectory,
  type UpProcess,
  undoAfter,
} from './up-process.ts';

const MiB = 1 << 20;
const DRIVER = 'hostpath.csi.berth';
const skip = lacking('root', 'kubectl');

/** A raw volume with two snapshots: `first`, with the first block written, and `second`, with two more. */
async function twoSnapshots(
  t: TestContext,
  {
    args = () => [],
    storageClassName = 'hostpath',
    volumes = 'd/hostpath/state/volumes',
  }: {
    args?: (directory: string) => string[];
    storageClassName?: string;
    /** Where the driver keeps images, in the data directory. */
    volumes?: string;
  } = {},
): Promise<UpProcess> {
  const directory = join(await temporaryDirectory(t), 'd');
  const up = await startUp(t, directory, args(directory));
  await up.apply(
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'raw' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        volumeMode: 'Block',
        storageClassName,
        resources: { requests: { storage: '16Mi' } },
      },
    }),
  );
  await up.kubectl('wait', 'pvc/raw', '--for=jsonpath={.status.phase}=Bound', '--timeout=45s');
  const { spec } = await up.get('pvc', 'raw');
  const { spec: volume } = await up.get('pv', spec.volumeName);
  const image = join(up.dataDir, volumes, volume.csi.volumeHandle);
  const write = async (at: number): Promise<void> => {
    const file = await open(image, 'r+');
    await file.write(Buffer.from('data'), 0, 4, at);
    await file.close();
  };
  const snapshot = async (name: string): Promise<void> => {
    await up.apply(
      JSON.stringify({
        apiVersion: 'snapshot.storage.k8s.io/v1',
        kind: 'VolumeSnapshot',
        metadata: { name },
        spec: { source: { persistentVolumeClaimName: 'raw' } },
      }),
    );
    await up.kubectl(
      'wait',
      `volumesnapshot/${name}`,
      '--for=jsonpath={.status.readyToUse}=true',
      '--timeout=45s',
    );
  };
  await write(0);
  await snapshot('first');
  await write(2 * MiB);
  await write(2 * MiB + 4096);
  await write(9 * MiB);
  await snapshot('second');
  await up.kubectl('create', 'serviceaccount', 'agent');
  await up.kubectl(
    'create',
    'role',
    'snapshots',
    '--verb=get',
    '--resource=volumesnapshots.snapshot.storage.k8s.io',
  );
  await up.kubectl('create', 'rolebinding', 'agent', '--role=snapshots', '--serviceaccount=default:agent');
  return up;
}

const changed = (up: UpProcess, args: readonly string[]): Promise<Ended> =>
  berth(['changed-blocks', ...args], { env: { KUBECONFIG: up.kubeconfig } });

interface ListedPart {
  block_metadata: { byte_offset?: number; size_bytes: number }[];
}

/** Go leaves zeros out. */
const ranges = (text: string): [number, number][] =>
  (JSON.parse(text) as ListedPart[]).flatMap(({ block_metadata }) =>
    block_metadata.map(({ byte_offset = 0, size_bytes }): [number, number] => [byte_offset, size_bytes]),
  );

const ALLOCATED = [
  [0, 4096],
  [2 * MiB, 8192],
  [9 * MiB, 4096],
];
const CHANGED = ALLOCATED.slice(1);

test('[CBT-1] the changed blocks of a volume are listed, with a token of an account that may read its snapshots', {
  skip,
}, async (t) => {
  const up = await twoSnapshots(t);
  const account = ['--service-account', 'default/agent'];
  const table = await changed(up, ['default/second', '--since', 'first', ...account]);
  assert.equal(table.code, 0, table.stderr);
  assert.deepEqual(
    table.stdout
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/ +/)),
    [['OFFSET', 'SIZE'], ...CHANGED.map((row) => row.map(String))],
  );
  assert.match(table.stderr, /2 ranges, 12288 of 16777216 bytes/);
  const all = await changed(up, ['second', ...account, '-o', 'json']);
  assert.deepEqual(ranges(all.stdout), ALLOCATED);
  const rest = await changed(up, ['second', ...account, '-o', 'json', '--starting-offset', String(3 * MiB)]);
  assert.deepEqual(ranges(rest.stdout), ALLOCATED.slice(2));

  // What cannot be: each with a code, a sentence and exit code 1 or 2.
  await up.kubectl('create', 'serviceaccount', 'stranger');
  const cases: [number, RegExp, string[]][] = [
    [2, /--service-account NAMESPACE\/NAME/, ['second']],
    [
      1,
      /PERMISSION_DENIED .*stranger may not get volumesnapshots/,
      ['second', '--service-account', 'stranger'],
    ],
    [1, /OUT_OF_RANGE .*beyond the end/, ['second', ...account, '--starting-offset', String(17 * MiB)]],
    [1, /INVALID_ARGUMENT .*newer than target/, ['first', '--since', 'second', ...account]],
    [1, /NOT_FOUND .*snapshot none does not exist/, ['first', '--since-handle', 'none', ...account]],
    [1, /"none" not found/, ['none', ...account]],
  ];
  for (const [code, says, args] of cases) {
    const ended = await changed(up, args);
    assert.equal(ended.code, code, ended.stderr);
    assert.match(ended.stderr, says);
  }
  // The trace knows the calls.
  const trace = await berth(['trace', 'volumesnapshot', 'second'], { env: { KUBECONFIG: up.kubeconfig } });
  assert.match(trace.stdout, /GetMetadataDelta/);
  await up.kubectl('delete', 'volumesnapshot', '--all', '--timeout=45s');
  await up.kubectl('delete', 'pvc/raw', '--timeout=45s');
  assert.equal(await up.stop(), 0);
});

/** What the official lister prints, and ours. */
async function lists(up: UpProcess): Promise<Record<string, unknown>> {
  const lister = async (...args: string[]) => {
    const account = ['-service-account', 'agent', '-service-account-namespace', 'default'];
    const ended = await run(peerPath('snapshot-metadata-lister') ?? '', [
      ...['-kubeconfig', up.kubeconfig, '-n', 'default', '-o', 'json', ...account],
      ...args,
    ]);
    assert.equal(ended.code, 0, ended.stderr);
    return ranges(ended.stdout);
  };
  const ours = async (...args: string[]) => {
    const ended = await changed(up, [...args, '--service-account', 'agent', '-o', 'json']);
    assert.equal(ended.code, 0, ended.stderr);
    return ranges(ended.stdout);
  };
  return {
    'allocated, official lister': await lister('-s', 'second'),
    'changed, official lister': await lister('-s', 'second', '-p', 'first', '-max-results', '1'),
    'allocated, ours': await ours('second'),
    'changed, ours': await ours('second', '--since', 'first', '--max-results', '1'),
  };
}

const LISTED = {
  'allocated, official lister': ALLOCATED,
  'changed, official lister': CHANGED,
  'allocated, ours': ALLOCATED,
  'changed, ours': CHANGED,
};

test('[CBT-1] the official lister gets from our service what our command gets', {
  skip: skip || missingPeers('snapshot-metadata-lister'),
}, async (t) => {
  const up = await twoSnapshots(t);
  assert.deepEqual(await lists(up), LISTED);
  assert.equal(await up.stop(), 0);
});

test('[CBT-1] our command and our driver work with the official service', {
  skip: skip || missingPeers('csi-snapshot-metadata', 'snapshot-metadata-lister'),
}, async (t) => {
  const up = await twoSnapshots(t, { args: () => ['--without=snapshot-metadata'] });
  const serving = (name: string): string => join(up.dataDir, 'serving', name);
  const port = await freePort();
  const official = spawn(
    peerPath('csi-snapshot-metadata') ?? '',
    [
      `--csi-address=${join(up.dataDir, 'd/hostpath/csi.sock')}`,
      `--kubeconfig=${up.kubeconfig}`,
      `--port=${port}`,
      `--tls-cert=${serving('tls.crt')}`,
      `--tls-key=${serving('tls.key')}`,
      '--http-endpoint=127.0.0.1:0',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const ended = once(official, 'exit');
  undoAfter(t, async () => {
    official.kill('SIGKILL');
    await ended;
  });
  let said = '';
  const serves = new Promise<void>((resolve) => {
    official.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      if (said.includes('Setting status to SERVING')) resolve();
    });
  });
  await Promise.race([serves, ended.then(() => assert.fail(`the official service ended:\n${said}`))]);
  await up.apply(
    JSON.stringify({
      apiVersion: 'cbt.storage.k8s.io/v1beta1',
      kind: 'SnapshotMetadataService',
      metadata: { name: DRIVER },
      spec: {
        address: `127.0.0.1:${port}`,
        audience: 'test-backup-client',
        caCert: (await readFile(serving('ca.crt'))).toString('base64'),
      },
    }),
  );
  assert.deepEqual(await lists(up), LISTED);
  assert.equal(await up.stop(), 0);
});

test('[CBT-1] our service and our command work with the official driver', {
  skip: skip || missingPeers('hostpathplugin'),
}, async (t) => {
  const name = 'official.csi.test';
  const up = await twoSnapshots(t, {
    args: (directory) => [
      '--without=hostpath',
      '--exec',
      `${peerPath('hostpathplugin')} --endpoint=$CSI_ENDPOINT --nodeid=$NODE_ID --drivername=${name} ` +
        `--statedir=${directory}/official --enable-snapshot-metadata`,
    ],
    storageClassName: name,
    volumes: 'official',
  });
  const account = ['--service-account', 'agent', '-o', 'json'];
  const all = await changed(up, ['second', ...account]);
  assert.equal(all.code, 0, all.stderr);
  // Blocks of one size, where our driver tells ranges.
  const allocated = [
    [0, 4096],
    [2 * MiB, 4096],
    [2 * MiB + 4096, 4096],
    [9 * MiB, 4096],
  ];
  assert.deepEqual(ranges(all.stdout), allocated);
  const since = await changed(up, ['second', '--since', 'first', '--max-results', '1', ...account]);
  assert.deepEqual(ranges(since.stdout), allocated.slice(1));
  await up.kubectl('delete', 'volumesnapshot', '--all', '--timeout=45s');
  await up.kubectl('delete', 'pvc/raw', '--timeout=45s');
  assert.equal(await up.stop(), 0);
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
