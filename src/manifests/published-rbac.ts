// The published RBAC roles of the sidecars and the dashboard: deploy/rbac/*.yaml is the only source. Clusters apply
// them; the embedded server runs the same components with the same accounts and roles, read from here.

import { readFile } from 'node:fs/promises';
import type { Draft, KubeObject } from '../api/object.ts';

export const RBAC_COMPONENTS = [
  'provisioner',
  'attacher',
  'resizer',
  'snapshotter',
  'health-monitor',
  'snapshot-metadata',
  'snapshot-controller',
  'data-source-validator',
  'cluster-registrar',
  'dashboard',
  'audit',
] as const;
export type RbacComponent = (typeof RBAC_COMPONENTS)[number];

/** The service account of each component; node-registrar and livenessprobe do not use the API. */
export const COMPONENT_ACCOUNTS: Readonly<Record<RbacComponent, string>> = {
  provisioner: 'csi-provisioner',
  attacher: 'csi-attacher',
  resizer: 'csi-resizer',
  snapshotter: 'csi-snapshotter',
  'health-monitor': 'csi-external-health-monitor-controller',
  'snapshot-metadata': 'csi-snapshot-metadata',
  'snapshot-controller': 'snapshot-controller',
  'data-source-validator': 'volume-data-source-validator',
  'cluster-registrar': 'csi-cluster-driver-registrar',
  dashboard: 'berth-dashboard',
  audit: 'berth-audit',
};

/** The placeholders in the files. */
const FILE_NAMESPACE = 'kube-system';
const FILE_SECRETS_NAMESPACE = 'csi-secrets';

export interface PublishedRbacOptions {
  components?: readonly RbacComponent[];
  /** The namespace of the sidecars. */
  namespace?: string;
  /** The Secrets they may read: none, all, or those of one namespace. */
  secrets?: 'none' | 'everywhere' | { namespace: string };
  /** One account for all sidecars, for those that run in one process. */
  serviceAccount?: string;
  /** Suffix of role and binding names, so that several drivers can be installed and removed independently. */
  suffix?: string;
}

interface RbacObject extends Draft<KubeObject> {
  kind: string;
  subjects?: { kind: string; name: string; namespace?: string }[];
  roleRef?: { apiGroup: string; kind: string; name: string };
}

const directory = new URL('../../deploy/rbac/', import.meta.url);

async function readObjects(file: string): Promise<RbacObject[]> {
  const [{ parseAllDocuments }, text] = await Promise.all([
    // Loaded only for deployments: starting the server does not need it.
    import('yaml'),
    readFile(new URL(`${file}.yaml`, directory), 'utf8'),
  ]);
  const documents = parseAllDocuments(text);
  if (!Array.isArray(documents)) return [];
  return documents
    .map((document) => document.toJS() as RbacObject | null)
    .filter((object) => object !== null);
}

export async function publishedRbac(options: PublishedRbacOptions = {}): Promise<Draft<KubeObject>[]> {
  const {
    components = RBAC_COMPONENTS,
    namespace = FILE_NAMESPACE,
    secrets = 'everywhere',
    serviceAccount,
    suffix = '',
  } = options;
  const secretsFile =
    secrets === 'none' ? [] : [secrets === 'everywhere' ? 'secrets-everywhere' : 'secrets-one-namespace'];
  const files = await Promise.all([...components, ...secretsFile].map(readObjects));
  const accounts = new Set<string>(components.map((component) => COMPONENT_ACCOUNTS[component]));
  const placeOf = (given: string | undefined) => {
    if (given === FILE_NAMESPACE) return namespace;
    return given === FILE_SECRETS_NAMESPACE && typeof secrets === 'object' ? secrets.namespace : given;
  };

  const own = (name: string) => (suffix ? `${name}-${suffix}` : name);

  const made = new Map<string, RbacObject>();
  for (const object of files.flat()) {
    const { kind, metadata, subjects, roleRef } = object;
    const given = metadata.name ?? '';
    const name = kind === 'ServiceAccount' ? (serviceAccount ?? given) : own(given);
    const place = placeOf(metadata.namespace);
    const placed: RbacObject = {
      ...object,
      metadata: { ...metadata, name, ...(place === undefined ? {} : { namespace: place }) },
      ...(roleRef && { roleRef: { ...roleRef, name: own(roleRef.name) } }),
    };
    if (subjects) {
      const kept = subjects.filter((subject) => accounts.has(subject.name));
      if (kept.length === 0) continue;
      const moved = kept.map((subject) => ({ ...subject, name: serviceAccount ?? subject.name, namespace }));
      placed.subjects = serviceAccount ? moved.slice(0, 1) : moved;
    }
    made.set(`${kind} ${place}/${name}`, placed);
  }
  return [...made.values()];
}
