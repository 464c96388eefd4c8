// What a pod's user is told when its volume is still on another node. Users see names of pods in their own namespace
// only; of others they learn how many there are.

export function multiAttachMessage(init: {
  shownAs: string;
  namespace: string;
  /** Keys of the pods that use the volume on other nodes. */
  otherPods: readonly string[];
}): string {
  const { shownAs, namespace, otherPods } = init;
  const start = `Multi-Attach error for volume "${shownAs}"`;
  if (otherPods.length === 0) {
    return `${start} Volume is already exclusively attached to one node and can't be attached to another`;
  }
  const own = otherPods.filter((key) => key.startsWith(`${namespace}/`));
  const others = otherPods.length - own.length;
  const elsewhere = `${others} pod(s) in different namespaces`;
  if (own.length === 0) return `${start} Volume is already used by ${elsewhere}`;
  const names = own.map((key) => key.slice(namespace.length + 1)).join(', ');
  return `${start} Volume is already used by pod(s) ${names}${others > 0 ? ` and ${elsewhere}` : ''}`;
}
