// What the server serves, for components in the same process: each kind once, in the version that discovery prefers.

import type { ServedResource } from '../../runtime/kube.ts';
import type { KindRegistry } from '../kind-registry.ts';

export function servedResources(registry: KindRegistry): ServedResource[] {
  const served = new Map<string, ServedResource>();
  for (const { group, versions } of registry.groupVersions()) {
    for (const preferred of versions) {
      for (const { version, plural, kind, namespaced, verbs, ...each } of registry.all()) {
        if (each.group !== group || version !== preferred || served.has(`${group}/${plural}`)) continue;
        const { singular, shortNames } = each;
        const names = { singular, ...(shortNames.length > 0 && { shortNames }) };
        served.set(`${group}/${plural}`, { group, version, plural, kind, namespaced, verbs, ...names });
      }
    }
  }
  return [...served.values()];
}
