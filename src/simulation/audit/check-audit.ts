// The auditor in a simulated cluster at rest. Without planted leaks it may find nothing that it would act on. With them it must
// find all of them and nothing else; its plan is then carried out, and the rules judge what it did as they judge everybody.

import { type Audit, type AuditPorts, audit } from '../../audit/audit.ts';
import { DEFAULT_JUDGE_OPTIONS } from '../../audit/decide/options.ts';
import type { Finding } from '../../audit/finding.ts';
import { auditNode } from '../../audit/node/audit-node.ts';
import type { NodeReader } from '../../audit/node/read-node.ts';
import { applyPlan, RefusedError } from '../../audit/perform/apply-plan.ts';
import { parsePlan, planOf, planText } from '../../audit/plan-file.ts';
import type { SeededRandom } from '../../runtime/random.ts';
import { retainedHandles } from '../expectations.ts';
import { KUBELET_ROOT, type SimNode } from '../sim-node.ts';
import { retainedSnapshots } from '../snapshot-expectations.ts';
import { existingHandle, type StorageBackend } from '../storage-backend.ts';
import type { World } from '../world.ts';
import { type Plant, storagesOf } from './plant.ts';
import { plantLeaks } from './plant-leaks.ts';
import { recordedLink } from './recorded-link.ts';

/** Longer than any backoff of a component in a simulated cluster. */
const MIN_AGE_MS = 180_000;
/** A plan that detaches a volume is followed by one that deletes it. */
const MOST_ROUNDS = 3;
const OPTIONS = {
  ...DEFAULT_JUDGE_OPTIONS,
  minAgeMs: MIN_AGE_MS,
  timeoutMs: 60_000,
  confirmAfterMs: 10_000,
};

export interface AuditedWorld {
  readonly world: World;
  readonly random: SeededRandom;
  /** Lets time pass until the work is done. */
  drive<T>(work: Promise<T>): Promise<T>;
  advance(ms: number): Promise<void>;
  /** Of calls. */
  nextId(): number;
  /** What was planted; some of it stays. */
  readonly plants: Plant[];
}

/** What the auditor met in one run. */
export interface AuditTally {
  planted: number;
  /** Steps of plans that were carried out, and plans that were refused because something was under way. */
  applied: number;
  refused: number;
}

/** No finding but those that users made: volumes that were to be kept, and the one that no claim made. */
export async function checkClean(audited: AuditedWorld): Promise<void> {
  const { world, drive } = audited;
  for (const backend of storagesOf(world)) {
    const { findings } = await drive(audit(portsOf(audited, backend), OPTIONS, never));
    for (const finding of unexpected(world, backend, findings, audited.plants))
      world.history.violate('audit-false', `${finding.id}: ${finding.says}; ${finding.evidence.join(', ')}`);
  }
}

/** A pod that never was. */
const ORPHAN = ['pods', 'gone', 'volumes', 'kubernetes.io~csi', 'pv'];

/**
 * Nothing is mounted for pods that do not exist, nor staged for volumes that no pod there uses; a planted directory of a pod that
 * does not exist is found.
 */
export async function checkNodes(audited: AuditedWorld, isPlanted: boolean): Promise<void> {
  const { world, drive } = audited;
  for (const [name, node] of world.nodes) {
    const paths = ORPHAN.map((_, index) => [KUBELET_ROOT, ...ORPHAN.slice(0, index + 1)].join('/'));
    const orphan = paths.at(-1) ?? '';
    if (isPlanted) await drive(node.files.makeDirectory(orphan));
    const found = await drive(auditNode(readerOf(world, name, node), nodeOptions(world)));
    for (const { path, id, says } of found.orphans)
      if (!isPlanted || path !== orphan) world.history.violate('audit-false', `${name}: ${id}: ${says}`);
    if (!isPlanted) continue;
    // The node's agent removes it when it starts.
    const isThere = (await drive(node.files.kindOf(orphan))) !== 'absent';
    if (isThere && !found.orphans.some(({ path }) => path === orphan))
      world.history.violate('audit-missed', `${name}: ${orphan} was not found`);
    for (const path of paths.slice(1).reverse()) await drive(node.files.removeDirectory(path));
  }
}

const nodeOptions = ({ clock }: World) => ({ clock, confirmAfterMs: MIN_AGE_MS });

