// Who is writing what at this moment. Components of the cluster get their client through here, so that a change that
// the server commits can be told by whose request it was.

import type { ObjectName, Resource } from '../../api/object.ts';
import type { Discovery, KubeClient } from '../../runtime/kube.ts';

type Client = KubeClient & Discovery;

const keyFor = ({ group, plural }: Resource, { namespace = '', name }: Partial<ObjectName>): string =>
  `${group}/${plural} ${namespace}/${name}`;

export class WritesUnderWay {
  readonly #writers = new Map<string, string[]>();

  /** The component whose write of this object is under way. */
  writerOf(resource: Resource, name: ObjectName): string | undefined {
    return this.#writers.get(keyFor(resource, name))?.[0];
  }

  /** A client whose writes are known as `component`'s. */
  clientOf(component: string, client: Client): Client {
    /** Each write of every component comes through here: no promise is added to what the caller waits for. */
    const during = <T>(
      resource: Resource,
      name: Partial<ObjectName>,
      write: () => Promise<T>,
    ): Promise<T> => {
      const key = keyFor(resource, name);
      const writers = this.#writers.get(key);
      if (writers === undefined) this.#writers.set(key, [component]);
      else writers.push(component);
      const end = (): void => this.#end(key, component);
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

  #end(key: string, component: string): void {
    const writers = this.#writers.get(key);
    writers?.splice(writers.indexOf(component), 1);
    if (writers?.length === 0) this.#writers.delete(key);
  }
}
