// Writes to a part of a pod, `ephemeralcontainers` and `resize`: whatever else the client sends stays as it was.

import { copyJson } from '../patch/json.ts';
import { restore } from './define-kind.ts';
import { ensureMap, type Loose, mapOf, mapsOf } from './loose.ts';

/** In place on `next`, as `prepareForUpdate` wants it. */
export function keepOnlyEphemeralContainers(next: Loose, current: Loose): void {
  const containers = mapOf(next.spec)?.ephemeralContainers;
  restoreAll(next, current);
  const spec = ensureMap(next, 'spec');
  if (containers === undefined) delete spec.ephemeralContainers;
  else spec.ephemeralContainers = containers;
}

/** The resources of each container that is there already. */
export function keepOnlyResources(next: Loose, current: Loose): void {
  const asked = mapOf(next.spec) ?? {};
  const resources = new Map(
    ['containers', 'initContainers'].flatMap((list) =>
      mapsOf(asked[list]).map(({ name, resources: wanted }) => [`${list}/${name}`, wanted] as const),
    ),
  );
  restoreAll(next, current);
  const spec = ensureMap(next, 'spec');
  for (const list of ['containers', 'initContainers']) {
    if (spec[list] === undefined) continue;
    spec[list] = mapsOf(spec[list]).map((container) => {
      const wanted = resources.get(`${list}/${container.name}`);
      return wanted === undefined ? container : { ...container, resources: copyJson(wanted) };
    });
  }
}

function restoreAll(next: Loose, current: Loose): void {
  for (const field of ['spec', 'status']) restore(next, current, field);
  for (const field of ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const) {
    const value = current.metadata[field];
    if (value === undefined) delete next.metadata[field];
    else (next.metadata as Record<typeof field, unknown>)[field] = copyJson(value);
  }
}
