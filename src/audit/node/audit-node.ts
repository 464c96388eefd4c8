// One audit of one node: looks twice, and reports what was there both times. Reads only.

import type { Clock } from '../../runtime/ports.ts';
import { findOrphans, type NodeFacts, type Orphan } from './find-orphans.ts';
import { type NodeReader, readNode } from './read-node.ts';

export interface NodeAudit {
  readonly node: string;
  readonly root: string;
  readonly orphans: readonly Orphan[];
  readonly facts: NodeFacts;
}

export async function auditNode(
  reader: NodeReader,
  { clock, confirmAfterMs }: { clock: Clock; confirmAfterMs: number },
): Promise<NodeAudit> {
  const { node, root, signal } = reader;
  const first = await readNode(reader);
  const suspects = new Set(findOrphans(first).map(({ id }) => id));
  if (suspects.size === 0) return { node, root, orphans: [], facts: first };
  await clock.sleep(confirmAfterMs, signal);
  const facts = await readNode(reader);
  return { node, root, orphans: findOrphans(facts).filter(({ id }) => suspects.has(id)), facts };
}
