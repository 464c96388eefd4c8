// The Kubernetes port over HTTP: each verb as one request, lists in pages, watches as streams. What happens to a
// request on its way is in requester.ts, to a watch in open-watch.ts. Holds connections, nothing else.

import {
  apiVersionOf,
  type Draft,
  type KubeObject,
  type Metadata,
  type ObjectName,
  type Resource,
} from '../../api/object.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Clock, Log, Random } from '../ports.ts';
import type { ObjectType } from './brief-writes.ts';
import { clientMetrics } from './client-metrics.ts';
import { CredentialSource } from './credentials.ts';
import { discoverResources } from './discover-resources.ts';
import { createHttpTransport, type TransportOptions } from './http-transport.ts';
import type {
  CallOptions,
  DeleteOptions,
  Discovery,
  KubeClient,
  PatchType,
  Selection,
  WatchOptions,
  WriteOptions,
} from './kube.ts';
import type { KubeConfig } from './kube-config.ts';
import { Limiter } from './limiter.ts';
import { listAll, listPage } from './list-pages.ts';
import { openWatch } from './open-watch.ts';
import { collectionPath, createPath, objectPath, type Query, withQuery } from './request-path.ts';
import { type KubeRequest, Requester } from './requester.ts';
import { SimilarObjects } from './similar-objects.ts';

export interface HttpKubeClientOptions {
  config: KubeConfig;
  clock: Clock;
  random: Random;
  log: Log;
  metrics?: Metrics;
  /** `--kube-api-qps` and `--kube-api-burst`; without them the client adapts to the server. */
  qps?: number;
  burst?: number;
  userAgent?: string;
  /** Called right before a write is sent: it throws when this process must not write any more. */
  beforeWrite?: () => void;
  timeouts?: Pick<TransportOptions, 'connectTimeoutMs' | 'headersTimeoutMs' | 'bodyTimeoutMs'>;
}

export interface HttpKubeClient extends KubeClient, Discovery {
  /** A list as the server would print it: columns and cells instead of objects. */
  table(resource: Resource, options?: TableOptions): Promise<KubeTable>;
  /** Breaks off what is under way and closes all connections. */
  close(): Promise<void>;
}

export interface TableOptions extends CallOptions, Selection {
  /** One object instead of all. */
  name?: string;
}

/** `meta.k8s.io/v1` Table. */
export interface KubeTable {
  columnDefinitions: { name: string; type: string; priority?: number }[];
  rows: { cells: unknown[]; object: { metadata: Metadata } }[];
}

/** A watch must end some time, or a connection that died silently would never be noticed. */
const WATCH_MIN_SECONDS = 300;

const PATCH_CONTENT_TYPES: Readonly<Record<PatchType, string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
};

