// The official conformance suite against hostpath as a process of its own, over its socket, with real mounts. It has to
// pass whole: nothing failed, and nothing skipped but what needs calls that the wire (CSI 1.12) does not have.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { goProgramPath, lacking } from '../capabilities.ts';
import { startHostpath } from './hostpath-process.ts';

const program = goProgramPath('csi-sanity');
const skip =
  program === undefined
    ? 'csi-sanity is not installed; go install github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity@latest'
    : lacking('root', 'loop', 'mkfs.ext4');

// CSI 1.13 adds volume health and topology of snapshots; the wire speaks 1.12.
const beyondTheWire = /Health not supported|SNAPSHOT_ACCESSIBILITY_CONSTRAINTS not supported/;

interface SpecReport {
  ContainerHierarchyTexts: string[] | null;
  LeafNodeText: string;
  LeafNodeType: string;
  State: 'passed' | 'failed' | 'skipped' | 'pending' | 'panicked' | 'interrupted' | 'timedout';
  Failure?: { Message: string };
}

const modes: [name: string, driver: string[], suite: string[]][] = [
  ['directories', [], []],
  ['ext4 images', ['--backing=image'], []],
  ['raw block', [], ['--csi.testvolumeaccesstype=block']],
  ['directories, with topology', ['--topology=topology.hostpath.csi.berth/node=n1'], []],
  ['images, neither attached nor staged', ['--backing=image', '--without=attach,stage'], []],
  ['directories, with credentials', ['--require-secrets=password=swordfish'], ['--csi.secrets=secrets.yaml']],
];

describe('csi-sanity', { skip }, () => {
  for (const [name, driverFlags, suiteFlags] of modes) {
    it(`passes whole with ${name}`, { timeout: 120_000 }, async () => {
      const root = await realpath(await mkdtemp(join(tmpdir(), 'berth-cs-')));
      const driver = await startHostpath(root, driverFlags);
      try {
        const specs = await runSuite(root, suiteFlags);
        const withoutTwo = driverFlags.some((flag) => flag.startsWith('--without'));
        const mayBeSkipped = (reason: string) =>
          beyondTheWire.test(reason) ||
          (withoutTwo &&
            /ControllerPublish|Controller Publish|ControllerUnpublish|NodeStage|NodeUnstage|readonly|attach/.test(
              reason,
            ));
        const bad = specs.filter(
          ({ State, Failure }) =>
            !['passed', 'pending'].includes(State) &&
            !(State === 'skipped' && mayBeSkipped(Failure?.Message ?? '')),
        );
        assert.deepEqual(bad.map(describeSpec), []);
        const passed = specs.filter(({ State }) => State === 'passed').length;
        assert.ok(passed >= (withoutTwo ? 70 : 90), `only ${passed} specs ran`);
      } finally {
        await driver.stop();
      }
      try {
        await assertNothingLeft(root);
      } finally {
        await rm(root, { recursive: true, force: true });
      }
    });
  }
});

async function runSuite(root: string, flags: string[]): Promise<SpecReport[]> {
  await writeFile(join(root, 'mutable.yaml'), 'iops: "100"\n');
  const operations = [
    'CreateVolumeSecret',
    'DeleteVolumeSecret',
    'ControllerPublishVolumeSecret',
    'ControllerUnpublishVolumeSecret',
    'ControllerValidateVolumeCapabilitiesSecret',
    'NodeStageVolumeSecret',
    'NodePublishVolumeSecret',
    'CreateSnapshotSecret',
    'DeleteSnapshotSecret',
    'GetSnapshotSecret',
    'ControllerExpandVolumeSecret',
    'ListSnapshotsSecret',
    'ControllerModifyVolumeSecret',
  ];
  await writeFile(
    join(root, 'secrets.yaml'),
    operations.map((name) => `${name}: { password: swordfish }\n`).join(''),
  );
  const report = join(root, 'report.json');
  const child = spawn(
    program ?? '',
    [
      `--csi.endpoint=unix://${root}/s`,
      `--csi.mountdir=${root}/mount`,
      `--csi.stagingdir=${root}/staging`,
      `--csi.testvolumemutableparameters=${root}/mutable.yaml`,
      '--csi.testnodevolumeattachlimit=true',
      `--ginkgo.json-report=${report}`,
      '--ginkgo.silence-skips',
      ...flags,
    ],
    { cwd: root, stdio: 'ignore' },
  );
  await once(child, 'exit');
  const [suite] = JSON.parse(await readFile(report, 'utf8')) as [{ SpecReports: SpecReport[] }];
  return suite.SpecReports.filter(({ LeafNodeType }) => LeafNodeType === 'It');
}

function describeSpec({ ContainerHierarchyTexts, LeafNodeText, State, Failure }: SpecReport): string {
  return `${State}: ${[...(ContainerHierarchyTexts ?? []), LeafNodeText].join(' ')}: ${Failure?.Message ?? ''}`;
}

async function assertNothingLeft(root: string): Promise<void> {
  const mounts = (await readFile('/proc/self/mountinfo', 'utf8'))
    .split('\n')
    .filter((line) => line.includes(root));
  assert.deepEqual(mounts, []);
  for (const name of (await readdir('/sys/block')).filter((device) => device.startsWith('loop'))) {
    const image = await readFile(`/sys/block/${name}/loop/backing_file`, 'utf8').catch(() => '');
    assert.ok(!image.startsWith(root), `${name} is still attached to ${image}`);
  }
  for (const kind of ['volumes', 'snapshots', 'mounts/n1']) {
    assert.deepEqual(await readdir(join(root, 'state', kind)).catch(() => []), [], `${kind} are left`);
  }
}
