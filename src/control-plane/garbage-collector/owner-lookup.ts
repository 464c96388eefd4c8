// Whether an owner exists. A cache is believed when it has the owner; absence is confirmed by the server.

import type { KubeObject, OwnerReference } from '../../api/object.ts';
import { LruMap } from '../../runtime/events/lru-map.ts';
import { ifThere } from '../../runtime/kube/if-there.ts';
import type { KubeClient, ServedResource } from '../../runtime/kube/kube.ts';
import { type OwnerState, waitsForDependents } from './decide-dependent.ts';
import type { GraphObject, ObjectGraph } from './object-graph.ts';

/**
 * A thousand dependents of one owner cause one request. A UID is never reused, so absence may be cached: of the very
 * owner that was asked for, because another reference may give the UID with its right name and kind.
 */
const ABSENT_OWNERS = 1000;

export class OwnerLookup {
  readonly #kube: KubeClient;
  readonly #graph: ObjectGraph;
  readonly #absent = new LruMap<string, true>(ABSENT_OWNERS);

  constructor(ports: { kube: KubeClient; graph: ObjectGraph }) {
    this.#kube = ports.kube;
    this.#graph = ports.graph;
  }

  /** From the caches alone; undefined when they do not have it. */
  cachedState(reference: OwnerReference, dependent: GraphObject): OwnerState | undefined {
    const owner = this.#graph.findByUid(reference.uid);
    const resource = this.#graph.resourceOf(reference);
    if (!owner || owner.resource !== resource || !couldOwn(owner, reference, dependent.object))
      return undefined;
    return waitsForDependents(owner.object) ? 'waiting' : 'present';
  }

  async liveState(
    reference: OwnerReference,
    dependent: GraphObject,
    signal: AbortSignal,
  ): Promise<OwnerState> {
    const resource = this.#graph.resourceOf(reference);
    if (!resource || isOutOfReach(resource, dependent.object)) return 'unknown';
    const { namespace } = dependent.object.metadata;
    const place = resource.namespaced && namespace !== undefined ? { namespace } : {};
    const { apiVersion, kind, name, uid } = reference;
    const remembered = [uid, apiVersion, kind, place.namespace, name].join(' ');
    if (this.#absent.get(remembered)) return 'absent';
    const owner = await ifThere(this.#kube.get(resource, { name, ...place }, { signal }));
    if (owner?.metadata.uid === uid) return waitsForDependents(owner) ? 'waiting' : 'present';
    this.#absent.set(remembered, true);
    return 'absent';
  }

  /** A cluster-scoped object cannot have a namespaced owner: the reference has no namespace. */
  isInvalid(reference: OwnerReference, dependent: GraphObject): boolean {
    const resource = this.#graph.resourceOf(reference);
    return resource !== undefined && isOutOfReach(resource, dependent.object);
  }
}

function isOutOfReach(owner: ServedResource, dependent: KubeObject): boolean {
  return owner.namespaced && dependent.metadata.namespace === undefined;
}

/** The UID alone is not enough: a reference may carry the UID of another object. */
function couldOwn(owner: GraphObject, reference: OwnerReference, dependent: KubeObject): boolean {
  const { name, namespace } = owner.object.metadata;
  return name === reference.name && (namespace === undefined || namespace === dependent.metadata.namespace);
}
