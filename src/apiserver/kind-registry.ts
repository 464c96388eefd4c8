// The registry of served kinds: the built-in table and the kinds of installed CRDs. Holds no other state; parts with
// state per kind subscribe to changes.

import type { CustomResourceDefinition } from '../api/kinds.ts';
import type { Resource } from '../api/object.ts';
import { customKinds } from './crd/custom-kind.ts';
import type { Kind } from './kind.ts';

export interface GroupVersions {
  readonly group: string;
  /** Preferred first. */
  readonly versions: readonly string[];
}

export interface KindChange {
  readonly added: readonly Kind[];
  readonly removed: readonly Kind[];
}

export interface KindRegistry {
  find(group: string, version: string, plural: string): Kind | undefined;
  /** The same by a descriptor. */
  findFor(resource: Resource): Kind | undefined;
  findByKind(group: string, version: string, kind: string): Kind | undefined;
  all(): readonly Kind[];
  /** The core group first, the rest in the order of the table, groups of CRDs last and sorted. */
  groupVersions(): readonly GroupVersions[];
  /** Installs or replaces the kinds of a CRD; only its served versions. Returns the kinds now served. */
  addCustom(crd: CustomResourceDefinition): readonly Kind[];
  removeCustom(crdName: string): void;
  /** Returns a function that ends the subscription. */
  onChange(listener: (change: KindChange) => void): () => void;
}

export function createKindRegistry(builtin: readonly Kind[]): KindRegistry {
  const byPlural = new Map<string, Kind>();
  const byKind = new Map<string, Kind>();
  const custom = new Map<string, readonly Kind[]>();
  const listeners = new Set<(change: KindChange) => void>();
  let everything: readonly Kind[] | undefined;
  let byDescriptor = new WeakMap<Resource, Kind>();

  const keyOf = (group: string, version: string, name: string): string => `${group}/${version}/${name}`;
  const put = (kind: Kind): void => {
    byPlural.set(keyOf(kind.group, kind.version, kind.plural), kind);
    byKind.set(keyOf(kind.group, kind.version, kind.kind), kind);
  };
  const drop = (kind: Kind): void => {
    byPlural.delete(keyOf(kind.group, kind.version, kind.plural));
    byKind.delete(keyOf(kind.group, kind.version, kind.kind));
  };
  const announce = (change: KindChange): void => {
    everything = undefined;
    byDescriptor = new WeakMap();
    for (const listener of [...listeners]) listener(change);
  };
  for (const kind of builtin) put(kind);
  const find = (group: string, version: string, plural: string): Kind | undefined =>
    byPlural.get(keyOf(group, version, plural));

  const all = (): readonly Kind[] => {
    everything ??= [...builtin, ...[...custom.keys()].sort().flatMap((name) => custom.get(name) ?? [])];
    return everything;
  };

  return {
    find,
    findFor(resource) {
      let kind = byDescriptor.get(resource);
      if (kind === undefined) {
        kind = find(resource.group, resource.version, resource.plural);
        if (kind !== undefined) byDescriptor.set(resource, kind);
      }
      return kind;
    },
    findByKind: (group, version, kind) => byKind.get(keyOf(group, version, kind)),
    all,
    groupVersions() {
      const groups = new Map<string, Set<string>>();
      for (const { group, version } of all()) {
        const versions = groups.get(group) ?? new Set();
        groups.set(group, versions.add(version));
      }
      return [...groups].map(([group, versions]) => ({
        group,
        versions: [...versions].sort(compareVersions),
      }));
    },
    addCustom(crd) {
      const name = crd.metadata.name;
      const removed = custom.get(name) ?? [];
      const added = customKinds(crd);
      for (const kind of removed) drop(kind);
      custom.set(name, added);
      for (const kind of added) put(kind);
      announce({ added, removed });
      return added;
    },
    removeCustom(crdName) {
      const removed = custom.get(crdName);
      if (!removed) return;
      for (const kind of removed) drop(kind);
      custom.delete(crdName);
      announce({ added: [], removed });
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Kubernetes' order: stable before beta before alpha, newer first, anything else last by name. */
function compareVersions(a: string, b: string): number {
  const [left, right] = [rank(a), rank(b)];
  if (!left || !right) return left ? -1 : right ? 1 : a < b ? -1 : a > b ? 1 : 0;
  return right.stability - left.stability || right.major - left.major || right.minor - left.minor;
}

function rank(version: string): { stability: number; major: number; minor: number } | undefined {
  const match = /^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$/.exec(version);
  if (!match) return undefined;
  const [, major, level, minor] = match;
  return {
    stability: level === 'alpha' ? 0 : level === 'beta' ? 1 : 2,
    major: Number(major),
    minor: Number(minor ?? 0),
  };
}
