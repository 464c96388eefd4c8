// The conditions of a namespace that is being deleted, with Kubernetes' reasons and messages. Pure.

import type { Namespace } from '../../api/kinds.ts';

/** What remains in a namespace after everything that could be deleted was deleted. */
export interface NamespaceContent {
  /** Kinds with the number of objects left; empty when the namespace is empty. */
  left: readonly { resource: string; count: number }[];
  /** Finalizers of the remaining objects, with the number of objects that have them. */
  finalizers: readonly { finalizer: string; count: number }[];
  /** API groups whose discovery failed: their contents are unknown. */
  unknown: readonly string[];
  /** Why some objects could not be deleted. */
  failures: readonly string[];
}

type Condition = NonNullable<NonNullable<Namespace['status']>['conditions']>[number];

export function isEmpty({ left, unknown, failures }: NamespaceContent): boolean {
  return left.length === 0 && unknown.length === 0 && failures.length === 0;
}

/** The new conditions; undefined when they are unchanged, so that nothing is written. */
export function namespaceConditions(
  namespace: Namespace,
  content: NamespaceContent,
  now: string,
): Condition[] | undefined {
  const before = namespace.status?.conditions ?? [];
  const after = wanted(content).map((condition): Condition => {
    const same = before.find(({ type }) => type === condition.type);
    const lastTransitionTime = same?.status === condition.status ? (same.lastTransitionTime ?? now) : now;
    return { ...condition, lastTransitionTime };
  });
  const others = before.filter(({ type }) => !after.some((each) => each.type === type));
  const next = [...others, ...after];
  return texts(next) === texts(before) ? undefined : next;
}

function wanted({
  left,
  finalizers,
  unknown,
  failures,
}: NamespaceContent): Omit<Condition, 'lastTransitionTime'>[] {
  const remaining = left.map(({ resource, count }) => `${resource} has ${count} resource instances`);
  const held = finalizers.map(({ finalizer, count }) => `${finalizer} in ${count} resource instances`);
  return [
    condition('NamespaceDeletionDiscoveryFailure', unknown.length > 0, {
      reason: ['DiscoveryFailed', 'ResourcesDiscovered'],
      message: [
        `Discovery failed for some groups, ${unknown.length} failing: ${unknown.join(', ')}`,
        'All resources successfully discovered',
      ],
    }),
    condition('NamespaceDeletionContentFailure', failures.length > 0, {
      reason: ['ContentDeletionFailed', 'ContentDeleted'],
      message: [
        `Failed to delete all resource types, ${failures.length} remaining: ${failures.join(', ')}`,
        'All content successfully deleted, may be waiting on finalization',
      ],
    }),
    condition('NamespaceContentRemaining', left.length > 0, {
      reason: ['SomeResourcesRemain', 'ContentRemoved'],
      message: [`Some resources are remaining: ${remaining.join(', ')}`, 'All content successfully removed'],
    }),
    condition('NamespaceFinalizersRemaining', finalizers.length > 0, {
      reason: ['SomeFinalizersRemain', 'ContentHasNoFinalizers'],
      message: [
        `Some content in the namespace has finalizers remaining: ${held.join(', ')}`,
        'All content-preserving finalizers finished',
      ],
    }),
  ];
}

function condition(
  type: string,
  holds: boolean,
  words: { reason: [string, string]; message: [string, string] },
): Omit<Condition, 'lastTransitionTime'> {
  const index = holds ? 0 : 1;
  return {
    type,
    status: holds ? 'True' : 'False',
    reason: words.reason[index],
    message: words.message[index],
  };
}

function texts(conditions: readonly Condition[]): string {
  return JSON.stringify(
    conditions.map(({ type, status, reason, message }) => [type, status, reason, message]),
  );
}
