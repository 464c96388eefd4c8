// `berth check`, held against drivers: the one that is right passes, and each that is wrong in one way is told so.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { CsiError } from '../../src/csi/csi-error.ts';
import { defineDriver } from '../../src/driver/driver.ts';
import { serveDriver } from '../../src/driver/serve-driver.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { lacking } from '../capabilities.ts';
import { berth, processes } from '../interop/processes.ts';
import { runBerth } from '../run-berth.ts';

async function temporary(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'ck-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

interface Line {
  group: string;
  title: string;
  state: 'passed' | 'failed' | 'skipped';
  why?: string;
  left?: string[];
  specification?: string;
}

async function check(...argv: string[]) {
  const ended = await runBerth(['check', ...argv]);
  const lines = (): Line[] =>
    ended.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter((line) => 'state' in line);
  return { ...ended, lines };
}

type Flaw =
  | 'forgets names'
  | 'ignores sizes'
  | 'makes them small'
  | 'misses the deleted'
  | 'lists the deleted'
  | 'loses pages'
  | 'mounts nothing'
  | 'stays busy';

/** Beside the flaws: CreateVolume is refused without this parameter. */
const NEEDED = 'pool';

interface Stored {
  volumeId: string;
  capacityBytes: bigint;
}

/** Volumes in memory, right but for one flaw. */
function memoryDriver(flaw?: Flaw, needs?: string) {
  const volumes = new Map<string, Stored>();
  const deleted: Stored[] = [];
  let made = 0;
  const busy = new Set<string>();
  const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
  return defineDriver({
    name: 'memory.check.test',
    version: '1',
    controller: {
      validateVolumeCapabilities: ({ volumeId, volumeCapabilities }) => {
        if (![...volumes.values()].some((volume) => volume.volumeId === volumeId)) {
          throw new CsiError({ code: 'NOT_FOUND', message: 'no such volume' });
        }
        return { confirmed: { volumeCapabilities } };
      },
      async createVolume({ name, capacityRange, parameters }, { signal }) {
        if (needs !== undefined && parameters[needs] === undefined) {
          throw new CsiError({ code: 'INVALID_ARGUMENT', message: `parameter "${needs}" is missing` });
        }
        const size = capacityRange?.requiredBytes ?? 0n;
        if (busy.has(name)) throw new CsiError({ code: 'ABORTED', message: 'busy' });
        const there = flaw === 'forgets names' ? undefined : volumes.get(name);
        if (flaw === 'stays busy') {
          busy.add(name);
          await pause(30);
          if (signal.aborted) throw new CsiError({ code: 'CANCELLED', message: 'given up' });
          busy.delete(name);
        }
        if (there && flaw !== 'ignores sizes' && there.capacityBytes < size) {
          throw new CsiError({ code: 'ALREADY_EXISTS', message: 'smaller' });
        }
        const capacityBytes = flaw === 'makes them small' ? size / 2n : size;
        const volume = there ?? { volumeId: `v${++made}`, capacityBytes };
        volumes.set(flaw === 'forgets names' ? `${name}${made}` : name, volume);
        return { volume };
      },
      deleteVolume({ volumeId }) {
        for (const [name, volume] of volumes) {
          if (volume.volumeId !== volumeId) continue;
          volumes.delete(name);
          deleted.push(volume);
          return {};
        }
        if (flaw === 'misses the deleted')
          throw new CsiError({ code: 'NOT_FOUND', message: 'no such volume' });
        return {};
      },
      listVolumes({ maxEntries, startingToken }) {
        const all = [...volumes.values(), ...(flaw === 'lists the deleted' ? deleted : [])];
        const from = startingToken === '' ? 0 : Number(startingToken);
        if (Number.isNaN(from)) throw new CsiError({ code: 'ABORTED', message: 'unknown token' });
        const to = maxEntries === 0 ? all.length : from + maxEntries;
        const next = flaw === 'loses pages' ? to + 1 : to;
        return {
          entries: all.slice(from, to).map((volume) => ({ volume })),
          nextToken: next < all.length ? String(next) : '',
        };
      },
    },
    node: {
      nodeGetInfo: () => ({ nodeId: 'n1' }),
      async nodePublishVolume({ targetPath }) {
        await mkdir(targetPath, { recursive: true });
        return {};
      },
      nodeUnpublishVolume: () => ({}),
    },
  });
}

async function serve(
  t: TestContext,
  flaw?: Flaw,
  needs?: string,
): Promise<{ endpoint: string; directory: string }> {
  const directory = await temporary(t);
  const endpoint = `unix://${join(directory, 'csi.sock')}`;
  const server = await serveDriver(memoryDriver(flaw, needs), { endpoint, clock: realClock, log: silentLog });
  t.after(() => server.stop(0));
  return { endpoint, directory };
}

test('a driver that is right passes, and what it cannot do is skipped with the reason', async (t) => {
  const { endpoint } = await serve(t);
  const { code, stdout } = await check(endpoint);
  assert.equal(code, 0, stdout);
  assert.match(
    stdout,
    /^driver +memory\.check\.test 1\nplugin .*CONTROLLER_SERVICE.*\ncontroller +CREATE_DELETE_VOLUME, LIST_VOLUMES\nnode +none\n/,
  );
  assert.match(stdout, /✔ creates a volume of at least the requested size/);
  assert.match(stdout, /– clones a volume \(the driver does not have CLONE_VOLUME\)/);
  assert.match(stdout, /– attach, stage, publish .* \(mounts need --mount-dir\)/);
  assert.match(stdout, /\n\d+ passed, 0 failed, \d+ skipped\n$/);
});

test('a check that does not apply to the volumes asked for is skipped, not passed', async (t) => {
  const { endpoint, directory } = await serve(t);
  const { code, stdout } = await check(endpoint, '--block', '--mount-dir', directory, '--only=data persists');
  assert.equal(code, 0);
  assert.match(stdout, /– data persists .* \(a block device has no files\)/);
  assert.match(stdout, /\n0 passed, 0 failed, 1 skipped\n$/);
});

test('[BYO-3] a missing parameter is one failure with the flag to give', async (t) => {
  const { endpoint, directory } = await serve(t, undefined, NEEDED);
  const { code, lines, stdout } = await check(endpoint, '-o', 'json');
  assert.equal(code, 1);
  const failed = lines().filter(({ state }) => state === 'failed');
  assert.equal(failed.length, 1, stdout);
  assert.match(
    failed[0]?.why ?? '',
    /^CreateVolume failed with gRPC code 3 \(INVALID_ARGUMENT\); the driver said: "parameter \\"pool\\" is missing"; give .* --parameters or --parameters-file/,
  );
  assert.ok(lines().some(({ why }) => why === 'no volume can be created, see above'));
  const file = join(directory, 'class.yaml');
  await writeFile(file, 'kind: StorageClass\nparameters: {pool: fast}\n');
  for (const flag of ['--parameters=pool=fast', `--parameters-file=${file}`]) {
    assert.equal((await check(endpoint, flag, '--only=^CreateVolume')).code, 0, flag);
  }
});

test('[BYO-3] each check has its place in the specification, and --only and --skip choose', async (t) => {
  const { endpoint } = await serve(t, 'ignores sizes');
  const { code, lines } = await check(
    endpoint,
    '--only=^(Create|Delete)Volume',
    '--skip=clone|snapshot',
    '-o=json',
  );
  assert.equal(code, 1);
  assert.deepEqual([...new Set(lines().map(({ group }) => group))], ['CreateVolume', 'DeleteVolume']);
  assert.ok(!lines().some(({ title }) => /clone|snapshot/.test(title)));
  for (const { specification = '' } of lines()) assert.match(specification, /spec\.md#[a-z-]+$/);
  const text = await check(endpoint, '--only=another size');
  assert.match(
    text.stdout,
    /✖ rejects a name .* ms\n +twice the size: expected gRPC code 6 \(ALREADY_EXISTS\), but the call succeeded\n +https:.*spec\.md#createvolume-errors\n/,
  );
});

const flaws: Record<Flaw, string[]> = {
  'forgets names': [
    'CreateVolume: is idempotent: the same name returns the same volume',
    'Concurrency: concurrent identical CreateVolume calls create one volume',
  ],
  'ignores sizes': ['CreateVolume: rejects a name that is taken by a volume of another size'],
  'makes them small': ['CreateVolume: creates a volume of at least the requested size'],
  'misses the deleted': ['DeleteVolume: is idempotent, and succeeds for a volume that does not exist'],
  'lists the deleted': ['ListVolumes: lists a volume after it is created, and not after it is deleted'],
  'loses pages': ['ListVolumes: lists each volume once with pages of one entry'],
  'mounts nothing': ['Lifecycle: data persists across unpublish and publish'],
  'stays busy': ['Lost responses: CreateVolume retried after a time-out creates one volume'],
};
for (const [flaw, expected] of Object.entries(flaws)) {
  test(`a driver that ${flaw} is told so`, async (t) => {
    const { endpoint, directory } = await serve(t, flaw as Flaw);
    const { code, lines } = await check(endpoint, '--mount-dir', directory, '--timeout=300ms', '-o', 'json');
    assert.equal(code, 1);
    const failed = lines()
      .filter(({ state }) => state === 'failed')
      .map(({ group, title }) => `${group}: ${title}`);
    for (const each of expected) assert(failed.includes(each), `${each} is not among: ${failed.join('; ')}`);
  });
}

test('[GRP-1] [CBT-1] hostpath passes whole, groups and snapshot metadata included, with real mounts and credentials, and nothing is left', {
  skip: lacking('mounts'),
}, async (t) => {
  const directory = await temporary(t);
  const stateDir = join(directory, 'state');
  const mountDir = join(directory, 'mounts');
  for (const each of [stateDir, mountDir]) await mkdir(each);
  const running = processes();
  t.after(() => running.stop('SIGTERM'));
  const child = running.start(berth('driver hostpath'), [
    `--endpoint=unix://${directory}/csi.sock`,
    '--node-id=n1',
    `--state-dir=${stateDir}`,
    '--require-secrets=password=swordfish',
  ]);
  await once(child.stdout as NodeJS.ReadableStream, 'data');
  const secrets = join(directory, 'secrets.yaml');
  const operations = [
    'CreateVolume',
    'DeleteVolume',
    'ControllerPublishVolume',
    'ControllerUnpublishVolume',
    'ControllerValidateVolumeCapabilities',
    'ControllerExpandVolume',
    'NodeStageVolume',
    'NodePublishVolume',
    'CreateSnapshot',
    'DeleteSnapshot',
    'ListSnapshots',
    'CreateVolumeGroupSnapshot',
    'DeleteVolumeGroupSnapshot',
    'GetVolumeGroupSnapshot',
    'GetMetadataAllocated',
    'GetMetadataDelta',
  ];
  await writeFile(secrets, operations.map((each) => `${each}Secret: {password: swordfish}\n`).join(''));
  const flags = ['--mount-dir', mountDir, '--size=1Mi', '--secrets', secrets, '-o', 'json'];
  // Directories have no blocks.
  for (const more of [['--skip=^GetMetadata'], ['--block', '--only=^GetMetadata']]) {
    const { code, lines, stderr } = await check(`${directory}/csi.sock`, ...flags, ...more);
    const bad = lines().filter(({ state, left = [] }) => state !== 'passed' || left.length > 0);
    assert.deepEqual(bad, []);
    assert.equal(code, 0, stderr);
    assert.ok(lines().length >= 4);
  }
  assert.deepEqual(await readdir(mountDir), []);
  assert.deepEqual(await readdir(join(stateDir, 'volumes')), []);
});

test('what cannot be checked is refused in one sentence', async (t) => {
  const directory = await temporary(t);
  const file = join(directory, 'secrets.yaml');
  await writeFile(file, 'CreateVolumeSecret: swordfish\n');
  const list = join(directory, 'list.yaml');
  await writeFile(list, '[swordfish]\n');
  const table: [string[], RegExp][] = [
    [[], /which driver\? Give its socket/],
    [['/nowhere.sock', '--timeout=1s'], /connect ENOENT \/nowhere\.sock/],
    [['/s', '--only=no such check'], /no check matches --only=no such check/],
    [['/s', '--only=('], /--only is not a regular expression/],
    [['/s', '--skip=.'], /no check matches --skip=\./],
    [['/s', `--parameters-file=${list}`], /must be a StorageClass or a map of strings/],
    [['/s', '--size=large'], /--size.*must be a size, such as 1Gi/],
    [['/s', '--secrets=/nowhere'], /--secrets cannot be read/],
    [['/s', `--secrets=${file}`], /must have a map of strings for each operation/],
  ];
  for (const [argv, expected] of table) {
    const { code, stdout, stderr } = await check(...argv);
    assert.notEqual(code, 0, argv.join(' '));
    assert.equal(stdout, '');
    assert.match(stderr, expected);
    assert.doesNotMatch(stderr, /swordfish/);
  }
});
