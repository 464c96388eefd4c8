// The steps of `berth demo` on a running cluster: each step acts, waits for the effects and verifies them.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  csiNodes,
  nodes,
  type PersistentVolume,
  type Pod,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  secrets,
  storageClasses,
  volumeAttachments,
} from '../api/kinds.ts';
import type { KubeObject, Resource } from '../api/object.ts';
import { ANN_PUBLISHED_VOLUMES } from '../api/well-known.ts';
import type { DataDirectory } from '../cluster/data-directory.ts';
import { HOSTPATH } from '../cluster/hostpath-driver.ts';
import { HOSTPATH_ZONE } from '../cluster/plan-nodes.ts';
import type { Cluster } from '../cluster/start-cluster.ts';
import { awaitObject } from '../runtime/kube/await-object.ts';
import type { Mounter } from '../runtime/mount/mounter.ts';
import type { Clock } from '../runtime/ports.ts';
import type { Narrator } from './narrator.ts';
import type { SeenCalls } from './seen-calls.ts';
import { claim, classWithSecrets, fromClaim, NAMESPACE, onNode, pod, secret } from './story-objects.ts';
import { whatIsLeft } from './what-is-left.ts';

export interface StoryOptions {
  cluster: Cluster;
  narrator: Narrator;
  seen: SeenCalls;
  directory: DataDirectory;
  /** The first two share a zone, the third is in another. */
  nodeNames: readonly [string, string, string];
  mounter: Mounter;
  clock: Clock;
  signal: AbortSignal;
}

/** Long enough for a busy machine; steps that succeed take a fraction of it. */
const STEP_MS = 20_000;
const TEXT = 'a ship in its berth\n';