const readerOf = ({ admin }: World, node: string, { files, mounter }: SimNode): NodeReader => ({
  kube: admin,
  files,
  mountPoints: async () => mounter.mounts.map(({ mountPoint }) => mountPoint),
  node,
  root: KUBELET_ROOT,
  signal: never,
});

export async function checkPlanted(audited: AuditedWorld): Promise<AuditTally> {
  const { world, drive, advance } = audited;
  const tally: AuditTally = { planted: 0, applied: 0, refused: 0 };
  const plants = await drive(plantLeaks(world, audited.random));
  audited.plants.push(...plants);
  tally.planted = plants.length;
  await advance(MIN_AGE_MS);
  for (const backend of storagesOf(world)) {
    let seen = await drive(audit(portsOf(audited, backend), OPTIONS, never));
    checkFound(world, backend, seen, plants);
    for (let round = 0; round < MOST_ROUNDS && seen.findings.some(({ action }) => action); round++) {
      await advance(MIN_AGE_MS);
      const applied = await drive(follow(portsOf(audited, backend), seen));
      if (applied === undefined) {
        tally.refused += 1;
        break;
      }
      tally.applied += applied;
      await advance(MIN_AGE_MS);
      seen = await drive(audit(portsOf(audited, backend), OPTIONS, never));
    }
  }
  await finish(world, plants, tally.refused > 0, drive);
  return tally;
}

/** Undefined when something is under way, so that nothing may be done. */
async function follow(ports: AuditPorts, seen: Audit): Promise<number | undefined> {
  try {
    return await applyPlan(ports, parsePlan(planText(planOf(seen))), OPTIONS, never);
  } catch (error) {
    if (error instanceof RefusedError) return undefined;
    throw error;
  }
}

function checkFound(
  world: World,
  backend: StorageBackend,
  { findings, underWay }: Audit,
  plants: readonly Plant[],
): void {
  const found = new Map(findings.map((finding) => [finding.id, finding]));
  const isProvisioning = underWay.some(({ claimUid }) => claimUid !== undefined);
  for (const { driver, finding, severity, isActionable, isNameless, exists } of plants) {
    if (!exists() || driver !== backend.plan.name || (isNameless && isProvisioning)) continue;
    const { severity: given, action, advice = '' } = found.get(finding) ?? {};
    if (given !== severity || (action !== undefined) !== isActionable)
      world.history.violate(
        'audit-missed',
        `${finding} must be a ${severity}, and is ${given ?? 'not found'} ${advice}`,
      );
  }
  for (const { id, says } of unexpected(world, backend, findings, plants))
    world.history.violate('audit-false', `${id}: ${says}`);
}

function* unexpected(
  world: World,
  backend: StorageBackend,
  findings: readonly Finding[],
  plants: readonly Plant[],
): Generator<Finding> {
  const planted = new Set(plants.map(({ finding }) => finding));
  const kept = new Set([
    ...retainedHandles(world),
    ...retainedSnapshots(world),
    existingHandle(backend.plan.name),
  ]);
  for (const finding of findings) {
    const subject = finding.id.replace(/^[^/]*\/(?:group\/)?/, '');
    const isKept = finding.severity !== 'leak' && finding.action === undefined && kept.has(subject);
    // Nobody knows which volume it is of, so that the attach/detach controller waits, too, until its node uses none.
    const isUnknown = finding.kind === 'attachment-stale' && finding.action === undefined;
    if (planted.has(finding.id) || isKept || isUnknown || finding.kind === 'volume-released') continue;
    yield finding;
  }
}

/** What the auditor must end is over, unless it was refused; the rest is still there, and is ended here. */
async function finish(
  world: World,
  plants: readonly Plant[],
  isRefused: boolean,
  drive: AuditedWorld['drive'],
): Promise<void> {
  for (const plant of plants) {
    const isThere = plant.exists();
    if (isThere && plant.isActionable && !isRefused)
      world.history.violate('audit-missed', `${plant.finding} is still there after the plan was carried out`);
    if (!isThere && !plant.isActionable && plant.severity === 'doubt')
      world.history.violate('audit-false', `${plant.finding} was to be left alone, and is gone`);
    if (isThere) await drive(plant.remove());
  }
}

const never = new AbortController().signal;

/** Ids of calls are negative: components count upwards. */
function portsOf({ world, nextId }: AuditedWorld, backend: StorageBackend): AuditPorts {
  return { kube: world.admin, csi: recordedLink(backend, nextId), clock: world.clock };
}
