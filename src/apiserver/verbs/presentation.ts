// How a kind is stored, and how a stored object is converted to another view: custom kinds have one storage version for
// all their versions, and some kinds (events.k8s.io) are views of another kind's objects.

import { apiVersionOf, type KubeObject, type Resource } from '../../api/object.ts';
import type { Kind } from '../kind.ts';
import { Version } from '../storage/version.ts';

/** The name of the kind's collection in the store: kinds that share it are views of the same objects. */
export function storageTypeOf(kind: Resource & Pick<Kind, 'storedAs'>): string {
  let type = types.get(kind);
  if (type === undefined) {
    const { group, plural } = kind.storedAs?.resource ?? kind;
    type = group === '' ? plural : `${plural}.${group}`;
    types.set(kind, type);
  }
  return type;
}

/** Cached: used several times per request. */
const types = new WeakMap<Resource, string>();

const views = new WeakMap<Version, Map<string, Version>>();

/** The version as this kind presents it: itself, or a cached converted copy. */
export function present(version: Version, kind: Kind): Version {
  if (version.isOf(apiVersionOf(kind))) return version;
  let ofVersion = views.get(version);
  if (ofVersion === undefined) {
    ofVersion = new Map();
    views.set(version, ofVersion);
  }
  let view = ofVersion.get(apiVersionOf(kind));
  if (view === undefined) {
    const stored = version.copy();
    const object = ordered(kind.storedAs?.fromStored(stored) ?? stored, kind);
    view = new Version({ key: version.key, revision: version.revision, object, freeze: false });
    ofVersion.set(apiVersionOf(kind), view);
  }
  return view;
}

/** The stored form of a private object of this kind. */
export function toStored(object: KubeObject, kind: Kind): KubeObject {
  if (kind.storedAs === undefined) return ordered(object, kind);
  return ordered(kind.storedAs.toStored(object), kind.storedAs.resource);
}

function isOrdered(object: KubeObject): boolean {
  let at = 0;
  for (const key in object) {
    if (key !== FIRST[at]) return false;
    if (++at === FIRST.length) return true;
  }
  return false;
}

const FIRST = ['apiVersion', 'kind', 'metadata'];

/** apiVersion, kind and metadata first, as users expect and `present` relies on. */
function ordered(object: KubeObject, kind: Resource): KubeObject {
  if (isOrdered(object) && object.apiVersion === apiVersionOf(kind)) return object;
  const { apiVersion: _a, kind: _k, metadata, ...rest } = object;
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata, ...rest };
}
