// Discovery: the legacy documents (one per group version) and aggregated discovery (everything in two). Pure functions
// of the registry.

import { apiVersionOf } from '../../api/object.ts';
import type { Kind, Subresource } from '../kind.ts';
import type { KindRegistry } from '../kind-registry.ts';

export type DiscoveryVersion = 'v2' | 'v2beta1';

interface SubresourceDescription {
  /** The kind of the subresource; that of the object when absent. */
  kind?: { group: string; version: string; kind: string };
  verbs: readonly string[];
}

const SUBRESOURCES: Readonly<Record<Exclude<Subresource, ''>, SubresourceDescription>> = {
  approval: { verbs: ['get', 'patch', 'update'] },
  attach: { kind: { group: '', version: 'v1', kind: 'PodAttachOptions' }, verbs: ['create', 'get'] },
  binding: { kind: { group: '', version: 'v1', kind: 'Binding' }, verbs: ['create'] },
  ephemeralcontainers: { verbs: ['get', 'patch', 'update'] },
  eviction: { kind: { group: 'policy', version: 'v1', kind: 'Eviction' }, verbs: ['create'] },
  exec: { kind: { group: '', version: 'v1', kind: 'PodExecOptions' }, verbs: ['create', 'get'] },
  finalize: { verbs: ['update'] },
  log: { verbs: ['get'] },
  portforward: {
    kind: { group: '', version: 'v1', kind: 'PodPortForwardOptions' },
    verbs: ['create', 'get'],
  },
  proxy: {
    kind: { group: '', version: 'v1', kind: 'NodeProxyOptions' },
    verbs: ['create', 'delete', 'get', 'patch', 'update'],
  },
  resize: { verbs: ['get', 'patch', 'update'] },
  scale: { kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' }, verbs: ['get', 'patch', 'update'] },
  status: { verbs: ['get', 'patch', 'update'] },
  token: { kind: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' }, verbs: ['create'] },
};

export function describeSubresource(kind: Kind, subresource: Subresource): Required<SubresourceDescription> {
  const { kind: own, verbs } = SUBRESOURCES[subresource as Exclude<Subresource, ''>];
  return { kind: own ?? { group: kind.group, version: kind.version, kind: kind.kind }, verbs };
}

/** `GET /api`. */
export function coreVersions(serverAddress: string): object {
  return {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  };
}

/** `GET /apis`. */
export function groupList(registry: KindRegistry): object {
  const groups = registry.groupVersions().filter(({ group }) => group !== '');
  return {
    kind: 'APIGroupList',
    apiVersion: 'v1',
    groups: groups.map(({ group, versions }) => groupEntry(group, versions)),
  };
}

/** `GET /apis/GROUP`; undefined when the group does not exist. */
export function groupDocument(registry: KindRegistry, name: string): object | undefined {
  const found = registry.groupVersions().find(({ group }) => group === name && group !== '');
  return found && { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(found.group, found.versions) };
}

function groupEntry(group: string, versions: readonly string[]): object {
  const described = versions.map((version) => ({ groupVersion: `${group}/${version}`, version }));
  return { name: group, versions: described, preferredVersion: described[0] };
}

/** `GET /api/v1` and `GET /apis/GROUP/VERSION`; undefined when nothing is served there. */
export function resourceList(registry: KindRegistry, group: string, version: string): object | undefined {
  const kinds = registry.all().filter((kind) => kind.group === group && kind.version === version);
  if (kinds.length === 0) return undefined;
  return {
    kind: 'APIResourceList',
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: apiVersionOf({ group, version }),
    resources: kinds.flatMap(resourceEntries),
  };
}

function resourceEntries(kind: Kind): object[] {
  const { plural, singular, namespaced, verbs, shortNames, categories } = kind;
  return [
    {
      name: plural,
      singularName: singular,
      namespaced,
      kind: kind.kind,
      verbs,
      ...(shortNames.length > 0 ? { shortNames } : {}),
      ...(categories.length > 0 ? { categories } : {}),
    },
    ...kind.subresources.map((subresource) => {
      const { kind: answer, verbs: possible } = describeSubresource(kind, subresource);
      const foreign = answer.group !== kind.group || answer.version !== kind.version;
      return {
        name: `${plural}/${subresource}`,
        singularName: '',
        namespaced,
        ...(foreign ? { group: answer.group, version: answer.version } : {}),
        kind: answer.kind,
        verbs: possible,
      };
    }),
  ];
}

/** `GET /api` and `GET /apis` in aggregated form: the core group alone, or all the others. */
export function aggregatedDiscovery(
  registry: KindRegistry,
  which: 'core' | 'groups',
  version: DiscoveryVersion,
): object {
  const groups = registry.groupVersions().filter(({ group }) => (group === '') === (which === 'core'));
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map(({ group, versions }) => ({
      metadata: { ...(group === '' ? {} : { name: group }), creationTimestamp: null },
      versions: versions.map((each) => ({
        version: each,
        resources: registry
          .all()
          .filter((kind) => kind.group === group && kind.version === each)
          .map(aggregatedResource),
        freshness: 'Current',
      })),
    })),
  };
}

function aggregatedResource(kind: Kind): object {
  const { group, version, plural, singular, namespaced, verbs, shortNames, categories, subresources } = kind;
  return {
    resource: plural,
    responseKind: { group, version, kind: kind.kind },
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs,
    ...(shortNames.length > 0 ? { shortNames } : {}),
    ...(categories.length > 0 ? { categories } : {}),
    ...(subresources.length > 0
      ? {
          subresources: subresources.map((subresource) => {
            const { kind: responseKind, verbs: possible } = describeSubresource(kind, subresource);
            return { subresource, responseKind, verbs: possible };
          }),
        }
      : {}),
  };
}
