// One volume through its whole life, by processes alone: `berth controller-manager` and `berth scheduler`, a
// provisioner, an attacher, a resizer and a driver, ours or the official ones, on any API server. The sidecars have what
// deploy/rbac publishes and no more. Answers what the objects looked like on the way, without what differs from run to
// run, so that two servers or two sidecars can be compared.

import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  csiDrivers,
  csiNodes,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  secrets,
  serviceAccounts,
  storageClasses,
  volumeAttachments,
} from '../../src/api/kinds.ts';
import type { Draft, KubeObject, Resource } from '../../src/api/object.ts';
import { attachmentName } from '../../src/api/volumes.ts';
import { FINALIZER_PROVISIONING } from '../../src/api/well-known.ts';
import { resourceOfManifest } from '../../src/cli/objects/find-resource.ts';
import { COMPONENT_ACCOUNTS, publishedRbac } from '../../src/manifests/published-rbac.ts';
import { createInformers } from '../../src/runtime/informer/create-informers.ts';
import { createHttpKubeClient } from '../../src/runtime/kube/http-kube-client.ts';
import type { KubeClient } from '../../src/runtime/kube/kube.ts';
import { isAlreadyExists } from '../../src/runtime/kube/kube-error.ts';
import { loadKubeConfig } from '../../src/runtime/kube/load-kube-config.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { realRandom } from '../../src/runtime/random.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { type PlainState, plainState } from './plain-state.ts';
import { berth, type Program, processes } from './processes.ts';
import { settledIn } from './settled.ts';

const DRIVER = 'hostpath.interop.test';
const NODE = 'node-a';
const TOPOLOGY_KEY = 'topology.interop.test/node';
const NAMESPACE = 'kube-system';

const COMPONENTS = ['provisioner', 'attacher', 'resizer'] as const;
type Component = (typeof COMPONENTS)[number];

export interface LifeOptions {
  /** The admin's. */
  kubeconfig: string;
  /** Short: sockets are in it. */
  directory: string;
  provisioner: Program;
  attacher: Program;
  resizer: Program;
}

export interface Life {
  /** Once the pod's volume is attached. */
  attached: PlainState;
  /** Sizes and conditions once the claim has what it then asked for. States are not kept by every version of the server. */
  grown: { claim: unknown; volume: unknown; conditions: unknown };
  /** Once pod and claim are deleted: should hold no volume. */
  after: PlainState;
}

export async function volumeLife(options: LifeOptions): Promise<Life> {
  const { kubeconfig, directory } = options;
  const running = processes();
  const ports = { clock: realClock, random: realRandom, log: silentLog };
  const config = await loadKubeConfig({ path: kubeconfig, env: {} });
  const kube = createHttpKubeClient({ ...ports, config });
  const stop = new AbortController();
  const informers = createInformers({ ...ports, kube });
  informers.start(stop.signal);
  const settled = settledIn(informers, { signal: stop.signal, output: () => running.output() });
  try {
    const accounts = await applyRbac(kube, (await kube.servedResources()).resources);
    const address = join(directory, 'csi.sock');
    await startDriver(options, running, address);
    const election = ['--leader-election', `--leader-election-namespace=${NAMESPACE}`];
    const sidecar = async (component: Component, argv: string[]) => {
      const path = join(directory, `${component}.kubeconfig`);
      await writeFile(path, await withToken(kubeconfig, await accounts.token(component)), { mode: 0o600 });
      const common = [`--csi-address=${address}`, `--kubeconfig=${path}`, ...election, '-v=4'];
      running.start(options[component], [...common, ...argv], { NAMESPACE });
    };
    const capacity = ['--enable-capacity', '--capacity-ownerref-level=-1'];
    await sidecar('provisioner', ['--extra-create-metadata', '--feature-gates=Topology=true', ...capacity]);
    await sidecar('attacher', []);
    await sidecar('resizer', []);
    for (const command of ['controller-manager', 'scheduler']) {
      running.start(berth(command), [`--kubeconfig=${kubeconfig}`, '--leader-elect=false']);
    }
    await makeWorld(kube);
    const read = async (): Promise<PlainState> => {
      const kinds = [persistentVolumes, persistentVolumeClaims, volumeAttachments] as Resource[];
      const lists = await Promise.all(kinds.map((kind) => kube.list(kind)));
      return plainState(lists.flatMap(({ items }) => items));
    };

    const claim = await kube.create(persistentVolumeClaims, {
      metadata: { name: 'data', namespace: 'default' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'late',
        resources: { requests: { storage: '1Mi' } },
      },
    });
    await kube.create(pods, {
      metadata: { name: 'p', namespace: 'default' },
      spec: {
        containers: [{ name: 'c', image: 'i' }],
        volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }],
      },
    });
    await settled(persistentVolumeClaims, 'default/data', (object) => object?.status?.phase === 'Bound');
    const volumeName = `pvc-${claim.metadata.uid}`;
    const volume = await settled(
      persistentVolumes,
      volumeName,
      (object) => object?.status?.phase === 'Bound',
    );
    const handle = volume?.spec.csi?.volumeHandle ?? '';
    await settled(pods, 'default/p', (object) => object?.spec.nodeName === NODE);
    const attachment = attachmentName({ driver: DRIVER, volumeHandle: handle, nodeName: NODE });
    await settled(volumeAttachments, attachment, (object) => object?.status?.attached === true);
    await settled(nodes, NODE, (object) => object?.status?.volumesAttached?.length === 1);
    // Whichever provisioner it is, what it put on the claim for a while is gone.
    await settled(
      persistentVolumeClaims,
      'default/data',
      (object) => !object?.metadata.finalizers?.includes(FINALIZER_PROVISIONING),
    );
    const attached = await read();

    const more = { spec: { resources: { requests: { storage: '3Mi' } } } };
    await kube.patch(persistentVolumeClaims, { name: 'data', namespace: 'default' }, more, { type: 'merge' });
    const grownClaim = await settled(
      persistentVolumeClaims,
      'default/data',
      (object) => object?.status?.capacity?.storage === '3Mi',
    );
    const grown = {
      claim: grownClaim?.status?.capacity,
      conditions: grownClaim?.status?.conditions ?? [],
      volume: (await kube.get(persistentVolumes, { name: volumeName })).spec.capacity,
    };

    await kube.delete(pods, { name: 'p', namespace: 'default' }, { gracePeriodSeconds: 0 });
    await settled(volumeAttachments, attachment, (object) => object === undefined);
    await kube.delete(persistentVolumeClaims, { name: 'data', namespace: 'default' });
    await settled(persistentVolumeClaims, 'default/data', (object) => object === undefined);
    await settled(persistentVolumes, volumeName, (object) => object === undefined);
    const text = running.output();
    assert(!text.includes('hush-hush'), 'a secret was printed');
    return { attached: renamed(attached, { attachment, handle }), grown, after: await read() };
  } finally {
    stop.abort();
    await running.stop();
    await kube.close();
  }
}

