// Work that waits for a sidecar before it is started, so that "started" means the same for every implementation: the sidecar has done
// its first piece of work. The objects are as the rest of a cluster would have left them.

import { chownSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  csiNodes,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
  volumeAttachments,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../src/api/kinds.ts';
import type { Resource } from '../src/api/object.ts';
import { ANN_BIND_COMPLETED, ANN_STORAGE_PROVISIONER } from '../src/api/well-known.ts';
import { freePort } from '../src/cluster/kubelet/prepare-machine.ts';
import { connectCsi } from '../src/csi/client/connect-csi.ts';
import { csiClient } from '../src/csi/client/csi-client.ts';
import { Controller, VolumeCapability_AccessMode_Mode } from '../src/csi/generated/csi/v1/csi_pb.ts';
import { createInformers } from '../src/runtime/informer/create-informers.ts';
import type { KubeClient } from '../src/runtime/kube/kube.ts';
import { silentLog } from '../src/runtime/log/log.ts';
import { realRandom } from '../src/runtime/random.ts';
import { realClock } from '../src/runtime/time/clock.ts';
import { installDefinitions } from '../test/interop/component-access.ts';
import { NOBODY } from './rooted-processes.ts';

export const SIDECARS = [
  'provisioner',
  'attacher',
  'resizer',
  'snapshotter',
  'snapshot-controller',
  'livenessprobe',
  'node-registrar',
] as const;
export type Sidecar = (typeof SIDECARS)[number];

export interface PendingWork {
  /** Flags beside --csi-address and --kubeconfig. */
  readonly flags: readonly string[];
  /** Resolves when the sidecar has done it. */
  done(): Promise<unknown>;
}

export interface SidecarWork {
  prepare(sidecar: Sidecar): Promise<PendingWork>;
  close(): Promise<void>;
}

const NODE = 'n0';
const CLASS = 'bench';
const POLL_MS = 2;
/** A sidecar that starts beside 100,000 volumes lists them first. */
const PATIENCE_MS = 300_000;

export async function sidecarWork(options: {
  kube: KubeClient;
  driver: string;
  socket: string;
  /** The root directory of the sidecars. */
  root: string;
}): Promise<SidecarWork> {
  const { kube, driver, root } = options;
  const ports = { clock: realClock, random: realRandom, log: silentLog };
  const connection = connectCsi({ address: options.socket, clock: realClock, log: silentLog });
  const controller = csiClient(Controller, connection, { timeoutMs: PATIENCE_MS });
  const stopping = new AbortController();
  const informers = createInformers({ ...ports, kube });
  const followed = {
    volumes: informers.of(persistentVolumes),
    attachments: informers.of(volumeAttachments),
    contents: informers.of(volumeSnapshotContents),
  };
  await installDefinitions(kube, [
    volumeSnapshots,
    volumeSnapshotContents,
    volumeSnapshotClasses,
  ] as Resource[]);
  informers.start(stopping.signal);
  await kube.create(nodes, { metadata: { name: NODE } });
  await kube.create(csiNodes, {
    metadata: { name: NODE },
    spec: { drivers: [{ name: driver, nodeID: NODE, topologyKeys: [] }] },
  });
  await kube.create(storageClasses, {
    metadata: { name: CLASS },
    provisioner: driver,
    allowVolumeExpansion: true,
  });
  await kube.create(volumeSnapshotClasses, { metadata: { name: CLASS }, driver, deletionPolicy: 'Delete' });

  let count = 0;
  const limit = (): AbortSignal => AbortSignal.timeout(PATIENCE_MS);
  const claimOf = (name: string, more: { annotations: Record<string, string>; volumeName?: string }) => ({
    metadata: { name, namespace: 'default', annotations: more.annotations },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: CLASS,
      resources: { requests: { storage: '1Mi' } },
      ...(more.volumeName && { volumeName: more.volumeName }),
    },
  });
  /** A volume of the driver, with its claim, as they are once bound. */
  const boundVolume = async (name: string): Promise<string> => {
    const { volume } = await controller.createVolume({
      name,
      capacityRange: { requiredBytes: 1n << 20n },
      volumeCapabilities: [
        {
          accessType: { case: 'mount', value: {} },
          accessMode: { mode: VolumeCapability_AccessMode_Mode.SINGLE_NODE_WRITER },
        },
      ],
    });
    const handle = volume?.volumeId ?? '';
    const annotations = { [ANN_BIND_COMPLETED]: 'yes', [ANN_STORAGE_PROVISIONER]: driver };
    const claim = await kube.create(
      persistentVolumeClaims,
      claimOf(name, { annotations, volumeName: name }) as never,
    );
    await kube.create(persistentVolumes, {
      metadata: { name },
      spec: {
        capacity: { storage: '1Mi' },
        accessModes: ['ReadWriteOnce'],
        storageClassName: CLASS,
        claimRef: { kind: 'PersistentVolumeClaim', namespace: 'default', name, uid: claim.metadata.uid },
        csi: { driver, volumeHandle: handle },
      },
    });
    const status = { phase: 'Bound', capacity: { storage: '1Mi' }, accessModes: ['ReadWriteOnce'] };
    const merge = { type: 'merge', subresource: 'status' } as const;
    await kube.patch(persistentVolumeClaims, { name, namespace: 'default' }, { status }, merge);
    await kube.patch(persistentVolumes, { name }, { status: { phase: 'Bound' } }, merge);
    return handle;
  };

  const works: Record<Sidecar, (name: string) => Promise<PendingWork>> = {
    async provisioner(name) {
      const draft = claimOf(name, { annotations: { [ANN_STORAGE_PROVISIONER]: driver } });
      const { metadata } = await kube.create(persistentVolumeClaims, draft);
      return {
        flags: [],
        done: () =>
          followed.volumes.waitFor(`pvc-${metadata.uid}`, (volume) => volume !== undefined, limit()),
      };
    },
    async attacher(name) {
      await boundVolume(name);
      await kube.create(volumeAttachments, {
        metadata: { name },
        spec: { attacher: driver, nodeName: NODE, source: { persistentVolumeName: name } },
      });
      return {
        flags: [],
        done: () => followed.attachments.waitFor(name, (each) => each?.status?.attached === true, limit()),
      };
    },
    async resizer(name) {
      await boundVolume(name);
      const grown = { spec: { resources: { requests: { storage: '2Mi' } } } };
      await kube.patch(persistentVolumeClaims, { name, namespace: 'default' }, grown, { type: 'merge' });
      return {
        flags: [],
        done: () =>
          followed.volumes.waitFor(name, (volume) => volume?.spec.capacity?.storage === '2Mi', limit()),
      };
    },
    async snapshotter(name) {
      const volumeHandle = await boundVolume(name);
      await kube.create(volumeSnapshotContents, {
        metadata: { name },
        spec: {
          driver,
          deletionPolicy: 'Delete',
          volumeSnapshotClassName: CLASS,
          source: { volumeHandle },
          volumeSnapshotRef: { name, namespace: 'default', uid: `uid-${name}` },
        },
      });
      return {
        flags: [],
        done: () => followed.contents.waitFor(name, (each) => each?.status?.readyToUse === true, limit()),
      };
    },
    async 'snapshot-controller'(name) {
      await boundVolume(name);
      const { metadata } = await kube.create(volumeSnapshots, {
        metadata: { name, namespace: 'default' },
        spec: { volumeSnapshotClassName: CLASS, source: { persistentVolumeClaimName: name } },
      });
      const content = `snapcontent-${metadata.uid}`;
      return {
        flags: [],
        done: () => followed.contents.waitFor(content, (each) => each !== undefined, limit()),
      };
    },
    async livenessprobe() {
      const endpoint = `127.0.0.1:${await freePort('127.0.0.1')}`;
      return {
        flags: [`--http-endpoint=${endpoint}`],
        done: () =>
          until(() =>
            fetch(`http://${endpoint}/healthz`).then(
              ({ ok }) => ok,
              () => false,
            ),
          ),
      };
    },
    async 'node-registrar'(name) {
      const path = `/run/${name}`;
      mkdirSync(join(root, path));
      chownSync(join(root, path), NOBODY, NOBODY);
      return {
        flags: [`--plugin-registration-path=${path}`, '--kubelet-registration-path=/run/csi.sock'],
        done: () => until(async () => existsSync(join(root, path, `${driver}-reg.sock`))),
      };
    },
  };
  return {
    prepare: (sidecar) => works[sidecar](`w${count++}`),
    async close() {
      stopping.abort();
      await connection.close();
    },
  };
}

async function until(isDone: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + PATIENCE_MS;
  while (!(await isDone())) {
    if (performance.now() > endMs) throw new Error(`nothing happened for ${PATIENCE_MS} ms`);
    await realClock.sleep(POLL_MS);
  }
}
