// The served resources, for components in the same process: each kind once, in the version that discovery prefers.

import type { ServedResource } from '../../runtime/kube/kube.ts';
import type { Kind } from '../kind.ts';
import type { KindRegistry } from '../kind-registry.ts';

/** Keyed by the list of kinds, which is replaced whenever a kind is added or removed. */
const answers = new WeakMap<readonly Kind[], readonly ServedResource[]>();

export function servedResources(registry: KindRegistry): readonly ServedResource[] {
  const kinds = registry.all();
  let answer = answers.get(kinds);
  if (answer === undefined) {
    answer = preferred(registry);
    answers.set(kinds, answer);
  }
  return answer;
}

function preferred(registry: KindRegistry): ServedResource[] {
  const byGroupVersion = Map.groupBy(registry.all(), ({ group, version }) => `${group}/${version}`);
  const served = new Map<string, ServedResource>();
  for (const { group, versions } of registry.groupVersions()) {
    for (const each of versions) {
      for (const found of byGroupVersion.get(`${group}/${each}`) ?? []) {
        const { version, plural, kind, namespaced, verbs, singular, shortNames } = found;
        if (served.has(`${group}/${plural}`)) continue;
        const names = { singular, ...(shortNames.length > 0 && { shortNames }) };
        served.set(`${group}/${plural}`, { group, version, plural, kind, namespaced, verbs, ...names });
      }
    }
  }
  return [...served.values()];
}
