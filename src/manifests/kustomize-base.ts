// A Kustomize base: the plain manifests, a file for each part, and the list of them. Pure.

import { stringify } from 'yaml';
import type { Manifest } from './plan.ts';

/** By path. Overlays set images, replicas, namespace and patches. */
export function kustomizeBase(parts: Readonly<Record<string, readonly Manifest[]>>): Record<string, string> {
  const files = Object.entries(parts).filter(([, objects]) => objects.length > 0);
  const resources = files.map(([name]) => `${name}.yaml`);
  return {
    'kustomization.yaml': stringify({
      apiVersion: 'kustomize.config.k8s.io/v1beta1',
      kind: 'Kustomization',
      resources,
    }),
    ...Object.fromEntries(files.map(([name, objects]) => [`${name}.yaml`, manifestsText(objects)])),
  };
}

/** As `kubectl apply` reads it. */
export const manifestsText = (manifests: readonly Manifest[]): string =>
  manifests
    .map((manifest) => stringify(manifest, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join('---\n');
