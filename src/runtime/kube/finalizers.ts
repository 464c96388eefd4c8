// Adds and removes single finalizers and leaves all others alone. If the cache is stale, the JSON patch's own test fails: the
// object is then read again and the patch retried, a few times, because others change their finalizers at the same moment.

import type { KubeObject, Resource } from '../../api/object.ts';
import { ifThere } from './if-there.ts';
import type { KubeClient } from './kube.ts';
import { isConflict, isInvalid, KubeError } from './kube-error.ts';

interface Operation {
  op: 'test' | 'add' | 'replace' | 'remove';
  path: string;
  value?: unknown;
}

const PATH = '/metadata/finalizers';
/** Retries: as many as there are other finalizers on one object, and one to spare. */
const MOST_ATTEMPTS = 5;

export function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false;
}

/** Undefined when there is nothing to do. The tests keep it to this incarnation and to these finalizers. */
function patchFor(
  object: KubeObject,
  next: (finalizers: readonly string[]) => string[],
): Operation[] | undefined {
  const { uid, finalizers = [] } = object.metadata;
  const wanted = next(finalizers);
  if (wanted.length === finalizers.length) return undefined;
  const known = object.metadata.finalizers ?? null;
  const change: Operation =
    wanted.length === 0
      ? { op: 'remove', path: PATH }
      : { op: known === null ? 'add' : 'replace', path: PATH, value: wanted };
  return [
    { op: 'test', path: '/metadata/uid', value: uid },
    { op: 'test', path: PATH, value: known },
    change,
  ];
}

interface FinalizerRequest<T extends KubeObject> {
  kube: KubeClient;
  resource: Resource<T>;
  object: T;
  finalizer: string | readonly string[];
  /** The caller decides by the answer. Otherwise only its metadata is read, and the rest is as `object` has it. */
  needsAnswer?: boolean;
  signal?: AbortSignal;
}

const ours = ({ finalizer }: { finalizer: string | readonly string[] }): readonly string[] =>
  typeof finalizer === 'string' ? [finalizer] : finalizer;

/** The object as it is then. Throws NotFound when it, or this incarnation of it, is gone. */
export async function addFinalizer<T extends KubeObject>(request: FinalizerRequest<T>): Promise<T> {
  return change(request, (finalizers) => [...new Set([...finalizers, ...ours(request)])]);
}

/** The object as it is then; undefined when it is gone, which is as good. */
export async function removeFinalizer<T extends KubeObject>(
  request: FinalizerRequest<T>,
): Promise<T | undefined> {
  return ifThere(change(request, (finalizers) => finalizers.filter((each) => !ours(request).includes(each))));
}

async function change<T extends KubeObject>(
  { kube, resource, object, needsAnswer, signal }: FinalizerRequest<T>,
  next: (finalizers: readonly string[]) => string[],
): Promise<T> {
  const { name, namespace, uid } = object.metadata;
  const target = { name, ...(namespace === undefined ? {} : { namespace }) };
  const call = signal === undefined ? {} : { signal };
  let current = object;
  for (let attempt = 0; ; attempt++) {
    const patch = patchFor(current, next);
    if (patch === undefined) return current;
    try {
      const expected = needsAnswer ? {} : { known: current };
      return await kube.patch(resource, target, patch, { type: 'json', ...expected, ...call });
    } catch (error) {
      if (attempt >= MOST_ATTEMPTS - 1 || !(isInvalid(error) || isConflict(error))) throw error;
    }
    current = await kube.get(resource, target, call);
    if (current.metadata.uid !== uid) {
      // Another object of the same name: the one that was meant is gone.
      throw gone(resource.kind, name);
    }
  }
}

function gone(kind: string, name: string): KubeError {
  return new KubeError({
    reason: 'NotFound',
    code: 404,
    message: `${kind} "${name}" was replaced by another`,
  });
}
