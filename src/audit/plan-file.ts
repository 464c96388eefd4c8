// A plan: the steps that an audit would take, for somebody to review, in a file. It names the cluster, the driver and the
// state of everything it rests on; it is refused where any of these has changed. Pure.

import type { Audit } from './audit.ts';
import { type Action, describeAction, type Finding } from './finding.ts';

export const PLAN_VERSION = 'berth-audit-plan/v1';
/** Older plans are refused: too much has happened since somebody reviewed them. */
export const LONGEST_PLAN_AGE_MS = 7 * 24 * 3_600_000;

export interface PlanStep {
  readonly finding: string;
  readonly does: string;
  readonly subject: string;
  readonly because: string;
  readonly evidence: readonly string[];
  readonly fingerprint: string;
  readonly action: Action;
}

export interface Plan {
  readonly version: typeof PLAN_VERSION;
  readonly driver: string;
  readonly cluster: string;
  /** When each finding had been seen for the first time. */
  readonly seenAt: string;
  readonly steps: readonly PlanStep[];
}

/** The plan cannot be used; the message says why. */
export class PlanError extends Error {
  override readonly name = 'PlanError';
}

export function planOf({ driver, cluster, firstMs, findings }: Audit): Plan {
  return {
    version: PLAN_VERSION,
    driver,
    cluster,
    seenAt: new Date(firstMs).toISOString(),
    steps: findings.flatMap((finding) => (finding.action ? [stepOf(finding, finding.action)] : [])),
  };
}

function stepOf({ id, says, subject, evidence, fingerprint }: Finding, action: Action): PlanStep {
  return {
    finding: id,
    does: describeAction(action),
    subject,
    because: says,
    evidence,
    fingerprint,
    action,
  };
}

export const planText = (plan: Plan): string => `${JSON.stringify(plan, undefined, 2)}\n`;

/** Throws a PlanError. People edit plans: steps may be removed, nothing else may be changed. */
export function parsePlan(text: string): Plan {
  let plan: Partial<Plan> | null;
  try {
    plan = JSON.parse(text) as Partial<Plan> | null;
  } catch (error) {
    throw new PlanError(`it is not JSON: ${(error as Error).message}`);
  }
  const { version, driver, cluster, seenAt, steps } = plan ?? {};
  if (version !== PLAN_VERSION)
    throw new PlanError(`its version is ${JSON.stringify(version)}, and this program reads ${PLAN_VERSION}`);
  const isText = (value: unknown): value is string => typeof value === 'string';
  if (!isText(driver) || !isText(cluster) || !isText(seenAt) || Number.isNaN(Date.parse(seenAt)))
    throw new PlanError('it lacks driver, cluster or seenAt');
  if (!Array.isArray(steps) || !steps.every(isStep))
    throw new PlanError('its steps are not a list of finding, subject, fingerprint and action');
  return { version, driver, cluster, seenAt, steps };
}

function isStep(step: Partial<PlanStep> | null): boolean {
  return (
    typeof step?.finding === 'string' &&
    typeof step.subject === 'string' &&
    typeof step.fingerprint === 'string' &&
    typeof step.action === 'object' &&
    step.action !== null &&
    typeof step.action.do === 'string'
  );
}

/** Steps of the plan that the audit does not confirm, as text; empty if the plan is up to date. */
export function outdated(plan: Plan, { findings }: Pick<Audit, 'findings'>): string[] {
  const now = new Map(findings.map((finding) => [finding.id, finding]));
  return plan.steps.flatMap((step) => {
    const finding = now.get(step.finding);
    if (finding === undefined) return [`${step.finding}: not found any more`];
    const { action, fingerprint } = finding;
    if (fingerprint !== step.fingerprint) return [`${step.finding}: it has changed`];
    if (action === undefined) return [`${step.finding}: nothing may be done about it now: ${finding.advice}`];
    if (JSON.stringify(action) !== JSON.stringify(step.action))
      return [`${step.finding}: now it would ${describeAction(action)}`];
    return [];
  });
}
