// Which labels a node may set on its own Node: the kubelet's, and topology labels under prefixes that the admin allows.
// Otherwise a compromised node could label itself into any topology and attract other users' volumes and pods.

import { getOwn } from '../../api/own-property.ts';

export const DEFAULT_NODE_LABEL_PREFIXES: readonly string[] = [
  'topology.hostpath.csi.berth/',
  'topology.hostpath.csi/',
];

/** The name of the setting as users know it; error messages repeat it. */
export const NODE_LABEL_PREFIXES_SETTING = '--node-label-prefixes';

const KUBELET_LABELS = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'node.kubernetes.io/instance-type',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'beta.kubernetes.io/instance-type',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
]);
const KUBELET_NAMESPACES = ['kubelet.kubernetes.io', 'node.kubernetes.io'];
/** Reserved for admins: no setting opens it to nodes. */
const RESTRICTED_NAMESPACE = 'node-restriction.kubernetes.io';

type Labels = Readonly<Record<string, string>> | undefined;

const isWithin = (namespace: string, parent: string) =>
  namespace === parent || namespace.endsWith(`.${parent}`);

function isNodeLabelAllowed(key: string, prefixes: readonly string[]): boolean {
  const slash = key.indexOf('/');
  const namespace = slash < 0 ? '' : key.slice(0, slash);
  if (isWithin(namespace, RESTRICTED_NAMESPACE)) return false;
  if (KUBELET_LABELS.has(key) || KUBELET_NAMESPACES.some((each) => isWithin(namespace, each))) return true;
  return prefixes.some((prefix) => prefix !== '' && key.startsWith(prefix));
}

/** Labels added, changed or removed between the two that a node may not set, sorted. */
export function forbiddenLabelChanges(next: Labels, current: Labels, prefixes: readonly string[]): string[] {
  const keys = new Set([...Object.keys(next ?? {}), ...Object.keys(current ?? {})]);
  return [...keys]
    .filter((key) => getOwn(next, key) !== getOwn(current, key) && !isNodeLabelAllowed(key, prefixes))
    .sort();
}
