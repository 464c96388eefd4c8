// The entry point for components in the same process: the Kubernetes port directly on the verbs, under the component's
// own identity, with the same authorization and admission as HTTPS. Returned objects are the store's own: shared and
// immutable.

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
import { LocalWatch } from './local-watch.ts';
import type { User } from './pipeline.ts';
import { type Answer, openRequest, read, type Write, write } from './verbs/dispatch.ts';
import { present, storageTypeOf } from './verbs/presentation.ts';
import { list } from './verbs/read/list.ts';
import { copyOf, copyUnlessStored, keyFor, type Machine, type ResourceRequest } from './verbs/request.ts';
import { badRequest, notFound } from './verbs/status.ts';

/** The target of a call. Without a name: the collection. */
interface Place {
  namespace?: string | undefined;
  name?: string;
  subresource?: string | undefined;
  fieldSelector?: string | undefined;
}

export function createLocalClient(machine: Machine, user: User): KubeClient & Discovery {
  const { registry } = machine;
  const warn = (message: string): void =>
    machine.log.v(4).info('API warning', { user: user.name, warning: message });

  function open(verb: string, resource: Resource, place: Place): ResourceRequest {
    const { name = '', subresource = '', fieldSelector } = place;
    const kind = registry.findFor(resource);
    const { group, version, plural } = resource;
    const namespace = kind?.namespaced ? place.namespace || undefined : undefined;
    if (kind?.namespaced && namespace === undefined && (name !== '' || verb === 'create')) {
      throw badRequest(`a namespace is needed to ${verb} ${kind.plural}`);
    }
    const target = { user, verb, group, version, plural, namespace, name, subresource, fieldSelector };
    return openRequest(machine, target, kind);
  }

  function perform(request: ResourceRequest, asked: Write, options: WriteOptions = {}): Promise<Answer> {
    const { kind, namespace, name, subresource } = request;
    return write(
      machine,
      {
        user,
        kind,
        namespace,
        name,
        subresource,
        dryRun: options.dryRun ?? false,
        fieldManager: options.fieldManager ?? 'berth',
        fieldValidation: options.fieldValidation ?? 'Warn',
        warn,
      },
      asked,
    );
  }

  return {
    async get<T extends KubeObject>(resource: Resource<T>, name: ObjectName, options?: CallOptions) {
      options?.signal?.throwIfAborted();
      return bodyOf<T>(read(machine, open('get', resource, name)));
    },

    async list<T extends KubeObject>(resource: Resource<T>, options: ListOptions = {}): Promise<KubeList<T>> {
      options.signal?.throwIfAborted();
      const { namespace, fieldSelector } = options;
      const request = open('list', resource, { namespace, fieldSelector });
      const { items, metadata } = list(machine, request, options);
      return { items: items.map(({ object }) => object as T), metadata };
    },

    watch<T extends KubeObject>(resource: Resource<T>, options: WatchOptions = {}) {
      const { namespace, fieldSelector } = options;
      const request = () => open('watch', resource, { namespace, fieldSelector });
      return new LocalWatch<T>(machine, request, options);
    },

    async create<T extends KubeObject>(resource: Resource<T>, object: Draft<T>, options?: WriteOptions) {
      options?.signal?.throwIfAborted();
      const { namespace } = object.metadata;
      const request = open('create', resource, { namespace, subresource: options?.subresource });
      return bodyOf<T>(await perform(request, { verb: 'create', body: copyOf(object) }, options));
    },

    async update<T extends KubeObject>(resource: Resource<T>, object: Draft<T>, options?: WriteOptions) {
      options?.signal?.throwIfAborted();
      const { namespace, name = '' } = object.metadata;
      if (name === '') throw notFound(resource, '');
      const request = open('update', resource, { namespace, name, subresource: options?.subresource });
      const stored = storedFor(machine, request);
      const body = copyUnlessStored(object, stored);
      return bodyOf<T>(await perform(request, { verb: 'update', body, stored }, options));
    },

    async patch<T extends KubeObject>(
      resource: Resource<T>,
      { namespace, name }: ObjectName,
      patch: unknown,
      options: PatchOptions,
    ) {
      options.signal?.throwIfAborted();
      const { type, force = false, subresource } = options;
      const request = open('patch', resource, { namespace, name, subresource });
      // The results of merge and JSON patches share nothing with their arguments.
      const body = type === 'merge' || type === 'json' ? patch : copyOf(patch);
      return bodyOf<T>(await perform(request, { verb: 'patch', body, type, force }, options));
    },

    async delete<T extends KubeObject>(resource: Resource<T>, name: ObjectName, options: DeleteOptions = {}) {
      options.signal?.throwIfAborted();
      const asked = { verb: 'delete', parameters: options } as const;
      await perform(open('delete', resource, name), asked, deletionOptions(options));
    },

    async deleteCollection<T extends KubeObject>(
      resource: Resource<T>,
      selection: Selection,
      options: DeleteOptions = {},
    ) {
      options.signal?.throwIfAborted();
      const { namespace, ...selected } = selection;
      const { fieldSelector } = selected;
      const request = open('deletecollection', resource, { namespace, fieldSelector });
      const asked = { verb: 'deletecollection', parameters: options, selected } as const;
      await perform(request, asked, deletionOptions(options));
    },

    async createSubresource<R>(
      resource: Resource,
      { namespace, name }: ObjectName,
      subresource: string,
      body: object,
      options?: WriteOptions,
    ) {
      options?.signal?.throwIfAborted();
      const request = open('create', resource, { namespace, name, subresource });
      return bodyOf<R>(await perform(request, { verb: 'create', body: copyOf(body) }, options));
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

/** The state that the write is checked against; the component's object may share parts with it. */
function storedFor({ store }: Machine, { kind, namespace, name }: ResourceRequest): KubeObject | undefined {
  const version = store.head(storageTypeOf(kind), keyFor(namespace, name));
  return version && present(version, kind).object;
}

function bodyOf<T>(answer: Answer): T {
  if (answer.kind === 'list') return answer.list as T;
  return (answer.kind === 'object' ? answer.version.object : answer.body) as T;
}
