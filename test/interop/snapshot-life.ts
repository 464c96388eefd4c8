// One snapshot and one group snapshot through their whole lives, by processes alone: `berth controller-manager` and `berth provisioner`, a snapshot
// controller and a snapshotter, ours or the official ones, and a driver, on any API server. Everybody has what deploy/rbac
// publishes and no more. Answers what the objects looked like on the way, so that two servers or two programs can be
// compared.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  persistentVolumeClaims,
  persistentVolumes,
  secrets,
  storageClasses,
  volumeGroupSnapshotClasses,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../src/api/kinds.ts';
import type { KubeObject, Resource } from '../../src/api/object.ts';
import { FINALIZER_GROUP_SNAPSHOT_BOUND } from '../../src/api/well-known.ts';
import { createInformers } from '../../src/runtime/informer/create-informers.ts';
import { createHttpKubeClient } from '../../src/runtime/kube/http-kube-client.ts';
import type { KubeClient } from '../../src/runtime/kube/kube.ts';
import { loadKubeConfig } from '../../src/runtime/kube/load-kube-config.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { realRandom } from '../../src/runtime/random.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import {
  COMPONENT_NAMESPACE,
  componentKubeconfig,
  installDefinitions,
  installRoles,
} from './component-access.ts';
import { type PlainState, plainState } from './plain-state.ts';
import { berth, type Program, processes } from './processes.ts';
import { settledIn } from './settled.ts';

const DRIVER = 'hostpath.interop.test';
const NAMESPACE = COMPONENT_NAMESPACE;
const COMPONENTS = ['provisioner', 'snapshotter', 'snapshot-controller'] as const;
const SNAPSHOT_KINDS: readonly Resource[] = [
  volumeSnapshots,
  volumeSnapshotContents,
  volumeSnapshotClasses,
  volumeGroupSnapshots,
  volumeGroupSnapshotContents,
  volumeGroupSnapshotClasses,
];
const GROUPS = '--feature-gates=CSIVolumeGroupSnapshot=true';
const named = (name: string) => ({ name, namespace: 'default' });

export interface SnapshotPrograms {
  controller: Program;
  snapshotter: Program;
}

export interface SnapshotLife {
  /** Once the snapshot is ready. */
  ready: PlainState;
  /** The members of the group once it is ready. */
  members: { of: string; isReady: boolean; isNamedAsOfficially: boolean }[];
  /** Once everything is deleted: should hold nothing. */
  after: PlainState;
  /** What is left on the storage then. */
  stored: string[];
}

