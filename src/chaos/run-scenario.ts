// Runs one scenario against a running cluster, step by step, and collects what a report needs. The first step that cannot be
// done, or expectation that does not hold, ends it. Stopping the cluster is the caller's.

import { audit } from '../audit/audit.ts';
import type { Abilities } from '../check/driver-under-test.ts';
import type { Subject } from '../check/report/reporter.ts';
import type { Cluster } from '../cluster/start-cluster.ts';
import type { CsiTransport } from '../csi/client/transport.ts';
import type { ShownFault } from '../faults/active-faults.ts';
import type { Clock } from '../runtime/ports.ts';
import { textOf } from '../trace/timeline.ts';
import type { CsiEntry } from '../trace/trace-entry.ts';
import { readFacts } from '../why/facts.ts';
import { findTroubles } from '../why/find-troubles.ts';
import type { Condition } from './condition.ts';
import { describeStep, performStep, StepError } from './perform-step.ts';
import type { Scenario, ScenarioStep } from './scenario.ts';
import type { CalledMethod, ScenarioResult, StepResult } from './scenario-result.ts';
import { AUDIT_OPTIONS, missingOf, type WatchedWorld } from './world-state.ts';

export interface RunScenarioOptions {
  readonly scenario: Scenario;
  /** The scenario's argument on the command line. */
  readonly source: string;
  readonly cluster: Cluster;
  readonly subject: Subject;
  readonly can: Abilities;
  /** To the controller service, past all faults. */
  readonly controller: CsiTransport;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Told before each step. */
  onStep?(what: string): void;
}

/** Between two looks at a condition. */
const LOOK_MS = 50;
const MOST_LINES = 200;

export async function runScenario(options: RunScenarioOptions): Promise<ScenarioResult> {
  const { scenario, cluster, can, subject, clock, signal } = options;
  const startMs = clock.monotonicMs();
  const { name, about, pain, told } = scenario;
  const driver = { name: subject.driver, version: subject.version };
  const common = { name, about, ...(pain !== undefined && { pain }), told, source: options.source, driver };
  const why = reasonToSkip(scenario, can);
  if (why !== undefined) {
    const nothing = { steps: [], faults: [], calls: [], troubles: [], timeline: [] };
    return { ...common, state: 'skipped', why, ms: 0, ...nothing };
  }
  const { server, faults, book } = cluster;
  const { reader } = server;
  const kube = server.client(server.adminUser);
  const ports = { kube, csi: options.controller, clock };
  const before = await audit(ports, AUDIT_OPTIONS, signal);
  const world: WatchedWorld = { ...ports, reader, faults: faults.active, before, signal };
  const sinceMs = book.nowMs();
  const steps: StepResult[] = [];
  /** Also those that were lifted. */
  const set = new Map<string, ShownFault>();
  const note = (): void => {
    for (const fault of faults.active.list()) set.set(fault.id, fault);
  };
  for (const step of scenario.steps) {
    const what = describeStep(step);
    options.onStep?.(what);
    const atMs = clock.monotonicMs() - startMs;
    note();
    const missing = await outcomeOf(step, world, options);
    const ms = clock.monotonicMs() - startMs - atMs;
    steps.push({ what, isExpectation: step.do === 'expect', atMs, ms, missing });
    if (missing.length > 0) break;
  }
  note();
  const hasFailed = steps.some(({ missing }) => missing.length > 0);
  const calls = book
    .entries()
    .filter((entry): entry is CsiEntry => entry.kind === 'csi' && entry.atMs >= sinceMs);
  const facts = hasFailed
    ? await readFacts(kube, { nowMs: clock.now(), namespace: undefined, signal })
    : undefined;
  return {
    ...common,
    state: hasFailed ? 'failed' : 'passed',
    ms: clock.monotonicMs() - startMs,
    steps,
    faults: [...set.values()],
    calls: countsOf(calls),
    troubles: facts ? findTroubles(facts).map(({ subject: of, says }) => `${of}: ${says}`) : [],
    timeline: hasFailed
      ? calls.slice(-MOST_LINES).map((entry) => {
          const at = ((entry.atMs - sinceMs) / 1000).toFixed(3).padStart(9);
          return `${at}  ${entry.by.padEnd(14)} ${textOf(entry, book.nowMs())}`;
        })
      : [],
  };
}

function reasonToSkip({ needs, steps }: Scenario, can: Abilities): string | undefined {
  const has = new Set<string>([...can.controller, ...can.node, ...can.group, ...can.plugin.services]);
  const lacks = needs.filter((each) => !has.has(each));
  if (lacks.length > 0) return `the driver does not have ${lacks.join(', ')}`;
  const asksLeaks = steps.some((step) => step.do === 'expect' && step.condition.name === 'nothing leaked');
  return asksLeaks && !has.has('LIST_VOLUMES')
    ? 'the driver does not have LIST_VOLUMES, so nobody can tell whether something leaked'
    : undefined;
}

async function outcomeOf(
  step: ScenarioStep,
  world: WatchedWorld,
  options: RunScenarioOptions,
): Promise<readonly string[]> {
  if (step.do === 'expect') return awaited(step.condition, world);
  try {
    await performStep(step, options);
    return [];
  } catch (error) {
    if (error instanceof StepError) return [error.message];
    throw error;
  }
}

/** Looks until it holds or its time is over. */
async function awaited(condition: Condition, world: WatchedWorld): Promise<readonly string[]> {
  const { clock, signal } = world;
  const untilMs = clock.monotonicMs() + condition.withinMs;
  for (;;) {
    const missing = await missingOf(condition, world);
    if (missing.length === 0 || clock.monotonicMs() >= untilMs) return missing;
    await clock.sleep(LOOK_MS, signal);
  }
}

function countsOf(calls: readonly CsiEntry[]): CalledMethod[] {
  const byMethod = Map.groupBy(calls, ({ method }) => method);
  return [...byMethod].map(([method, entries]) => {
    const failures: Record<string, number> = {};
    for (const { code } of entries) {
      if (code !== undefined && code !== 'OK') failures[code] = (failures[code] ?? 0) + 1;
    }
    return { method, count: entries.length, failures };
  });
}
