// Carries out a plan, or nothing of it. First a whole audit: every step must still stand exactly as it was reviewed, and nothing
// may be in flight. Then step by step, each on a look that is a moment old; the first that does not stand any more, or fails,
// ends it.

import { type Audit, type AuditOptions, type AuditPorts, audit, readFacts } from '../audit.ts';
import { judge, obstacles } from '../decide/find.ts';
import { LONGEST_PLAN_AGE_MS, outdated, type Plan, PlanError, type PlanStep } from '../plan-file.ts';
import { performAction } from './perform-action.ts';

/** A look counts for so long. Looking takes longer than most steps do. */
const LOOK_VALID_MS = 2_000;

export interface ApplyOptions extends AuditOptions {
  readonly isDryRun?: boolean;
}

/** What keeps the plan, or the rest of it, from being carried out. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
  readonly reasons: readonly string[];

  constructor(what: string, reasons: readonly string[], done = 0) {
    const outcome = done === 0 ? 'nothing was done' : `${done} steps were done before`;
    super(`${what}; ${outcome}: ${reasons.join('; ')}`);
    this.reasons = reasons;
  }
}

/** Resolves with the number of steps that were done. `done` hears of each. */
export async function applyPlan(
  ports: AuditPorts,
  plan: Plan,
  options: ApplyOptions,
  signal: AbortSignal,
  done: (step: PlanStep) => void = () => {},
): Promise<number> {
  const now = await audit(ports, options, signal);
  checkAgainst(now, plan, options);
  if (options.isDryRun) return 0;
  let lookedMs = ports.clock.monotonicMs();
  let count = 0;
  const acted = new Set<string>();
  for (const step of plan.steps) {
    signal.throwIfAborted();
    if (count > 0 && ports.clock.monotonicMs() - lookedMs > LOOK_VALID_MS) {
      lookedMs = ports.clock.monotonicMs();
      await checkStep(ports, step, { acted, count }, options, signal);
    }
    await perform(ports, step, count, options, signal);
    count += 1;
    acted.add(step.subject);
    done(step);
  }
  return count;
}

async function perform(
  ports: AuditPorts,
  { action, does }: PlanStep,
  done: number,
  { timeoutMs }: ApplyOptions,
  signal: AbortSignal,
): Promise<void> {
  try {
    await performAction(ports, action, { timeoutMs, signal });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`${does}: ${why}; ${done} steps were done before, and the rest was not tried`, {
      cause: error,
    });
  }
}

function checkAgainst(now: Audit, plan: Plan, { minAgeMs }: ApplyOptions): void {
  if (plan.driver !== now.driver)
    throw new PlanError(`it is for driver ${plan.driver}, and this is ${now.driver}`);
  if (plan.cluster !== now.cluster)
    throw new PlanError(
      `it is for another cluster (${plan.cluster || 'unknown'}, this one is ${now.cluster || 'unknown'})`,
    );
  const seenMs = Date.parse(plan.seenAt);
  if (now.nowMs - seenMs > LONGEST_PLAN_AGE_MS)
    throw new PlanError(`it is out of date: it was made ${plan.seenAt}; make a new one`);
  if (now.problems.length > 0) throw new RefusedError('the audit is not complete', now.problems);
  const old = outdated(plan, now);
  if (old.length > 0) throw new RefusedError('the plan is out of date; make a new one', old);
  const inTheWay = obstacles(now);
  if (inTheWay.length > 0) {
    const texts = inTheWay.map(({ subject, what }) => `${subject}: ${what}`);
    throw new RefusedError('something is under way; wait until it has ended', texts);
  }
  const known = new Map(now.findings.map((finding) => [finding.id, finding]));
  const young = plan.steps.filter(({ finding }) => {
    const sinceMs = known.get(finding)?.sinceMs ?? seenMs;
    return Math.max(0, now.nowMs - sinceMs) < minAgeMs;
  });
  if (young.length > 0) {
    const texts = young.map(
      ({ finding }) => `${finding}: nobody knows since when; first seen ${plan.seenAt}`,
    );
    const what = `not seen for the minimum age of ${minAgeMs / 1000} s yet`;
    const then = 'make a plan with --plan-out and apply it later, or say --min-age=0s';
    throw new RefusedError(`${what}; ${then}`, texts);
  }
}

/** What this plan itself has set going does not count as under way. */
async function checkStep(
  ports: AuditPorts,
  step: PlanStep,
  { acted, count }: { acted: ReadonlySet<string>; count: number },
  options: ApplyOptions,
  signal: AbortSignal,
): Promise<void> {
  const facts = await readFacts(ports, options, signal);
  const look = judge(facts, options);
  const problems = [...facts.storage.problems, ...facts.cluster.unread];
  const old = outdated({ steps: [step] } as unknown as Plan, look);
  const inTheWay = obstacles(look)
    .filter(({ subject }) => !acted.has(subject))
    .map(({ subject, what }) => `${subject}: ${what}`);
  const reasons = [...problems, ...old, ...inTheWay];
  if (reasons.length > 0)
    throw new RefusedError(`${step.finding} does not stand any more: stopped before it`, reasons, count);
}
