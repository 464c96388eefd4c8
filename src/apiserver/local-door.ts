// The door for components in the same process: the Kubernetes port straight onto the verbs, under the component's own
// identity, through the same authorization and admission as HTTPS. Objects handed out are the store's own: shared,
// never to be changed.

import type { Draft, KubeObject, ObjectName, Resource } from '../api/object.ts';
import type {
  CallOptions,
  DeleteOptions,
  Discovery,
  KubeClient,
  KubeList,
  ListOptions,
  PatchOptions,
  Selection,
  WatchOptions,
  WriteOptions,
} from '../runtime/kube/kube.ts';
import { servedResources } from './discovery/served-resources.ts';
import type { Subresource } from './kind.ts';
import { LocalWatch } from './local-watch.ts';
import type { User } from './pipeline.ts';
import { present, storageTypeOf } from './verbs/presentation.ts';
import { get } from './verbs/read/get.ts';
import { list } from './verbs/read/list.ts';
import {
  copyOf,
  copyUnlessStored,
  keyFor,
  type Machine,
  type ResourceRequest,
  type WriteAnswer,
  type WriteRequest,
} from './verbs/request.ts';
import { badRequest, methodNotAllowed, noSuchPath, notFound } from './verbs/status.ts';
import { createSubresource, createVirtual } from './verbs/subresources/create-subresource.ts';
import { patchScale, updateScale } from './verbs/subresources/scale.ts';
import { create } from './verbs/write/create.ts';
import { deleteOne } from './verbs/write/delete.ts';
import { deleteCollection } from './verbs/write/delete-collection.ts';
import { patch } from './verbs/write/patch.ts';
import { update } from './verbs/write/update.ts';

export function createLocalClient(machine: Machine, user: User): KubeClient & Discovery {
  const { registry } = machine;
  const warn = (message: string): void =>
    machine.log.v(4).info('API warning', { user: user.name, warning: message });

  function requestFor(
    verb: string,
    resource: Resource,
    { namespace, name = '' }: { namespace?: string | undefined; name?: string },
    subresource = '',
  ): ResourceRequest {
    const kind = registry.findFor(resource);
    if (kind === undefined) throw noSuchPath();
    if (subresource !== '' && !kind.subresources.includes(subresource as Subresource)) throw noSuchPath();
    if (subresource === '' && !kind.verbs.includes(verb)) throw methodNotAllowed(verb, kind);
    if (kind.namespaced && !namespace && (name !== '' || verb === 'create')) {
      throw badRequest(`a namespace is needed to ${verb} ${kind.plural}`);
    }
    return {
      user,
      kind,
      namespace: kind.namespaced ? namespace || undefined : undefined,
      name,
      subresource: subresource as Subresource,
    };
  }

  function writeFor(
    verb: string,
    resource: Resource,
    name: { namespace?: string | undefined; name?: string },
    options: WriteOptions & { dryRun?: boolean } = {},
  ): WriteRequest {
    const {
      kind,
      namespace,
      name: ownName,
      subresource,
    } = requestFor(verb, resource, name, options.subresource);
    return {
      user,
      kind,
      namespace,
      name: ownName,
      subresource,
      dryRun: options.dryRun ?? false,
      fieldManager: options.fieldManager ?? 'berth',
      fieldValidation: options.fieldValidation ?? 'Warn',
      warn,
    };
  }

  return {
    async get<T extends KubeObject>(resource: Resource<T>, name: ObjectName, options?: CallOptions) {
      options?.signal?.throwIfAborted();
      return get(machine, requestFor('get', resource, name)).object as T;
    },

    async list<T extends KubeObject>(resource: Resource<T>, options: ListOptions = {}): Promise<KubeList<T>> {
      options.signal?.throwIfAborted();
      const { items, metadata } = list(
        machine,
        requestFor('list', resource, { namespace: options.namespace }),
        options,
      );
      return { items: items.map(({ object }) => object as T), metadata };
    },

    watch<T extends KubeObject>(resource: Resource<T>, options: WatchOptions = {}) {
      const request = () => requestFor('watch', resource, { namespace: options.namespace });
      return new LocalWatch<T>(machine, request, options);
    },

    async create<T extends KubeObject>(resource: Resource<T>, object: Draft<T>, options?: WriteOptions) {
      options?.signal?.throwIfAborted();
      const { namespace } = object.metadata;
      const request = writeFor('create', resource, { namespace }, options);
      const answer = request.kind.virtual
        ? await createVirtual(machine, request, copyOf(object))
        : await create(machine, request, copyOf(object));
      return bodyOf<T>(answer);
    },

    async update<T extends KubeObject>(resource: Resource<T>, object: Draft<T>, options?: WriteOptions) {
      options?.signal?.throwIfAborted();
      const { namespace, name = '' } = object.metadata;
      const request = writeFor('update', resource, { namespace, name }, options);
      if (name === '') throw notFound(request.kind, '');
      if (request.subresource === 'scale') {
        return bodyOf<T>(await updateScale(machine, request, copyOf(object)));
      }
      const stored = storedFor(machine, request);
      return bodyOf<T>(await update(machine, request, copyUnlessStored(object, stored), stored));
    },

    async patch<T extends KubeObject>(
      resource: Resource<T>,
      name: ObjectName,
      body: unknown,
      options: PatchOptions,
    ) {
      options.signal?.throwIfAborted();
      const request = writeFor('patch', resource, name, options);
      const { type, force = false } = options;
      if (request.subresource === 'scale') {
        if (type === 'apply') throw badRequest('a scale takes JSON, merge and strategic merge patches');
        return bodyOf<T>(await patchScale(machine, request, body, type));
      }
      // Merge and JSON patches share nothing with what they make.
      const own = type === 'merge' || type === 'json' ? body : copyOf(body);
      return bodyOf<T>(await patch(machine, request, own, { type, force }));
    },

    async delete<T extends KubeObject>(resource: Resource<T>, name: ObjectName, options: DeleteOptions = {}) {
      options.signal?.throwIfAborted();
      await deleteOne(machine, writeFor('delete', resource, name, deletionOptions(options)), options);
    },

    async deleteCollection<T extends KubeObject>(
      resource: Resource<T>,
      selection: Selection,
      options: DeleteOptions = {},
    ) {
      options.signal?.throwIfAborted();
      const { namespace, ...selected } = selection;
      const request = writeFor('deletecollection', resource, { namespace }, deletionOptions(options));
      await deleteCollection(machine, request, selected, options);
    },

    async createSubresource<R>(
      resource: Resource,
      name: ObjectName,
      subresource: string,
      body: object,
      options?: WriteOptions,
    ) {
      options?.signal?.throwIfAborted();
      const request = writeFor('create', resource, name, { ...options, subresource });
      return bodyOf<R>(await createSubresource(machine, request, copyOf(body)));
    },

    async servedResources(options) {
      options?.signal?.throwIfAborted();
      return { resources: servedResources(registry), unknown: [] };
    },
  };
}

function deletionOptions({ dryRun }: DeleteOptions): WriteOptions {
  return dryRun === undefined ? {} : { dryRun };
}

/** What the write will be judged against, whose parts the component may have put into its object. */
function storedFor({ store }: Machine, { kind, namespace, name }: ResourceRequest): KubeObject | undefined {
  const version = store.head(storageTypeOf(kind), keyFor(namespace, name));
  return version && present(version, kind).object;
}

function bodyOf<T>(answer: WriteAnswer): T {
  return (answer.kind === 'object' ? answer.version.object : answer.body) as T;
}
