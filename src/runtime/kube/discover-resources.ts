// Reads what a server serves from its discovery documents: the core group, the list of groups, then one document for
// each group version. A group whose server is down (an aggregated API) leaves the others readable.

import type { ServedResource, ServedResources } from './kube.ts';
import { KubeError } from './kube-error.ts';

interface ResourceList {
  resources?: {
    name: string;
    kind: string;
    namespaced: boolean;
    verbs?: string[];
    singularName?: string;
    shortNames?: string[];
  }[];
}
interface GroupList {
  groups?: {
    name: string;
    preferredVersion?: { version: string };
    versions?: { version: string }[];
  }[];
}

export async function discoverResources(get: <T>(path: string) => Promise<T>): Promise<ServedResources> {
  const { groups = [] } = await get<GroupList>('/apis');
  const described = await Promise.all([
    describe(get, { group: '', versions: ['v1'] }),
    ...groups.map(({ name, versions = [], preferredVersion }) => {
      const others = versions.map(({ version }) => version);
      const first = preferredVersion?.version;
      return describe(get, { group: name, versions: first ? [...new Set([first, ...others])] : others });
    }),
  ]);
  return {
    resources: described.flatMap(({ resources }) => resources),
    unknown: described.flatMap(({ unknown }) => unknown),
  };
}

/** A kind that several versions serve counts in the first of them. */
async function describe(
  get: <T>(path: string) => Promise<T>,
  { group, versions }: { group: string; versions: string[] },
): Promise<ServedResources> {
  const resources = new Map<string, ServedResource>();
  const unknown: string[] = [];
  const documents = await Promise.all(
    versions.map((version) =>
      get<ResourceList>(group === '' ? `/api/${version}` : `/apis/${group}/${version}`).catch(serverError),
    ),
  );
  for (const [index, document] of documents.entries()) {
    const version = versions[index] ?? '';
    if (document === undefined) unknown.push(`${group}/${version}`);
    for (const { name, kind, namespaced, verbs = [], singularName, shortNames } of document?.resources ??
      []) {
      // Subresources are listed beside the kinds, as `plural/name`.
      if (name.includes('/') || resources.has(name)) continue;
      const names = { ...(singularName && { singular: singularName }), ...(shortNames && { shortNames }) };
      resources.set(name, { group, version, plural: name, kind, namespaced, verbs, ...names });
    }
  }
  return { resources: [...resources.values()], unknown };
}

/** The server answered that it cannot say; anything else (no answer at all, no right to ask) is the caller's problem. */
function serverError(error: unknown): undefined {
  if (error instanceof KubeError && (error.code >= 500 || error.code === 404)) return undefined;
  throw error;
}
