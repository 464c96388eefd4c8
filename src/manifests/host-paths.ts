// Directories of the host in a pod. Those that the user adds are for the driver's container, at the same path. Pure.

import type { Volume, VolumeMount } from 'kubernetes-types/core/v1.js';

export const hostPathVolume = (name: string, path: string, type?: string): Volume => ({
  name,
  hostPath: { path, ...(type && { type }) },
});

const addedName = (index: number): string => `host-path-${index + 1}`;

export const addedVolumes = (paths: readonly string[]): Volume[] =>
  paths.map((path, index) => hostPathVolume(addedName(index), path));

export const addedMounts = (paths: readonly string[]): VolumeMount[] =>
  paths.map((path, index) => ({ name: addedName(index), mountPath: path }));
