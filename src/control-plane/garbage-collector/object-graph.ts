// The graph of owners: metadata caches of every kind that the server serves, indexed by owner and by UID. Follows
// discovery, so CRDs that are installed later are included. Reads only.

import type { KubeObject, OwnerReference } from '../../api/object.ts';
import { keyOf } from '../../api/object.ts';
import type { Informer, Informers } from '../../runtime/informer/informer.ts';
import type { Discovery, ServedResource } from '../../runtime/kube/kube.ts';
import { untilAborted } from '../../runtime/time/until-aborted.ts';

/** A node of the graph: the object's resource and its metadata. */
export interface GraphObject {
  readonly resource: ServedResource;
  readonly object: KubeObject;
}

export interface GraphListener {
  changed(before: GraphObject | undefined, after: GraphObject): void;
  deleted(last: GraphObject): void;
}

interface Followed {
  readonly resource: ServedResource;
  readonly informer: Informer<KubeObject>;
}

const BY_OWNER = 'graph/owner';
const BY_UID = 'graph/uid';
const ownerUids = ({ metadata }: KubeObject): string[] =>
  (metadata.ownerReferences ?? []).map(({ uid }) => uid);
const ownUid = ({ metadata }: KubeObject): string[] => [metadata.uid];

/** Metadata is all that ownership needs; whole objects of every kind would take much memory. */
function metadataOnly({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const { deletionTimestamp, finalizers, ownerReferences } = metadata;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      uid,
      resourceVersion,
      creationTimestamp,
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      ...(finalizers !== undefined && { finalizers }),
      ...(ownerReferences !== undefined && { ownerReferences }),
    },
  };
}

export class ObjectGraph {
  readonly #informers: Informers;
  readonly #discovery: Discovery;
  readonly #listener: GraphListener;
  readonly #followed = new Set<Informer<KubeObject>>();
  #served = new Map<string, Followed>();
  #byKind = new Map<string, ServedResource>();

  constructor(ports: { informers: Informers; discovery: Discovery; listener: GraphListener }) {
    this.#informers = ports.informers;
    this.#discovery = ports.discovery;
    this.#listener = ports.listener;
  }

  /** Runs discovery and follows its result. Returns the groups whose discovery failed. */
  async refresh(signal: AbortSignal): Promise<readonly string[]> {
    const { resources, unknown } = await this.#discovery.servedResources({ signal });
    const served: Map<string, Followed> = new Map();
    for (const resource of resources.filter(isCollectable)) {
      const informer = this.#informers.of(resource, { trim: metadataOnly, optional: true });
      served.set(typeKey(resource), { resource, informer });
    }
    // A group whose discovery failed is kept: it may be back at the next attempt.
    for (const [key, entry] of this.#served) {
      const { group, version } = entry.resource;
      if (unknown.includes(`${group}/${version}`) && !served.has(key)) served.set(key, entry);
    }
    this.#served = served;
    this.#byKind = new Map(
      [...served.values()].map(({ resource }) => [`${resource.group}/${resource.kind}`, resource]),
    );
    for (const { resource, informer } of served.values()) this.#follow(resource, informer);
    return unknown;
  }

  /** Whether the caches of all kinds are synced: only then can an object be known to have no dependents. */
  get hasSynced(): boolean {
    return [...this.#served.values()].every(({ informer }) => informer.hasSynced);
  }

  async synced(signal?: AbortSignal): Promise<void> {
    await Promise.all([...this.#served.values()].map(({ informer }) => informer.synced(signal)));
  }

  /** Lists every kind again, because a watch may be silent: then the graph shows at least what the server had at the call. */
  async listAgain(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const lists = [...this.#served.values()].map(({ informer }) => informer.refresh());
    await untilAborted(Promise.all(lists), signal);
  }

  find(key: string): GraphObject | undefined {
    const space = key.indexOf(' ');
    const entry = this.#served.get(key.slice(0, space));
    const object = entry?.informer.get(key.slice(space + 1));
    return entry && object && { resource: entry.resource, object };
  }

  findByUid(uid: string): GraphObject | undefined {
    return this.#lookUp(BY_UID, uid)[0];
  }

  dependentsOf(uid: string): GraphObject[] {
    return this.#lookUp(BY_OWNER, uid);
  }

  /** The resource of the kind that a reference names, in whatever version. */
  resourceOf({ apiVersion, kind }: Pick<OwnerReference, 'apiVersion' | 'kind'>): ServedResource | undefined {
    const slash = apiVersion.indexOf('/');
    return this.#byKind.get(`${slash < 0 ? '' : apiVersion.slice(0, slash)}/${kind}`);
  }

  #lookUp(index: string, value: string): GraphObject[] {
    const found: GraphObject[] = [];
    for (const { resource, informer } of this.#served.values()) {
      for (const object of informer.byIndex(index, value)) found.push({ resource, object });
    }
    return found;
  }

  #follow(resource: ServedResource, informer: Informer<KubeObject>): void {
    if (this.#followed.has(informer)) return;
    this.#followed.add(informer);
    informer.addIndex(BY_OWNER, ownerUids);
    informer.addIndex(BY_UID, ownUid);
    informer.subscribe({
      added: (object) => this.#listener.changed(undefined, { resource, object }),
      updated: (before, after) =>
        this.#listener.changed({ resource, object: before }, { resource, object: after }),
      deleted: (object) => this.#listener.deleted({ resource, object }),
    });
  }
}

/** An object's key in the collector's queue. */
export function graphKey({ resource, object }: GraphObject): string {
  return `${typeKey(resource)} ${keyOf(object)}`;
}

function typeKey({ group, plural }: ServedResource): string {
  return `${plural}.${group}`;
}

/** Events have no owners, are numerous, and expire. */
function isCollectable({ plural, group, verbs }: ServedResource): boolean {
  if (plural === 'events' && (group === '' || group === 'events.k8s.io')) return false;
  return ['list', 'watch', 'delete'].every((verb) => verbs.includes(verb));
}