export function createHttpKubeClient(options: HttpKubeClientOptions): HttpKubeClient {
  const { config, clock, random, log } = options;
  const url = new URL(config.server);
  const transport = createHttpTransport({ origin: url.origin, tls: config.tls, ...options.timeouts });
  const requester = new Requester({
    transport,
    credentials: new CredentialSource({ config, clock }),
    limiter: new Limiter({
      clock,
      ...(options.qps === undefined ? {} : { qps: options.qps }),
      ...(options.burst === undefined ? {} : { burst: options.burst }),
    }),
    clock,
    random,
    log,
    ...(options.metrics === undefined ? {} : { metrics: clientMetrics(options.metrics) }),
    host: url.host,
    source: config.source,
    basePath: url.pathname.replace(/\/+$/, ''),
    userAgent: options.userAgent ?? 'berth',
    beforeWrite: options.beforeWrite,
  });

  const similar = new SimilarObjects(clock);

  async function send<T>(request: KubeRequest): Promise<T> {
    return (await requester.send(request)) as T;
  }

  return {
    async get(resource, name, { signal } = {}) {
      const path = objectPath(resource, name);
      return send({ method: 'GET', path, kind: 'read', repeatable: true, ...withSignal(signal) });
    },

    async list(resource, given = {}) {
      return given.limit === undefined && !given.continue
        ? listAll(send, resource, given)
        : listPage(send, resource, given, (body) => similar.readList(resource, body));
    },

    watch<T extends KubeObject>(resource: Resource<T>, given: WatchOptions = {}) {
      const timeoutSeconds = given.timeoutSeconds ?? WATCH_MIN_SECONDS + random.int(WATCH_MIN_SECONDS);
      const path = withQuery(collectionPath(resource, given.namespace), {
        watch: true,
        labelSelector: given.labelSelector,
        fieldSelector: given.fieldSelector,
        resourceVersion: given.resourceVersion,
        allowWatchBookmarks: given.allowBookmarks || given.sendInitialEvents,
        sendInitialEvents: given.sendInitialEvents,
        // Servers that do not know streaming lists refuse this rather than ignore it.
        resourceVersionMatch: given.sendInitialEvents ? 'NotOlderThan' : undefined,
        timeoutSeconds,
      });
      return openWatch<T>({
        requester,
        clock,
        request: { method: 'GET', path, kind: 'list', repeatable: false, ...withSignal(given.signal) },
        timeoutSeconds,
        type: typeOf(resource),
        similar: given.withoutManagedFields ? similar.inWatchOf(resource) : undefined,
      });
    },

    async create(resource, object, given = {}) {
      const path =
        given.subresource === undefined
          ? createPath(resource, object.metadata.namespace)
          : objectPath(resource, nameOf(object), given.subresource);
      return send({
        method: 'POST',
        path: withQuery(path, writeQuery(given)),
        kind: 'write',
        body: withType(resource, object),
        repeatable: false,
        ...(given.brief && { brief: { sent: typeOf(resource) } }),
        ...withSignal(given.signal),
      });
    },

    async update(resource, object, given = {}) {
      return send({
        method: 'PUT',
        path: withQuery(objectPath(resource, nameOf(object), given.subresource), writeQuery(given)),
        kind: 'write',
        body: withType(resource, object),
        repeatable: true,
        ...(given.brief && { brief: { sent: typeOf(resource) } }),
        ...withSignal(given.signal),
      });
    },

    async patch(resource, name, patch, given) {
      return send({
        method: 'PATCH',
        path: withQuery(objectPath(resource, name, given.subresource), {
          ...writeQuery(given),
          force: given.force,
        }),
        kind: 'write',
        body: patch,
        contentType: PATCH_CONTENT_TYPES[given.type],
        ...(given.known && { brief: { known: given.known } }),
        repeatable: given.type === 'merge' || given.type === 'apply',
        ...withSignal(given.signal),
      });
    },

    async delete(resource, name, given = {}) {
      await send({
        method: 'DELETE',
        path: objectPath(resource, name),
        kind: 'write',
        body: deleteBody(given),
        repeatable: true,
        ...withSignal(given.signal),
      });
    },

    async deleteCollection(resource, { namespace, ...selection }, given = {}) {
      await send({
        method: 'DELETE',
        path: withQuery(collectionPath(resource, namespace), { ...selection }),
        kind: 'list',
        body: deleteBody(given),
        repeatable: true,
        ...withSignal(given.signal),
      });
    },

    async createSubresource(resource, name, subresource, body, given = {}) {
      return send({
        method: 'POST',
        path: withQuery(objectPath(resource, name, subresource), writeQuery(given)),
        kind: 'write',
        body,
        repeatable: false,
        ...withSignal(given.signal),
      });
    },

    async servedResources({ signal } = {}) {
      return discoverResources((path) =>
        send({ method: 'GET', path, kind: 'read', repeatable: true, ...withSignal(signal) }),
      );
    },

    async table(resource, { name, namespace, labelSelector, fieldSelector, signal } = {}) {
      const at = { ...(namespace === undefined ? {} : { namespace }), name: name ?? '' };
      const path =
        name === undefined
          ? withQuery(collectionPath(resource, namespace), { labelSelector, fieldSelector })
          : objectPath(resource, at);
      return send({
        method: 'GET',
        path,
        kind: name === undefined ? 'list' : 'read',
        repeatable: true,
        accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json',
        ...withSignal(signal),
      });
    },

    close: () => transport.close(),
  };
}

function withSignal(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}

function nameOf<T extends KubeObject>(object: Draft<T>): ObjectName {
  const { name = '', namespace } = object.metadata;
  return namespace === undefined ? { name } : { name, namespace };
}

function typeOf(resource: Resource): ObjectType {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind };
}

function withType<T extends KubeObject>(resource: Resource<T>, object: Draft<T>): Draft<T> {
  return { ...object, ...typeOf(resource) };
}

function writeQuery(options: WriteOptions): Query {
  return {
    fieldManager: options.fieldManager,
    dryRun: options.dryRun ? 'All' : undefined,
    // Without it a server decodes what it is sent a second time, strictly, to warn of fields it does not know. Our
    // components send fields of types; whoever sends what a user wrote asks for more.
    fieldValidation: options.fieldValidation ?? 'Ignore',
  };
}

function deleteBody(options: DeleteOptions): object {
  return {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    ...(options.preconditions === undefined ? {} : { preconditions: options.preconditions }),
    ...(options.gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds: options.gracePeriodSeconds }),
    ...(options.propagationPolicy === undefined ? {} : { propagationPolicy: options.propagationPolicy }),
    ...(options.dryRun ? { dryRun: ['All'] } : {}),
  };
}
