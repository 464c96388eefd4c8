// A part of Kubernetes' External Storage suite, by its own test program, on `berth up --kubelet`: one spec of each kind that fits
// into a test's time. docs/conformance.md says how to run all of it, and what came of it.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { peerPath } from '../capabilities.ts';
import { run, startUp, temporaryDirectory } from '../e2e/up-process.ts';
import { kubeletArguments, missingForContainers } from './real-up.ts';

/** Data that outlives a pod, subpaths, snapshots, ephemeral volumes. */
const SPECS = [
  'Dynamic PV .default fs.*volumes should store data',
  'Dynamic PV .default fs.*subPath should support existing directory$',
  'Dynamic Snapshot .delete policy.*snapshottable.*should check snapshot fields',
  'Generic Ephemeral-volume .default fs. .late-binding.*should create read/write inline ephemeral volume',
];
const LEAST_PASSED = 4;

test("[REAL-2] Kubernetes' External Storage suite passes on Berth's control plane", {
  skip: missingForContainers('e2e.test', 'ginkgo', 'agnhost'),
  timeout: 175_000,
}, async (t) => {
  const directory = await temporaryDirectory(t);
  // Images are called as this release of the suite calls them.
  const listed = await run(peerPath('e2e.test') ?? '', ['--list-images']);
  const up = await startUp(t, join(directory, 'd'), [
    ...['--without', 'dashboard'],
    ...kubeletArguments(directory, { agnhost: true, names: listed.stdout.split('\n') }),
  ]);
  const driver = join(directory, 'driver.yaml');
  await writeFile(driver, JSON.stringify(DRIVER));
  const program = [
    `-kubeconfig=${up.kubeconfig}`,
    `-kubectl-path=${peerPath('kubectl')}`,
    `-kubelet-root-dir=${join(up.dataDir, 'n', 'kubelet-1')}`,
    `-storage.testdriver=${driver}`,
    ...['-num-nodes=1', '-provider=local'],
  ];
  const ended = await run(
    peerPath('ginkgo') ?? '',
    [
      ...['-procs=2', '--no-color', '--junit-report=suite.xml', `--output-dir=${directory}`],
      `--focus=External.Storage.*(${SPECS.join('|')})`,
      '--skip=Slow|Serial|Disruptive|Windows|ntfs',
      ...[peerPath('e2e.test') ?? '', '--', ...program],
    ],
    { timeoutMs: 165_000 },
  );
  const report = await readFile(join(directory, 'suite.xml'), 'utf8').catch(() => '');
  const failed = [...report.matchAll(/<testcase name="([^"]*)"[^>]*status="(?!passed|skipped)/g)].map(
    ([, name]) => name,
  );
  const passed = [
    ...report.matchAll(/<testcase name="\[It\][^"]*External Storage[^"]*"[^>]*status="passed"/g),
  ].length;
  assert.deepEqual(failed, [], ended.stdout.slice(-10_000));
  assert.equal(ended.code, 0, ended.stdout.slice(-10_000));
  assert.ok(passed >= LEAST_PASSED, `only ${passed} specs ran: ${ended.stdout.slice(-4000)}`);
  assert.equal(await up.stop(), 0);
});

const DRIVER = {
  ShortName: 'berth-hostpath',
  StorageClass: { FromExistingClassName: 'hostpath' },
  SnapshotClass: { FromName: true },
  DriverInfo: {
    Name: 'hostpath.csi.berth',
    SupportedSizeRange: { Min: '16Mi', Max: '1Gi' },
    SupportedFsType: { '': {} },
    Capabilities: {
      persistence: true,
      block: true,
      fsGroup: true,
      exec: true,
      snapshotDataSource: true,
      pvcDataSource: true,
      multipods: true,
      RWX: true,
      controllerExpansion: true,
      nodeExpansion: true,
      onlineExpansion: true,
      offlineExpansion: true,
      singleNodeVolume: true,
      readWriteOncePod: true,
    },
  },
  InlineVolumes: [{ Attributes: { size: '10Mi' } }],
};
