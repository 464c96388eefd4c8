// Volumes of a pod that are not CSI. This node runs no containers and mounts none of them, but a pod that a kubelet
// would not start must not become Running: it waits for a missing ConfigMap or Secret, and a kind with external data
// (nfs, iscsi, …) is an error, because nothing is mounted.

import { configMaps, type Pod, type PodVolume, secrets } from '../../api/kinds.ts';
import type { KubeObject, Resource } from '../../api/object.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isForbidden, isNotFound } from '../../runtime/kube/kube-error.ts';

/** Kinds that a kubelet creates on the node, empty or from API objects. */
const MADE_ON_THE_NODE = new Set([
  'configMap',
  'secret',
  'projected',
  'downwardAPI',
  'emptyDir',
  'hostPath',
  'image',
]);

interface Reference {
  name?: string | undefined;
  optional?: boolean | undefined;
  items?: readonly { key: string }[] | undefined;
}

/** Why the pod has to wait, with the kubelet's message if it has one; undefined if it need not. */
export async function otherVolumeProblem(
  kube: Pick<KubeClient, 'get'>,
  pod: Pod,
  volume: PodVolume,
  signal: AbortSignal,
): Promise<string | undefined> {
  const kind = Object.keys(volume).find((key) => key !== 'name');
  if (kind !== undefined && !MADE_ON_THE_NODE.has(kind))
    return `this node mounts no ${kind} volumes, only those of CSI drivers`;
  const namespace = pod.metadata.namespace ?? '';
  const { configMap, secret, projected } = volume;
  const references: [Content, Reference][] = [
    ...(configMap ? [[CONFIG_MAP, configMap] as [Content, Reference]] : []),
    ...(secret ? [[SECRET, { ...secret, name: secret.secretName }] as [Content, Reference]] : []),
    ...(projected?.sources ?? []).flatMap((source): [Content, Reference][] => [
      // The cluster's CA certificate: the API server adds it to every pod.
      ...(source.configMap && source.configMap.name !== 'kube-root-ca.crt'
        ? [[CONFIG_MAP, source.configMap] as [Content, Reference]]
        : []),
      ...(source.secret ? [[SECRET, source.secret] as [Content, Reference]] : []),
    ]),
  ];
  for (const [content, reference] of references) {
    const problem = await missing(kube, content, { ...reference, namespace }, signal);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

type WithData = KubeObject & { data?: object; binaryData?: object };

interface Content {
  resource: Resource<WithData>;
  kind: string;
  noKey: string;
}

const CONFIG_MAP: Content = {
  resource: configMaps as Resource<WithData>,
  kind: 'configmap',
  noKey: 'configmap references non-existent config key',
};
const SECRET: Content = {
  resource: secrets as Resource<WithData>,
  kind: 'secret',
  noKey: 'references non-existent secret key',
};

async function missing(
  kube: Pick<KubeClient, 'get'>,
  { resource, kind, noKey }: Content,
  { name = '', namespace, optional, items = [] }: Reference & { namespace: string },
  signal: AbortSignal,
): Promise<string | undefined> {
  if (optional) return undefined;
  try {
    const { data, binaryData } = await kube.get(resource, { name, namespace }, { signal });
    const absent = items.find(({ key }) => !Object.hasOwn({ ...data, ...binaryData }, key));
    return absent && `${noKey}: ${absent.key}`;
  } catch (error) {
    // For a node, "forbidden" can also mean that the object does not exist.
    if (isNotFound(error) || isForbidden(error)) return `${kind} "${name}" not found`;
    throw error;
  }
}