export async function snapshotLife(
  options: SnapshotPrograms & { kubeconfig: string; directory: string },
): Promise<SnapshotLife> {
  const { kubeconfig, directory } = options;
  const running = processes();
  const ports = { clock: realClock, random: realRandom, log: silentLog };
  const config = await loadKubeConfig({ path: kubeconfig, env: {} });
  const kube = createHttpKubeClient({ ...ports, config });
  const stop = new AbortController();
  const informers = createInformers({ ...ports, kube });
  const settled = settledIn(informers, { signal: stop.signal, output: () => running.output() });
  const read = async (): Promise<PlainState> => {
    const kinds = [
      volumeSnapshots,
      volumeSnapshotContents,
      volumeGroupSnapshots,
      volumeGroupSnapshotContents,
      persistentVolumes,
      persistentVolumeClaims,
    ];
    const lists = await Promise.all((kinds as Resource[]).map((kind) => kube.list(kind)));
    return plainState(lists.flatMap(({ items }) => items));
  };
  try {
    await installDefinitions(kube, SNAPSHOT_KINDS);
    await installRoles(kube, COMPONENTS);
    informers.start(stop.signal);
    const address = join(directory, 'csi.sock');
    const state = join(directory, 'state');
    await mkdir(state, { recursive: true });
    running.start(berth('driver hostpath'), [
      `--endpoint=unix://${address}`,
      `--driver-name=${DRIVER}`,
      '--node-id=node-a',
      `--state-dir=${state}`,
      '--require-secrets=password=hush-hush',
    ]);
    const programs = {
      provisioner: { program: berth('provisioner'), argv: [`--csi-address=${address}`] },
      snapshotter: {
        program: options.snapshotter,
        argv: [`--csi-address=${address}`, '--extra-create-metadata', GROUPS],
      },
      'snapshot-controller': { program: options.controller, argv: [GROUPS] },
    };
    for (const component of COMPONENTS) {
      const path = await componentKubeconfig(kube, { kubeconfig, directory }, component);
      const { program, argv } = programs[component];
      const election = ['--leader-election', `--leader-election-namespace=${NAMESPACE}`];
      running.start(program, [`--kubeconfig=${path}`, ...election, '-v=4', ...argv], { NAMESPACE });
    }
    running.start(berth('controller-manager'), [`--kubeconfig=${kubeconfig}`, '--leader-elect=false']);
    await makeClasses(kube);

    await kube.create(persistentVolumeClaims, claim('data'));
    await settled(persistentVolumeClaims, 'default/data', (each) => each?.status?.phase === 'Bound');
    const source = { persistentVolumeClaimName: 'data' };
    await kube.create(volumeSnapshots, { metadata: named('snap'), spec: { source } });
    const snapshot = await settled(
      volumeSnapshots,
      'default/snap',
      (each) => each?.status?.readyToUse === true,
    );
    const contentName = snapshot?.status?.boundVolumeSnapshotContentName ?? '';
    const content = await settled(volumeSnapshotContents, contentName, isAtRest);
    await settled(
      persistentVolumeClaims,
      'default/data',
      (each) => !each?.metadata.finalizers?.some((finalizer) => finalizer.includes('as-source')),
    );
    await settled(
      volumeSnapshots,
      'default/snap',
      (each) => each?.metadata.finalizers?.length === 2 && each.status?.creationTime !== undefined,
    );
    const handle = content?.status?.snapshotHandle ?? '';
    const ready = renamed(await read(), handle);

    const dataSource = { apiGroup: volumeSnapshots.group, kind: volumeSnapshots.kind, name: 'snap' };
    await kube.create(persistentVolumeClaims, claim('restored', { dataSource }));
    await settled(persistentVolumeClaims, 'default/restored', (each) => each?.status?.phase === 'Bound');
    await kube.delete(volumeSnapshots, named('snap'));
    await settled(volumeSnapshots, 'default/snap', (each) => each === undefined);
    await settled(volumeSnapshotContents, contentName, (each) => each === undefined);

    // Both claims, at one moment.
    for (const name of ['data', 'restored']) {
      const labels = { metadata: { labels: { app: 'db' } } };
      await kube.patch(persistentVolumeClaims, named(name), labels, { type: 'merge' });
    }
    const selector = { matchLabels: { app: 'db' } };
    await kube.create(volumeGroupSnapshots, {
      metadata: named('both'),
      spec: { source: { selector }, volumeGroupSnapshotClassName: 'together' },
    });
    await settled(volumeGroupSnapshots, 'default/both', (each) => each?.status?.readyToUse === true);
    const members = [];
    for (const { metadata } of (await kube.list(volumeSnapshots)).items) {
      const member = await settled(
        volumeSnapshots,
        `default/${metadata.name}`,
        (each) => each?.status?.readyToUse === true,
      );
      members.push({
        of: member?.spec.source.persistentVolumeClaimName ?? '',
        isReady: member?.status?.readyToUse === true,
        isNamedAsOfficially: /^snapshot-[0-9a-f]{64}$/.test(metadata.name),
      });
    }
    members.sort((a, b) => a.of.localeCompare(b.of));
    // The official controller protects a group only after it is ready. Deleted before that, its content would stay.
    await settled(
      volumeGroupSnapshots,
      'default/both',
      (each) => each?.metadata.finalizers?.includes(FINALIZER_GROUP_SNAPSHOT_BOUND) === true,
    );
    await kube.delete(volumeGroupSnapshots, named('both'));
    await settled(volumeGroupSnapshots, 'default/both', (each) => each === undefined);
    for (const { metadata } of (await kube.list(volumeSnapshots)).items) {
      await settled(volumeSnapshots, `default/${metadata.name}`, (each) => each === undefined);
    }
    for (const { metadata } of (await kube.list(volumeSnapshotContents)).items) {
      await settled(volumeSnapshotContents, metadata.name, (each) => each === undefined);
    }
    for (const name of ['data', 'restored']) {
      await kube.delete(persistentVolumeClaims, named(name));
      const gone = await settled(persistentVolumeClaims, `default/${name}`, (each) => each === undefined);
      assert.equal(gone, undefined);
    }
    for (const { metadata } of (await kube.list(persistentVolumes)).items) {
      await settled(persistentVolumes, metadata.name, (each) => each === undefined);
    }
    assert(!running.output().includes('hush-hush'), 'a secret was printed');
    const stored = ['volumes', 'snapshots'].flatMap((name) => readdirSync(join(state, name)));
    return { ready, members, after: await read(), stored };
  } finally {
    stop.abort();
    await running.stop();
    await kube.close();
  }
}

/** Whichever snapshotter it is, what it put on the content for a while is gone. */
const isAtRest = (content: KubeObject | undefined): boolean =>
  !Object.keys(content?.metadata.annotations ?? {}).some(
    (key) => key.includes('being-created') || key.startsWith('csi.berth/'),
  );

const claim = (name: string, more: object = {}) => ({
  metadata: named(name),
  spec: {
    accessModes: ['ReadWriteOnce'],
    storageClassName: 'now',
    resources: { requests: { storage: '1Mi' } },
    ...more,
  },
});

/** The handle is the driver's, and the time too. */
function renamed(state: PlainState, handle: string): PlainState {
  const text = JSON.stringify(state, (key, value) =>
    key === 'creationTime' && typeof value === 'number' ? '<nanoseconds>' : value,
  );
  return JSON.parse(text.replaceAll(handle, '<handle>'));
}

async function makeClasses(kube: KubeClient): Promise<void> {
  const data = { password: Buffer.from('hush-hush').toString('base64') };
  await kube.create(secrets, { metadata: named('credentials'), data });
  const secret = (role: string) => ({
    [`csi.storage.k8s.io/${role}-secret-name`]: 'credentials',
    [`csi.storage.k8s.io/${role}-secret-namespace`]: 'default',
  });
  await kube.create(storageClasses, {
    metadata: { name: 'now' },
    provisioner: DRIVER,
    reclaimPolicy: 'Delete',
    parameters: secret('provisioner'),
  });
  await kube.create(volumeSnapshotClasses, {
    metadata: {
      name: 'usual',
      annotations: { 'snapshot.storage.kubernetes.io/is-default-class': 'true' },
    },
    driver: DRIVER,
    deletionPolicy: 'Delete',
    parameters: { ...secret('snapshotter'), ...secret('snapshotter-list') },
  });
  await kube.create(volumeGroupSnapshotClasses, {
    metadata: { name: 'together' },
    driver: DRIVER,
    deletionPolicy: 'Delete',
    parameters: { ...secret('group-snapshotter'), ...secret('group-snapshotter-get') },
  });
}
