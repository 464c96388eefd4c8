// Test support: a real API server that is used only by tests. Clients impersonate the account that a test asks for.
// Everything that tests create is deleted before the next test. Parts of a cluster's other controllers that tests rely
// on are done here.

import { after } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import {
  type CustomResourceDefinition,
  clusterRoleBindings,
  clusterRoles,
  configMaps,
  csiDrivers,
  csiNodes,
  csiStorageCapacities,
  customResourceDefinitions,
  events,
  namespaces,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  serviceAccounts,
  statefulSets,
  storageClasses,
  volumeAttachments,
} from '../../api/kinds.ts';
import type { KubeObject, Resource } from '../../api/object.ts';
import { ADMIN } from '../../apiserver/auth/users.ts';
import type { User } from '../../apiserver/pipeline.ts';
import { createHttpKubeClient } from '../../runtime/kube/http-kube-client.ts';
import type { Discovery, KubeClient } from '../../runtime/kube/kube.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../../runtime/kube/kube-error.ts';
import { loadKubeConfig } from '../../runtime/kube/load-kube-config.ts';
import { silentLog } from '../../runtime/log/log.ts';
import { realRandom } from '../../runtime/random.ts';
import { realClock } from '../../runtime/time/clock.ts';

/** The kinds whose state is a test's result. Dependents first, so that nothing is created again while it is deleted. */
const KINDS: readonly Resource[] = [
  statefulSets,
  pods,
  volumeAttachments,
  persistentVolumeClaims,
  persistentVolumes,
  csiStorageCapacities,
  csiNodes,
  nodes,
  csiDrivers,
  storageClasses,
  configMaps,
] as Resource[];

const SYSTEM_NAMESPACES = new Set(['default', 'kube-system', 'kube-public', 'kube-node-lease']);
const isSystems = ({ metadata: { name, namespace = '' } }: KubeObject): boolean =>
  name === 'kube-root-ca.crt' || namespace.startsWith('kube-');

/** Objects that tests created and that exist now. */
export async function readState(kube: KubeClient): Promise<KubeObject[]> {
  const lists = await Promise.all([...KINDS, namespaces].map((kind) => kube.list(kind as Resource)));
  return lists
    .flatMap(({ items }) => items)
    .filter((object) => !isSystems(object) && !(object.kind === 'Namespace' && isBootstrap(object)));
}

const isBootstrap = ({ metadata }: KubeObject): boolean => SYSTEM_NAMESPACES.has(metadata.name);

const open = new Set<{ close(): Promise<void> }>();
after(async () => {
  await Promise.all([...open].map((client) => client.close()));
});

/** `through` may wrap the connection of each client. */
export async function connectRealServer(
  kubeconfig: string,
  through = (kube: KubeClient & Discovery): KubeClient & Discovery => kube,
): Promise<{ client(user: User): KubeClient & Discovery; adminUser: User }> {
  const config = await loadKubeConfig({ path: kubeconfig, env: {} });
  const ports = { clock: realClock, random: realRandom, log: silentLog };
  const connect = (user?: User): KubeClient & Discovery => {
    const impersonate = user && { user: user.name, groups: user.groups, extra: {} };
    const auth = { ...config.auth, ...(impersonate && { impersonate }) };
    const client = createHttpKubeClient({ ...ports, config: { ...config, auth } });
    open.add(client);
    return client;
  };
  const admin = connect();
  await empty(admin);
  await grant(admin);
  const clients = new Map<string, KubeClient & Discovery>();
  return {
    adminUser: ADMIN,
    client(user) {
      const known = clients.get(user.name);
      if (known !== undefined) return known;
      const made = through(withoutDelays(connect(user === ADMIN ? undefined : user)));
      clients.set(user.name, made);
      return made;
    },
  };
}

/** What our controller needs beyond the role of Kubernetes' own: it reads whether the claim is gone. */
async function grant(kube: KubeClient): Promise<void> {
  const metadata = { name: 'berth:pv-protection-controller' };
  const subject = { kind: 'ServiceAccount', name: 'pv-protection-controller', namespace: 'kube-system' };
  const rules = [{ apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['get', 'list', 'watch'] }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: metadata.name };
  try {
    await kube.create(clusterRoles, { metadata, rules });
    await kube.create(clusterRoleBindings, { metadata, roleRef, subjects: [subject] });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/**
 * What tests get at once on the embedded server: a namespace with its default service account, which a controller
 * creates elsewhere, and a CRD that is served as soon as it is created.
 */
function withoutDelays(kube: KubeClient & Discovery): KubeClient & Discovery {
  return {
    ...kube,
    async create(resource, object, options) {
      const made = await kube.create(resource, object, options);
      if (made.kind === 'Namespace') {
        const metadata = { name: 'default', namespace: made.metadata.name };
        await kube.create(serviceAccounts, { metadata }).catch((error: unknown) => {
          if (!isAlreadyExists(error)) throw error;
        });
      }
      if (made.kind === 'CustomResourceDefinition')
        await served(kube, made as unknown as CustomResourceDefinition);
      return made;
    },
  };
}

async function served(kube: KubeClient, { spec }: CustomResourceDefinition): Promise<void> {
  const { group, names, versions, scope } = spec;
  const version = versions[0]?.name ?? '';
  const resource = {
    group,
    version,
    plural: names.plural,
    kind: names.kind,
    namespaced: scope === 'Namespaced',
  };
  for (;;) {
    try {
      await kube.list(resource, { limit: 1 });
      return;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await setTimeout(20);
    }
  }
}

async function empty(kube: KubeClient): Promise<void> {
  for (;;) {
    const left: Promise<void>[] = [];
    const definitions = await kube.list(customResourceDefinitions);
    for (const object of definitions.items)
      left.push(remove(kube, customResourceDefinitions as Resource, object));
    for (const kind of KINDS) {
      const { items } = await kube.list(kind);
      for (const object of items) if (!isSystems(object)) left.push(remove(kube, kind, object));
    }
    for (const object of (await kube.list(namespaces)).items) {
      if (!isBootstrap(object)) left.push(removeNamespace(kube, object));
    }
    await Promise.all(left);
    if (left.length === 0) break;
    await setTimeout(20);
  }
  await kube.deleteCollection(events, { namespace: 'default' });
}

async function remove(kube: KubeClient, resource: Resource, { metadata }: KubeObject): Promise<void> {
  const { name, namespace, finalizers = [] } = metadata;
  const at = namespace === undefined ? { name } : { name, namespace };
  try {
    await kube.delete(resource, at, { gracePeriodSeconds: 0, propagationPolicy: 'Background' });
    // Finalizers of the server itself are the server's to remove, such as a CRD's, which waits for its objects.
    if (finalizers.length > 0 && resource.plural !== customResourceDefinitions.plural) {
      await kube.patch(resource, at, { metadata: { finalizers: null } }, { type: 'merge' });
    }
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

async function removeNamespace(kube: KubeClient, namespace: KubeObject): Promise<void> {
  const { name } = namespace.metadata;
  try {
    await kube.deleteCollection(serviceAccounts, { namespace: name });
    if (!namespace.metadata.deletionTimestamp) await kube.delete(namespaces, { name });
    const current = await kube.get(namespaces, { name });
    await kube.update(namespaces, { ...current, spec: { finalizers: [] } }, { subresource: 'finalize' });
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}
