// Adds and removes single finalizers and leaves all others alone. If the cache is stale, the JSON patch's own test fails: the
// object is then read again and the patch retried, a few times, because others change their finalizers at the same moment.
//
// A finalizer that comes and goes (`renewFinalizer`, `releaseFinalizer`) needs more. A removal that its sender gave up may
// take effect seconds later, when somebody relies on the finalizer again. So a removal is for one version only, and
// whoever comes to rely on the finalizer makes a new one: where it is there already, by another order of the list.

import type { KubeObject, Resource } from '../../api/object.ts';
import { sameJson } from '../../api/same-json.ts';
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
  if (sameJson(wanted, finalizers)) return undefined;
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

/**
 * As `addFinalizer`, and no removal that was sent earlier takes effect any more. An object with no other finalizer has only
 * one order: there it is as `addFinalizer`.
 */
export async function renewFinalizer<T extends KubeObject>(request: FinalizerRequest<T>): Promise<T> {
  return change(request, (finalizers) => {
    const others = finalizers.filter((each) => !ours(request).includes(each));
    const isLast = others.every((each, index) => each === finalizers[index]);
    const isThere = others.length < finalizers.length;
    return isThere && isLast ? [...ours(request), ...others] : [...others, ...ours(request)];
  });
}

/**
 * As `removeFinalizer`, but only over the version that was decided on: throws a conflict when the object has changed, because
 * somebody may rely on the finalizer since.
 */
export async function releaseFinalizer<T extends KubeObject>(
  request: FinalizerRequest<T>,
): Promise<T | undefined> {
  const { kube, resource, object, signal } = request;
  const { name, namespace, resourceVersion } = object.metadata;
  const patch = patchFor(object, (finalizers) => finalizers.filter((each) => !ours(request).includes(each)));
  if (patch === undefined) return object;
  const isThisVersion = { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion };
  const target = { name, ...(namespace === undefined ? {} : { namespace }) };
  const options = { type: 'json', known: object, ...(signal && { signal }) } as const;
  try {
    return await ifThere(kube.patch(resource, target, [isThisVersion, ...patch], options));
  } catch (error) {
    if (!isInvalid(error)) throw error;
    const message = `${resource.kind} "${name}" has changed; deciding again whether its finalizer may go`;
    throw new KubeError({ reason: 'Conflict', code: 409, message });
  }
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
