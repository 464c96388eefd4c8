// Writes in flight by component. The cluster's components get their client here, so that a committed change can be attributed to
// the component that requested it.

import type { ObjectName, Resource } from '../api/object.ts';
import type { Discovery, KubeClient } from '../runtime/kube/kube.ts';

type Client = KubeClient & Discovery;

interface Write {
  readonly component: string;
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string | undefined;
}

export class WritesUnderWay {
  /** By the object's name, oldest first: few share one, and a key of more than that would have to be made each time. */
  readonly #byName = new Map<string | undefined, Write[]>();

  /** The component whose write of this object is under way. */
  writerOf(resource: Resource, { name, namespace = '' }: ObjectName): string | undefined {
    return this.#byName
      .get(name)
      ?.find(
        (write) =>
          write.namespace === namespace &&
          write.resource.plural === resource.plural &&
          write.resource.group === resource.group,
      )?.component;
  }

  /** A client whose writes are known as `component`'s. */
  clientOf(component: string, client: Client): Client {
    /** On the path of every write: adds no promise. */
    const during = <T>(
      resource: Resource,
      { name, namespace = '' }: Partial<ObjectName>,
      write: () => Promise<T>,
    ): Promise<T> => {
      const own: Write = { component, resource, namespace, name };
      const writes = this.#byName.get(name);
      if (writes === undefined) this.#byName.set(name, [own]);
      else writes.push(own);
      const end = (): void => this.#end(own);
      try {
        const writing = write();
        writing.then(end, end);
        return writing;
      } catch (error) {
        end();
        throw error;
      }
    };
    return {
      ...client,
      create: (resource, object, options) =>
        during(resource, object.metadata, () => client.create(resource, object, options)),
      update: (resource, object, options) =>
        during(resource, object.metadata, () => client.update(resource, object, options)),
      patch: (resource, name, patch, options) =>
        during(resource, name, () => client.patch(resource, name, patch, options)),
      delete: (resource, name, options) =>
        during(resource, name, () => client.delete(resource, name, options)),
      createSubresource: <R>(...args: Parameters<typeof client.createSubresource<R>>) =>
        during(args[0], args[1], () => client.createSubresource<R>(...args)),
    };
  }

  #end(write: Write): void {
    const writes = this.#byName.get(write.name);
    writes?.splice(writes.indexOf(write), 1);
    if (writes?.length === 0) this.#byName.delete(write.name);
  }
}