/** Names that are made from UIDs or by chance: the attachment's is a digest of the volume's, the handle the driver's. */
function renamed(state: PlainState, names: Record<string, string>): PlainState {
  let text = JSON.stringify(state);
  for (const [shown, name] of Object.entries(names)) text = text.replaceAll(name, `<${shown}>`);
  return JSON.parse(text);
}

async function startDriver(
  { directory }: LifeOptions,
  running: ReturnType<typeof processes>,
  address: string,
): Promise<void> {
  const stateDir = join(directory, 'state');
  await mkdir(stateDir, { recursive: true });
  running.start(berth('driver hostpath'), [
    `--endpoint=unix://${address}`,
    `--driver-name=${DRIVER}`,
    `--node-id=${NODE}`,
    `--state-dir=${stateDir}`,
    `--topology=${TOPOLOGY_KEY}=${NODE}`,
    '--require-secrets=password=hush-hush',
  ]);
}

/** A node with the driver on it, a class whose volumes wait for a pod, and the secret that the class names. */
async function makeWorld(kube: KubeClient): Promise<void> {
  await kube.create(nodes, { metadata: { name: NODE, labels: { [TOPOLOGY_KEY]: NODE } } });
  await kube.patch(
    nodes,
    { name: NODE },
    { status: { conditions: [{ type: 'Ready', status: 'True' }] } },
    { type: 'merge', subresource: 'status' },
  );
  const drivers = [{ name: DRIVER, nodeID: NODE, topologyKeys: [TOPOLOGY_KEY] }];
  await kube.create(csiNodes, { metadata: { name: NODE }, spec: { drivers } });
  await kube.create(csiDrivers, { metadata: { name: DRIVER }, spec: { attachRequired: true } });
  const data = { password: Buffer.from('hush-hush').toString('base64') };
  await kube.create(secrets, { metadata: { name: 'credentials', namespace: 'default' }, data });
  const secret = (role: string) => ({
    [`csi.storage.k8s.io/${role}-secret-name`]: 'credentials',
    [`csi.storage.k8s.io/${role}-secret-namespace`]: 'default',
  });
  await kube.create(storageClasses, {
    metadata: { name: 'late' },
    provisioner: DRIVER,
    volumeBindingMode: 'WaitForFirstConsumer',
    reclaimPolicy: 'Delete',
    allowVolumeExpansion: true,
    parameters: { ...secret('provisioner'), ...secret('controller-publish'), ...secret('controller-expand') },
  });
}

async function applyRbac(kube: KubeClient, served: Parameters<typeof resourceOfManifest>[0]) {
  for (const object of await publishedRbac({ components: COMPONENTS })) {
    const { apiVersion = '', kind = '' } = object;
    const resource = resourceOfManifest(served, { apiVersion, kind });
    assert(resource, `${apiVersion} ${kind} is not served`);
    await kube.create(resource, object as Draft<KubeObject>).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  }
  return {
    async token(component: Component): Promise<string> {
      const account = { name: COMPONENT_ACCOUNTS[component], namespace: NAMESPACE };
      const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
      const answer = await kube.createSubresource<{ status: { token: string } }>(
        serviceAccounts,
        account,
        'token',
        body,
      );
      return answer.status.token;
    },
  };
}

/** The same cluster, for the bearer of this token. */
async function withToken(kubeconfig: string, token: string): Promise<string> {
  const config = JSON.parse(await readFile(kubeconfig, 'utf8'));
  config.users[0].user = { token };
  return JSON.stringify(config);
}