/** Rejects at the first step that fails. */
export async function tellStory(options: StoryOptions): Promise<void> {
  const { cluster, narrator, seen, nodeNames, clock, signal } = options;
  const { server } = cluster;
  const { reader } = server;
  const kube = server.client(server.adminUser);
  const [first, second, third] = nodeNames;

  const until = <T extends KubeObject>(
    resource: Resource<T>,
    name: string,
    holds: (object: T | undefined) => boolean,
  ): Promise<T | undefined> => {
    const at = resource.namespaced ? { namespace: NAMESPACE, name } : { name };
    return awaitObject({ kube, clock, resource, at, timeoutMs: STEP_MS, signal, until: holds });
  };
  const volumeOf = async (claimName: string): Promise<PersistentVolume> => {
    const bound = await until(
      persistentVolumeClaims,
      claimName,
      (object) => object?.status?.phase === 'Bound',
    );
    return kube.get(persistentVolumes, { name: bound?.spec.volumeName ?? '' });
  };
  const published = async (podName: string): Promise<{ path: string; node: string }> => {
    const running = await until(pods, podName, (object) => object?.status?.phase === 'Running');
    return { path: pathOf(running), node: running?.spec.nodeName ?? '' };
  };

  await narrator.step(
    'A StorageClass names the driver, and the driver is registered on every node',
    async () => {
      const hostpath = await kube.get(storageClasses, { name: 'hostpath' });
      const on = [...reader.list(csiNodes)].filter(({ spec }) =>
        spec.drivers?.some(({ name }) => name === HOSTPATH),
      );
      hold(
        on.length === nodeNames.length,
        `the driver is registered on ${on.length} of ${nodeNames.length} nodes`,
      );
      return `class ${hostpath.metadata.name}: ${hostpath.provisioner}, on ${nodeNames.join(', ')}`;
    },
  );

  await narrator.step('A claim requests 64 MiB: a volume is provisioned and bound', async () => {
    await kube.create(persistentVolumeClaims, claim('data', { class: 'hostpath' }));
    const volume = await volumeOf('data');
    return `claim data is bound to ${volume.metadata.name}`;
  });

  let data = '';
  await narrator.step('A pod uses the claim: scheduled, attached, staged, published', async () => {
    await kube.create(pods, pod('web', fromClaim('data'), onNode(first)));
    const { path } = await published('web');
    data = path;
    hold(await options.mounter.isMountPoint(path), `${path} is not a mount point`);
    return `mounted at ${path}`;
  });

  await narrator.step('Bytes are written through the published path and read back', async () => {
    await writeFile(join(data, 'hello'), TEXT);
    hold((await readFile(join(data, 'hello'), 'utf8')) === TEXT, 'other bytes came back');
    return `${TEXT.length} bytes`;
  });

  await narrator.step(
    `The pod is deleted and another starts on ${second}: the volume moves with its data`,
    async () => {
      await kube.delete(pods, { namespace: NAMESPACE, name: 'web' });
      await until(pods, 'web', (object) => object === undefined);
      await kube.create(pods, pod('web-again', fromClaim('data'), onNode(second)));
      const { path, node } = await published('web-again');
      hold((await readFile(join(path, 'hello'), 'utf8')) === TEXT, 'other bytes came back');
      return `the same bytes on ${node}`;
    },
  );

  await narrator.step('A ReadWriteMany claim is mounted on two nodes at once', async () => {
    await kube.create(persistentVolumeClaims, claim('shared', { class: 'hostpath', mode: 'ReadWriteMany' }));
    await kube.create(pods, pod('left', fromClaim('shared'), onNode(first)));
    await kube.create(pods, pod('right', fromClaim('shared'), onNode(second)));
    const [left, right] = await Promise.all([published('left'), published('right')]);
    await writeFile(join(left.path, 'from-left'), TEXT);
    hold((await readFile(join(right.path, 'from-left'), 'utf8')) === TEXT, 'the other node sees other bytes');
    return `written on ${left.node}, read on ${right.node}`;
  });

  await narrator.step(`Delayed binding: the volume is provisioned where the pod runs, ${third}`, async () => {
    await kube.create(persistentVolumeClaims, claim('late', { class: 'hostpath-delayed' }));
    await kube.create(pods, pod('far', fromClaim('late'), onNode(third)));
    const { node } = await published('far');
    const zone = affinityZone(await volumeOf('late'));
    const { labels } = (await kube.get(nodes, { name: third })).metadata;
    hold(node === third, `the pod runs on ${node}`);
    hold(zone !== undefined && zone === labels?.[HOSTPATH_ZONE], `the volume is in zone ${zone}`);
    return `in ${zone}, where ${third} is`;
  });

  await narrator.step(
    'An inline volume exists as long as its pod, and the driver gets pod information',
    async () => {
      await kube.create(pods, pod('scratch', { name: 'data', csi: { driver: HOSTPATH } }));
      const { path } = await published('scratch');
      await writeFile(join(path, 'x'), TEXT);
      const context = seen.contextWith('NodePublishVolume', 'csi.storage.k8s.io/pod.name', 'scratch');
      hold(
        context?.['csi.storage.k8s.io/ephemeral'] === 'true',
        'the driver was not told that the volume is ephemeral',
      );
      return ['pod.name', 'pod.namespace', 'serviceAccount.name', 'ephemeral'].map(
        (key) => `NodePublishVolume got ${key}=${context?.[`csi.storage.k8s.io/${key}`]}`,
      );
    },
  );

  await narrator.step('Secrets reach the calls that they are for, and no others', async () => {
    const making = { user: 'maker', password: 'only CreateVolume and DeleteVolume see this' };
    const publishing = { token: 'only NodePublishVolume sees this' };
    await kube.create(secrets, secret('making', making));
    await kube.create(secrets, secret('publishing', publishing));
    await kube.create(storageClasses, classWithSecrets('hostpath-secret', HOSTPATH));
    await kube.create(persistentVolumeClaims, claim('guarded', { class: 'hostpath-secret' }));
    await kube.create(pods, pod('keeper', fromClaim('guarded')));
    await published('keeper');
    hold(seen.broughtSecrets('CreateVolume', making), 'CreateVolume did not get the secret of its class');
    hold(seen.broughtSecrets('NodePublishVolume', publishing), 'NodePublishVolume did not get its secret');
    const makers = seen.leakedSecrets(['CreateVolume', 'DeleteVolume'], Object.values(making));
    const publishers = seen.leakedSecrets(['NodePublishVolume'], Object.values(publishing));
    hold(makers.length + publishers.length === 0, `secrets also reached ${[...makers, ...publishers]}`);
    return [
      'CreateVolume got user, password',
      'NodePublishVolume got token',
      'no other call got any of them',
    ];
  });

  await narrator.step('All pods and claims are deleted: unpublish, unstage, detach, delete', async () => {
    const podNames = [...reader.list(pods, NAMESPACE)].map(({ metadata }) => metadata.name);
    const claimNames = [...reader.list(persistentVolumeClaims, NAMESPACE)].map(
      ({ metadata }) => metadata.name,
    );
    await Promise.all([
      ...podNames.map((name) => kube.delete(pods, { namespace: NAMESPACE, name })),
      ...claimNames.map((name) => kube.delete(persistentVolumeClaims, { namespace: NAMESPACE, name })),
    ]);
    await Promise.all([...podNames].map((name) => until(pods, name, (object) => object === undefined)));
    await Promise.all(
      [...reader.list(persistentVolumes)].map(({ metadata }) =>
        until(persistentVolumes, metadata.name, (object) => object === undefined),
      ),
    );
    await Promise.all(
      [...reader.list(volumeAttachments)].map(({ metadata }) =>
        until(volumeAttachments, metadata.name, (object) => object === undefined),
      ),
    );
    return `${podNames.length} pods, ${claimNames.length} claims`;
  });

  await narrator.step('Nothing is left: no object, no mount, no file', async () => {
    const left = await whatIsLeft({ ...options, reader });
    hold(left.length === 0, `left behind: ${left.join(', ')}`);
    return undefined;
  });
}

function hold(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new Error(otherwise);
}

function pathOf(object: Pod | undefined): string {
  const paths = JSON.parse(object?.metadata.annotations?.[ANN_PUBLISHED_VOLUMES] ?? '{}');
  const path = (paths as Record<string, string>).data;
  if (path === undefined) throw new Error(`pod ${object?.metadata.name} runs without its volume`);
  return path;
}

function affinityZone({ spec }: PersistentVolume): string | undefined {
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  const expressions = terms.flatMap(({ matchExpressions = [] }) => matchExpressions);
  return expressions.find(({ key }) => key === HOSTPATH_ZONE)?.values?.[0];
}
