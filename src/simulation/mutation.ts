// A deliberate bug, and the tools to make one: wrappers at a port of the real components, or somebody who does to the API
// what a broken component would. The components themselves know nothing of it.

import { type KubeObject, keyOf, nameFromKey, type Resource } from '../api/object.ts';
import type { CsiCallOptions, CsiTransport } from '../csi/client/transport.ts';
import type { Discovery, KubeClient, WatchEvent } from '../runtime/kube/kube.ts';
import type { RunShardedOptions } from '../runtime/sharding/run-sharded.ts';
import type { DescMethodUnary } from '../wire/protobuf/descriptor.ts';
import type { Rule } from './checkers/index.ts';
import type { MemoryFiles } from './memory-files.ts';
import type { SimProcess } from './sim-process.ts';
import type { World } from './world.ts';

type Kube = KubeClient & Discovery;
type Lead = (signal: AbortSignal) => Promise<void>;

export interface Mutation {
  /** What is wrong. */
  readonly what: string;
  /** The rule that must be violated. */
  readonly rule: Rule;
  /** Processes whose name starts so; all unless given. */
  readonly process?: string;
  kube?(inner: Kube, world: World): Kube;
  csi?(inner: CsiTransport, world: World): CsiTransport;
  files?(inner: MemoryFiles): MemoryFiles;
  lead?(lead: Lead, process: SimProcess): Lead;
  /** With replicas that share: how one of them is a member. */
  sharding?(process: SimProcess): Partial<RunShardedOptions>;
  /** The process ignores that it is told to stop. */
  readonly isDeaf?: boolean;
  /** Acts on the API beside the components. */
  start?(world: World): void;
}

/** No deliberate bug. */
export const noMutation: Omit<Mutation, 'what' | 'rule'> = {};

type Call = (request: Record<string, unknown>) => Promise<never>;

/** Calls of one method go through `change`; `next` makes the call. */
export function onCall(
  inner: CsiTransport,
  name: string,
  change: (request: Record<string, unknown>, next: Call) => Promise<unknown>,
): CsiTransport {
  return {
    call: (method: DescMethodUnary, request: object, options: CsiCallOptions) => {
      const next: Call = (changed) => inner.call(method, changed, options) as Promise<never>;
      return (
        name === '' || method.name === name ? change({ ...request }, next) : next(request as never)
      ) as never;
    },
  } as CsiTransport;
}

/** Objects of one kind are read as `view` returns them; undefined hides them. */
export function seenAs<T extends KubeObject>(
  inner: Kube,
  resource: Resource<T>,
  view: (object: T) => T | undefined,
): Kube {
  const isIt = (other: Resource): boolean =>
    other.plural === resource.plural && other.group === resource.group;
  const shown = (object: KubeObject) => view(object as T);
  return {
    ...inner,
    async get(other, name, options) {
      const object = await inner.get(other, name, options);
      return isIt(other) ? ((shown(object) ?? object) as never) : object;
    },
    async list(other, options) {
      const list = await inner.list(other, options);
      if (!isIt(other)) return list;
      return { ...list, items: list.items.map(shown).filter((each) => each !== undefined) as never };
    },
    watch: (other, options) =>
      isIt(other) ? (seen(inner.watch(other, options), shown) as never) : inner.watch(other, options),
  };
}

async function* seen(
  events: AsyncIterable<WatchEvent<KubeObject>>,
  shown: (object: KubeObject) => KubeObject | undefined,
) {
  for await (const event of events) {
    if (event.type === 'BOOKMARK') {
      yield event;
      continue;
    }
    const object = shown(event.object);
    if (object !== undefined) yield { ...event, object };
  }
}

/** Removes a finalizer from each object of the kind as soon as its deletion begins. */
export function strip(world: World, resource: Resource<KubeObject>, finalizer: string): void {
  world.server.reader.subscribe(resource, (before, after) => {
    if (before?.metadata.deletionTimestamp || !after?.metadata.deletionTimestamp) return;
    world.clock.setTimeout(() => {
      const finalizers = (after.metadata.finalizers ?? []).filter((each) => each !== finalizer);
      const patch = { metadata: { finalizers } };
      world.admin.patch(resource, nameFromKey(keyOf(after)), patch, { type: 'merge' }).catch(() => {});
    }, 1);
  });
}
